import { type ChildProcess, spawn } from 'node:child_process'
import { guardGroup } from './guard.ts'

export interface CommandResult {
  stdout: string
  stderr: string
  exitCode: number
}

export interface CommandOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Text for the command's standard input, which is otherwise empty. */
  input?: string
  timeoutMs?: number
}

/** Runs a command to its end and returns what it printed, whatever the exit code; a signal counts as exit code 128. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs, killSignal: 'SIGKILL' as const }),
    })
    guardGroup(child)
    const stdout = collect(child, 'stdout')
    const stderr = collect(child, 'stderr')
    child.once('error', reject)
    child.once('close', code => resolve({ stdout: stdout(), stderr: stderr(), exitCode: code ?? 128 }))
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
  })
}

/** Like `runCommand`, but anything but exit code 0 is an error that shows what the command printed. */
export async function mustRun(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { stdout, stderr, exitCode } = await runCommand(command, args, options)
  if (exitCode !== 0) throw new Error(`${command} exited with ${exitCode}:\n${stderr}${stdout}`)
  return stdout
}

function collect(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = []
  child[name]?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
