import { manifestsPrefix } from '../archive/layout.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Sides } from './sides.ts'

/** What is read of the source; damage names the location, because a copy reads two. */
export async function fromSource<T>({ source }: Sides, reading: Promise<T>): Promise<T> {
  return located(source.location, reading)
}

/** Likewise of the target. A repair would commit there what the source does not have, and end the copy. */
export async function fromTarget<T>({ target }: Sides, backupId: string, reading: Promise<T>): Promise<T> {
  const help = 'Nothing was written. Copy to another location, or remove the backup at the target first.'
  return located(target.location, reading, error =>
    error.details.key?.startsWith(manifestsPrefix(backupId)) ? error.help : help,
  )
}

async function located<T>(
  location: string,
  reading: Promise<T>,
  helpOf: (error: KafkaBackupError) => string = error => error.help,
): Promise<T> {
  try {
    return await reading
  } catch (cause) {
    if (!hasCode(cause, 'ARCHIVE_DAMAGED')) throw cause
    const details = { ...cause.details, location }
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `at ${location}: ${cause.message}`, {
      cause,
      details,
      help: helpOf(cause),
    })
  }
}
