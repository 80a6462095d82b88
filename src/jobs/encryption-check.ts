import type { Job } from '../config/load-job.ts'
import { readKeysFile } from '../encryption/key-book.ts'
import { loadCredentials } from '../encryption/load-credentials.ts'
import { openKeys } from '../encryption/open-keys.ts'
import { attempt, type Check } from '../observe/check.ts'
import { openStorage } from '../storage/open-storage.ts'

/** That the keys of a job can be read, and open its backup where there is one. Nothing is written. */
export async function checkEncryption(job: Job, signal: AbortSignal): Promise<Check[]> {
  const { encryption, backupId } = job
  if (!encryption) return []
  const check = await attempt('encryption', 'open', signal, async () => {
    const credentials = await loadCredentials(encryption.recipients, process.env)
    const storage = openStorage(job.storage)
    try {
      const file = await readKeysFile(storage, backupId, signal)
      if (!file) return `the backup ${backupId} has no keys yet; they are made by its first run`
      const { section } = await openKeys(file, { credentials, mayAskKms: false }, signal)
      return `the data key ${section.data_key} opens`
    } finally {
      await storage.close()
    }
  })
  return [check]
}
