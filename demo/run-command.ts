import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a command on our own terminal and returns its exit code. */
export async function runCommand(command: string, args: readonly string[]): Promise<number> {
  const running = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const [exitCode] = await once(running, 'close')
  return exitCode as number
}
