import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { CopyOptions, CopyReport } from '../../src/copy/sides.ts'
import { type CopyPlaces, withCopies } from '../../src/jobs/copy.ts'
import type { StoragePlace } from '../../src/jobs/encryption.ts'
import type { KeyListing } from '../../src/jobs/keys.ts'
import { listKeysJob, rewrapKeysJob } from '../../src/jobs/keys.ts'
import { type Hooks, withStorage } from '../../src/jobs/parts.ts'
import { plain } from '../copy/copies.ts'
import { type HistoryOptions, storeGenerations } from '../copy/sample-history.ts'

export const never = new AbortController().signal
const hooks = { onProgress: () => undefined }

/** A folder with the places `here`, `there` and `else`, and the key files `a`, `b` and `c`. */
export class CopyStage {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  path(name: string): string {
    return join(this.#folder, name)
  }

  /** A place, with the keys of its job where some are named. */
  place(name: string, keys: string[] = [], hideNames = false): StoragePlace {
    const recipients = keys.map(key => ({ keyFile: this.path(key) }))
    const storage = { backend: 'filesystem', path: this.path(name) } as const
    return { storage, ...(keys.length > 0 && { encryption: { recipients, hideNames } }) }
  }

  /** Adds generations to a backup, which is encrypted where keys are named. */
  async store(keys: string[], count = 2, options: HistoryOptions & { hideNames?: boolean; at?: string } = {}) {
    const { hideNames = false, at = 'here', ...history } = options
    const place = { ...this.place(at, keys, hideNames), mode: 'backup', backupId: history.backupId ?? 'b1' } as const
    return withStorage(place, hooks, async storage => {
      const own = await storage.keysFor(place.backupId, never)
      return storeGenerations(storage, count, { ...history, ...(own && { encryption: own.section }) })
    })
  }

  copy(
    places: CopyPlaces,
    options: Partial<CopyOptions> = {},
    backupId = 'b1',
    more: Partial<Hooks> = {},
  ): Promise<CopyReport> {
    return withCopies(places, { ...hooks, ...more }, never, copies =>
      copies.copy(backupId, { ...plain, ...options }, never),
    )
  }

  /** Reads every byte with these keys. */
  async assertDeep(name: string, keys: string[], isEncrypted = keys.length > 0, backupId = 'b1'): Promise<void> {
    const keyFiles = keys.map(key => this.path(key))
    await withStorage({ ...this.place(name), keyFiles }, hooks, async storage => {
      const report = await verifyBackup(storage, backupId, { deep: true, ...hooks }, never)
      assert.deepEqual([report.ok, report.problems, report.encrypted], [true, [], isEncrypted])
    })
  }

  keys(name: string, backupId = 'b1'): Promise<KeyListing> {
    return listKeysJob({ ...this.place(name), backupId }, never)
  }

  rewrap(name: string, from: string, to: string, isDataKeyNew = false) {
    const place = { ...this.place(name, [to]), backupId: 'b1', keyFiles: [this.path(from)] }
    return rewrapKeysJob(place, { recipientFiles: [], isDataKeyNew, kmsKeys: [] }, never)
  }

  /** Every file below a place, with its bytes. */
  async files(name: string): Promise<Map<string, Buffer>> {
    const root = this.path(name)
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
    return new Map(
      await Promise.all(
        files.sort().map(async file => [file.slice(root.length + 1), await readFile(file)] as [string, Buffer]),
      ),
    )
  }
}

export async function withCopyStage(work: (stage: CopyStage) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-copies-'))
  try {
    await mkdir(join(folder, 'here'))
    for (const [at, name] of ['a', 'b', 'c'].entries()) await writeFile(join(folder, name), Buffer.alloc(32, at + 1))
    await work(new CopyStage(folder))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
