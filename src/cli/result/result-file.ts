import type { KafkaBackupError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import type { Redactor } from '../../observe/redact.ts'
import type { Io } from '../io.ts'
import { formatResult, type Result } from './format-result.ts'
import { ResultBuilder } from './result-builder.ts'

/** The environment variable with the path of the result file; in a Kubernetes pod, /dev/termination-log. */
const RESULT_FILE_VARIABLE = 'KAFKA_BACKUP_RESULT_FILE'

interface ResultFile {
  outcome: ResultBuilder
  /** Writes the result synchronously, because the process may exit right after, and returns the exit code. */
  close(exit: number, error?: KafkaBackupError): number
}

/**
 * If the environment names a file, it is truncated now: a file that stays empty means that the process was killed. A file
 * that cannot be written only causes a warning at the end.
 */
export function openResultFile(
  command: string | null,
  { io, redactor, log }: { io: Io; redactor: Redactor; log: Log },
): ResultFile {
  const outcome = new ResultBuilder(command, io.clock.now())
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
      // Redact before truncating: the beginning of a secret would not be recognized.
      write(formatResult(redactor.value(result) as Result), reason =>
        log.write('warn', `the result cannot be written to ${path} (${RESULT_FILE_VARIABLE}): ${reason}`),
      )
      return exit
    },
  }
}
