import type { Output } from './io.ts'

/** Standard error: lines one after the other and, on a terminal, one status below them that is redrawn in place. */
export class Screen {
  readonly #output: Output
  #status = ''

  constructor(output: Output) {
    this.#output = output
  }

  /** Whole lines, each with its newline; the status stays below them. */
  write(lines: string): void {
    const { clear, draw } = this.#strokes(this.#status)
    this.#output.write(`${clear}${lines}${draw}`)
  }

  /** Replaces the status; an empty text removes it. It must fit on one line of the terminal. */
  setStatus(text: string): void {
    if (text === this.#status) return
    const { clear } = this.#strokes(this.#status)
    this.#status = text
    this.#output.write(`${clear}${text}`)
  }

  #strokes(status: string): { clear: string; draw: string } {
    return status === '' ? { clear: '', draw: '' } : { clear: '\r\x1b[K', draw: status }
  }
}
