import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** The command of a checkout, which runs the sources. */
export const launcher = join(root, 'kafka-backup')

export interface RunOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Sent once the errors' stream has matched. */
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

/** A process from its start to its end. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { cwd = tmpdir(), env = process.env, signal, when } = options
  const running = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  let sent = false
  running.stdout.on('data', chunk => {
    stdout += chunk
  })
  running.stderr.on('data', chunk => {
    stderr += chunk
    if (signal && when?.test(stderr) && !sent) sent = running.kill(signal)
  })
  const kill = () => running.kill('SIGKILL')
  options.killOn?.addEventListener('abort', kill)
  const [code] = await once(running, 'close')
  return { code: code as number | null, stdout, stderr }
}
