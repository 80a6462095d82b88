import type { Output } from './io.ts'
import { terminalText } from './text.ts'

/** Wraps `output` for untrusted text: control sequences are escaped. */
export function plainOutput(output: Output): Output {
  return {
    write: text => output.write(terminalText(text)),
    get isTTY() {
      return output.isTTY
    },
    get columns() {
      return output.columns
    },
  }
}

/** Standard error: log lines and, on a terminal, one status line below them that is redrawn in place. */
export class Screen {
  readonly #output: Output
  #status = ''
  #isHidden = false

  constructor(output: Output) {
    this.#output = output
  }

  /** Writes complete lines, each with its newline, above the status. */
  write(lines: string): void {
    const { clear, draw } = this.#strokes(this.#status)
    this.#output.write(`${clear}${terminalText(lines)}${draw}`)
  }

  /** Replaces the status; an empty text removes it. It must fit on one line of the terminal. */
  setStatus(text: string): void {
    const status = terminalText(text)
    if (status === this.#status) return
    const { clear } = this.#strokes(this.#status)
    this.#status = status
    if (!this.#isHidden) this.#output.write(`${clear}${status}`)
  }

  /** Hides the status while other code writes to the terminal, then draws it again. */
  async withoutStatus<T>(work: () => T | Promise<T>): Promise<T> {
    this.#hide()
    try {
      return await work()
    } finally {
      this.#show()
    }
  }

  /** Like `withoutStatus`, for synchronous writes. */
  writeElsewhere(write: () => void): void {
    this.#hide()
    write()
    this.#show()
  }

  #hide(): void {
    const { clear } = this.#strokes(this.#status)
    if (clear !== '') this.#output.write(clear)
    this.#isHidden = true
  }

  #show(): void {
    this.#isHidden = false
    const { draw } = this.#strokes(this.#status)
    if (draw !== '') this.#output.write(draw)
  }

  #strokes(status: string): { clear: string; draw: string } {
    return status === '' || this.#isHidden ? { clear: '', draw: '' } : { clear: '\r\x1b[K', draw: status }
  }
}
