import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { type Clock, systemClock } from '../lib/clock.ts'

/** Everything the CLI touches of the process around it, so that a test can stand in for it. */
export interface Io {
  stdout: Output
  stderr: Output
  env: Readonly<Record<string, string | undefined>>
  clock: Clock
  /** Calls back for each signal that asks to stop; the function returned ends that. */
  onSignal(listener: (name: StopSignal) => void): () => void
  /** Replaces what the file holds, in place: it may be a mount of its own. Done when it returns. */
  writeFile(path: string, text: string): void
  /** Ends the process at once. */
  exit(code: number): void
  /** Asks whoever sits there, and waits for a line; absent where nobody does. */
  ask?: ((question: string, signal: AbortSignal) => Promise<string>) | undefined
}

export interface Output {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

export type StopSignal = 'SIGINT' | 'SIGTERM'

export function processIo(): Io {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: systemClock,
    onSignal: listener => {
      const names: StopSignal[] = ['SIGINT', 'SIGTERM']
      for (const name of names) process.on(name, listener)
      return () => {
        for (const name of names) process.off(name, listener)
      }
    },
    writeFile: (path, text) => writeFileSync(path, text),
    exit: code => process.exit(code),
    ...(process.stdin.isTTY && process.stderr.isTTY ? { ask: askOnTerminal } : {}),
  }
}

/** Without raw mode, so that Ctrl-C stays a signal. */
async function askOnTerminal(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    return await lines.question(question, { signal })
  } finally {
    lines.close()
  }
}

/**
 * A reader that leaves early, as `head` does, is no failure and must not end a backup that is under way: what else is
 * written is dropped. An output that cannot be written, such as a file on a full disk, makes the process fail.
 */
export function guardOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return
      if (stream === process.stdout) process.stderr.write(`error: the output cannot be written: ${error.message}\n`)
      process.exitCode = 1
      process.once('exit', code => {
        if (code === 0) process.exitCode = 1
      })
    })
  }
}
