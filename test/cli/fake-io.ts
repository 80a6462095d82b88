import type { Io, Output, StopSignal } from '../../src/cli/io.ts'
import { ManualClock } from './manual-clock.ts'

/** A process that is none: keeps what is written, and takes signals from the test. */
export class FakeIo implements Io {
  readonly clock = new ManualClock()
  readonly stdout: Output & { text: string }
  readonly stderr: Output & { text: string }
  readonly env: Record<string, string | undefined>
  readonly exits: number[] = []
  readonly files = new Map<string, string>()
  readonly listeners = new Set<(name: StopSignal) => void>()

  constructor(options: { columns?: number; env?: Record<string, string> } = {}) {
    this.env = { LANG: 'C.UTF-8', ...options.env }
    this.stdout = collect(options.columns)
    this.stderr = collect(options.columns)
  }

  onSignal(listener: (name: StopSignal) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  signal(name: StopSignal): void {
    for (const listener of this.listeners) listener(name)
  }

  writeFile(path: string, text: string): void {
    this.files.set(path, text)
  }

  exit(code: number): void {
    this.exits.push(code)
  }
}

function collect(columns: number | undefined): Output & { text: string } {
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  return {
    ...terminal,
    text: '',
    write(text: string) {
      this.text += text
    },
  }
}
