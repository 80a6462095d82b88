import { KafkaBackupError, reasonOf, toKafkaBackupError } from '../errors.ts'
import type { OnProgress } from '../observe/progress.ts'

export interface RunOptions {
  /** Ends the call soon and in order; it rejects with INTERRUPTED then, whose cause is the signal's reason. */
  signal?: AbortSignal | undefined
  /** Called while the work runs, and not awaited. One that throws ends the work as the signal does. */
  onProgress?: OnProgress | undefined
}

/** Does the work for a caller who may watch and end it. Every failure is a KafkaBackupError. */
export async function runWatched<T>(
  { signal, onProgress }: RunOptions,
  /** What an interruption leaves behind. */
  leaves: string,
  work: (onProgress: OnProgress, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const scoped = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
  const tell: OnProgress = event => {
    try {
      onProgress?.(event)
    } catch (error) {
      stop.abort(interrupted('the listener of the progress threw', error, leaves))
    }
  }
  try {
    scoped.throwIfAborted()
    const result = await work(tell, scoped)
    stop.signal.throwIfAborted()
    return result
  } catch (error) {
    const reason = reasonOf(error, scoped)
    const isOfSignal = scoped.aborted && reason === scoped.reason && !(reason instanceof KafkaBackupError)
    throw isOfSignal ? interrupted('interrupted', reason, leaves) : toKafkaBackupError(reason)
  }
}

function interrupted(what: string, cause: unknown, help: string): KafkaBackupError {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new KafkaBackupError('INTERRUPTED', `${what}: ${message}`, { cause, help })
}
