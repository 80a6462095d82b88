import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { callCli } from '../e2e/call-cli.ts'
import { guardGroup } from '../servers/guard.ts'

export const cli = join(import.meta.dirname, '../../bin/kafka-backup.js')

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Running {
  pid: number
  send(signal: NodeJS.Signals): void
  /** Resolves with the first that it says, which is when the copying begins; also when it ends before. */
  speaks: Promise<unknown>
  ended: Promise<Ended>
}

/** The published command line as a process of its own. */
export function startBackup(config: string): Running {
  return startProcess(process.execPath, [cli, 'backup', '--config', config])
}

export function runBackup(config: string): Promise<Ended> {
  return runHere(['backup', '--config', config])
}

/** The same command line in the process of the test, which takes less CPU time: for runs that get no signal. */
export async function runHere(args: readonly string[]): Promise<Ended> {
  return { ...(await callCli(args)), signal: null }
}

export function startProcess(command: string, args: readonly string[]): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  guardGroup(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', chunk => {
    output.stdout += chunk
  })
  child.stderr.on('data', chunk => {
    output.stderr += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
  return {
    pid: child.pid ?? -1,
    send: signal => void child.kill(signal),
    speaks: Promise.race([once(child.stderr, 'data'), ended]),
    ended,
  }
}

/** Sends the signal so many milliseconds after the start, unless the process has ended by then. */
export async function signalAfter(running: Running, signal: NodeJS.Signals, delayMs: number): Promise<Ended> {
  const timer = setTimeout(() => running.send(signal), delayMs)
  const ended = await running.ended
  clearTimeout(timer)
  return ended
}
