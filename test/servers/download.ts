import { setTimeout as sleep } from 'node:timers/promises'
import { type CommandOptions, mustRun } from './run-command.ts'

export interface RetryOptions {
  attempts?: number
  /** Doubles with every attempt. */
  firstPauseMs?: number
  onFailure?(error: Error, pauseMs: number): void
}

/**
 * Runs a command that downloads, and runs it again when it fails: a connection that breaks off fails a whole build, and
 * every one of these tools keeps what it already has. The exit code does not tell a broken connection from a mistake,
 * so both are tried again.
 */
export function mustDownload(
  command: string,
  args: readonly string[],
  options: CommandOptions & RetryOptions = {},
): Promise<string> {
  return withRetries(() => mustRun(command, args, options), options)
}

export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 5, firstPauseMs = 2000, onFailure = reportFailure } = options
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Error) || isNoSuchCommand(error)) throw error
      if (count >= attempts) throw new Error(`${error.message}\nfailed ${count} times`, { cause: error })
      const pauseMs = firstPauseMs * 2 ** (count - 1)
      onFailure(error, pauseMs)
      await sleep(pauseMs)
    }
  }
}

function isNoSuchCommand(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function reportFailure(error: Error, pauseMs: number): void {
  const reason = error.message.trimEnd().split('\n').slice(0, 3).join(' ')
  process.stderr.write(`\n  ${reason.slice(0, 300)}\n  trying again in ${pauseMs / 1000} s … `)
}
