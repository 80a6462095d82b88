import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a command in a folder, with our standard output and error, and returns its exit code. */
export async function runCommand(command: string, args: readonly string[], cwd: string): Promise<number> {
  const running = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  const [exitCode] = await once(running, 'close')
  return exitCode as number
}

/** Starts a command that runs until it is stopped; resolves when it has printed its first line. */
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
