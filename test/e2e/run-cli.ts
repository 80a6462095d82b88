import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { KilledRestore } from '../faults/killed-restore.ts'

export const root = resolve(import.meta.dirname, '../..')

/** The command of a checkout, which runs the sources. */
export const launcher = join(root, 'kafka-backup')

/**
 * The program with the first of its arguments: of a file that runs alone the sources, as they are; in `make e2e`, which
 * has just built it, what was built, which starts in less CPU time.
 */
export const cli: [command: string, ...args: string[]] =
  process.env.TEST_BUILT === '1'
    ? [process.execPath, join(root, 'bin/kafka-backup.js')]
    : [process.execPath, join(root, 'src/cli/bin.ts')]

/** A run of the program in a separate process; `callCli` runs it in the process of the test. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const [command, ...first] = cli
  return run(command, [...first, ...args], options)
}

export interface RunOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Sent once the errors' stream has matched. A program of Node waits for it there. */
  signal?: NodeJS.Signals
  when?: RegExp
  /** Killed, without a chance to end well, when this is aborted. */
  killOn?: AbortSignal
}

export interface Ran {
  /** Null where a signal ended it. */
  code: number | null
  stdout: string
  stderr: string
}

const stopAt = join(root, 'test/stop-at.ts')

/** A process from its start to its end. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { cwd = tmpdir(), env = process.env, signal, when } = options
  const waits = signal && when && command === process.execPath
  const running = spawn(command, waits ? ['--import', stopAt, ...args] : args, {
    ...{ cwd, env: { ...env, ...(waits && { STOP_AT: when.source }) } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  let sent = false
  let resuming: NodeJS.Timeout | undefined
  running.stdout.on('data', chunk => {
    stdout += chunk
  })
  running.stderr.on('data', chunk => {
    stderr += chunk
    if (!signal || !when?.test(stderr) || sent) return
    sent = running.kill(signal)
    // Again and again: it may stop itself only after the first time.
    if (waits) resuming = setInterval(() => running.kill('SIGCONT'), 20)
  })
  const kill = () => running.kill('SIGKILL')
  options.killOn?.addEventListener('abort', kill)
  const [code] = await once(running, 'close')
  clearInterval(resuming)
  return { code: code as number | null, stdout, stderr }
}

const dyingRestore = join(root, 'test/faults/killed-restore.ts')

/** Fails unless SIGKILL ended it. */
export async function killRestore(spec: KilledRestore): Promise<void> {
  const child = spawn(process.execPath, [dyingRestore, JSON.stringify(spec)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code, killedBy] = await once(child, 'close')
  if (killedBy !== 'SIGKILL') throw new Error(`the restore has ended with ${code} before it was killed`)
}
