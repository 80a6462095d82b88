import { writeFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { type Clock, ifStillRunning, systemClock } from '../lib/clock.ts'

/** Everything that the CLI uses of its process, so that tests can replace it. */
export interface Io {
  stdout: Output
  stderr: Output
  env: Readonly<Record<string, string | undefined>>
  clock: Clock
  /** Writes records to standard output as they are; false if its reader has closed it. */
  writeBytes(bytes: Uint8Array): Promise<boolean>
  /** Calls back for each SIGINT and SIGTERM; the returned function unsubscribes. */
  onSignal(listener: (name: StopSignal) => void): () => void
  /** Synchronously replaces the contents of the file in place, because the file may be a mount. */
  writeFile(path: string, text: string): void
  /** Empties the terminal of standard output; absent without one. */
  clearScreen?: (() => void) | undefined
  /** Exits the process immediately. */
  exit(code: number): void
  /** Asks the user and waits for a line; absent without a terminal. */
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
    writeBytes: bytes => new Promise(resolve => process.stdout.write(bytes, error => resolve(!error))),
    onSignal: listener => {
      const names: StopSignal[] = ['SIGINT', 'SIGTERM']
      for (const name of names) process.on(name, listener)
      return () => {
        for (const name of names) process.off(name, listener)
      }
    },
    writeFile: (path, text) => writeFileSync(path, text),
    exit: code => process.exit(code),
    ...(process.stdout.isTTY ? { clearScreen: () => void process.stdout.write('\x1b[H\x1b[2J') } : {}),
    // In this order, because standard input takes a while to open and few runs have a terminal.
    ...(process.stderr.isTTY && process.stdin.isTTY ? { ask: askOnTerminal } : {}),
  }
}

/** Does not use raw mode, to keep Ctrl-C a signal. */
async function askOnTerminal(question: string, signal: AbortSignal): Promise<string> {
  // Few commands ask, and all of them would load it.
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    return await lines.question(question, { signal })
  } finally {
    lines.close()
  }
}

/**
 * A reader that closes early, such as `head`, must not fail a running backup: later output is
 * dropped. An output that cannot be written, such as a file on a full disk, fails the process.
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

/** A library may close its connections a little later than it says. */
const END_MS = 2000

/** Ends the process when its output is written, although a library keeps a connection or a timer. */
export async function endSoon(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(flush))
  ifStillRunning(END_MS, () => process.exit())
}

/** Resolves when the reader has taken all that was written before, or has closed the stream. */
export function flush(output: Writable): Promise<void> {
  if (output.writableLength === 0 || output.destroyed) return Promise.resolve()
  return new Promise(resolve => output.write('', () => resolve()))
}
