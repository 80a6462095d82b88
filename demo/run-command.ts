import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a command on our own terminal, in a folder, and returns its exit code. */
export async function runCommand(command: string, args: readonly string[], cwd: string): Promise<number> {
  const running = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  const [exitCode] = await once(running, 'close')
  return exitCode as number
}

/** Starts a command that does not end by itself; resolves when it has said that it is there. */
export async function startServing(
  command: string,
  args: readonly string[],
  cwd: string,
  onLine: (line: string) => void,
): Promise<{ end(): Promise<void> }> {
  const running = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  const closed = once(running, 'close')
  const [line] = await Promise.race([once(running.stdout, 'data'), closed])
  onLine(String(line).trimEnd())
  return {
    end: async () => {
      running.kill('SIGTERM')
      await closed
    },
  }
}
