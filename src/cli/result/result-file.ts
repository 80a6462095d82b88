import type { KafkaBackupError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import type { Redactor } from '../../observe/redact.ts'
import type { Io } from '../io.ts'
import { formatResult, type Result } from './format-result.ts'
import { Outcome } from './outcome.ts'

/** Names the file that gets the result; for a pod of Kubernetes, /dev/termination-log. */
export const RESULT_FILE_VARIABLE = 'KAFKA_BACKUP_RESULT_FILE'

export interface ResultFile {
  outcome: Outcome
  /** Writes the result in one call, so that the process may end right after it, and answers with the exit code. */
  close(exit: number, error?: KafkaBackupError): number
}

/**
 * Where the environment names a file, it is emptied now: one that stays empty tells of a process that was killed. A file
 * that cannot be written is a warning at the end, and changes nothing else.
 */
export function openResultFile(
  command: string | null,
  { io, redactor, log }: { io: Io; redactor: Redactor; log: Log },
): ResultFile {
  const outcome = new Outcome(command, io.clock.now())
  const path = io.env[RESULT_FILE_VARIABLE]
  const write = (text: string, onFailure: (reason: string) => void): void => {
    try {
      if (path) io.writeFile(path, text)
    } catch (error) {
      onFailure(error instanceof Error ? error.message : String(error))
    }
  }
  write('', () => undefined)
  return {
    outcome,
    close: (exit, error) => {
      const result = outcome.resultOf({ exit, ...(error && { error }), nowMs: io.clock.now() })
      // Secrets go before anything is cut: the beginning of one is not known as a secret any more.
      write(formatResult(redactor.value(result) as Result), reason =>
        log.write('warn', `the result cannot be written to ${path} (${RESULT_FILE_VARIABLE}): ${reason}`),
      )
      return exit
    },
  }
}
