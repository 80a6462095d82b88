import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from '../../src/storage/storage.ts'
import type { OpenedStorage } from '../suites/storage-suite.ts'

/** A storage at a path that does not exist yet, with what it holds removed in the end. */
export async function openTemporary(open: (path: string) => Storage, parent = tmpdir()): Promise<OpenedStorage> {
  const folder = await mkdtemp(join(parent, 'kafka-backup-storage-'))
  const storage = open(join(folder, 'made', 'by first write'))
  return {
    storage,
    close: async () => {
      await storage.close()
      rmSync(folder, { recursive: true })
    },
  }
}
