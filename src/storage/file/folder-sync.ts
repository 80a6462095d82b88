import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'

export type FolderSync = (folder: string) => Promise<void>

/**
 * Makes the entries of a folder durable. Callers that wait for the same folder share one fsync, as long as it begins
 * after each of them has asked: one that is already running may have missed their entry, so they share the next.
 */
export function createFolderSync(files: FileCalls): FolderSync {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()

  const begin = (folder: string): Promise<void> => {
    waiting.delete(folder)
    const sync = fsyncFolder(folder, files).finally(() => {
      if (running.get(folder) === sync) running.delete(folder)
    })
    running.set(folder, sync)
    return sync
  }

  return folder => {
    const current = running.get(folder)
    if (current === undefined) return begin(folder)
    let next = waiting.get(folder)
    if (next === undefined) {
      next = current.then(
        () => begin(folder),
        () => begin(folder),
      )
      waiting.set(folder, next)
    }
    return next
  }
}

/** File systems that keep no such state for folders (SMB, some FUSE) answer EINVAL or ENOTSUP: nothing is left to do. */
async function fsyncFolder(folder: string, files: FileCalls): Promise<void> {
  const handle = await files.open(folder, 'r')
  try {
    await handle.sync()
  } catch (error) {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  } finally {
    await handle.close()
  }
}
