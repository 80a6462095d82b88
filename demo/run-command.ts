import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a command on our own terminal, in a folder, and returns its exit code. */
export async function runCommand(command: string, args: readonly string[], cwd: string): Promise<number> {
  const running = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  const [exitCode] = await once(running, 'close')
  return exitCode as number
}
