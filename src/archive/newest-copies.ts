import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import {
  currentRegistryPath,
  isCurrentRegistryPath,
  manifestCopyKey,
  registryCopiesKey,
  registryKey,
} from './layout.ts'
import { type Manifest, parseSealed } from './manifest.ts'
import { readStored } from './read-registry.ts'
import { type RegistrySection, registryCopiesSchema, registryFilesOf, type StoredFile } from './registry-section.ts'
import { sealJson } from './seal.ts'

/**
 * Brings everything that is a copy of the newest generation up to date: `manifest.json` and the files of the registry under
 * their plain names. The generation is committed already and does not depend on them, so failures are returned as warnings.
 */
export async function renewCopies(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<string[]> {
  const warnings: string[] = []
  try {
    await renewManifestCopy(storage, manifest, signal)
  } catch (error) {
    warnings.push(`manifest.json is not the newest generation: ${toKafkaBackupError(error).message}`)
  }
  const stale = await renewRegistryCopies(storage, manifest, signal)
  return stale === undefined ? warnings : [...warnings, stale]
}

/** Only a copy for people: commands read the generations. */
export async function renewManifestCopy(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const { avoided: _, ...stored } = manifest
  await storage.replace(manifestCopyKey(manifest.backup_id), sealJson(stored), signal)
}

const CONCURRENCY = 16
/** A store that refuses so many refuses the others, too. */
const MAX_FAILURES = 10
/** The hash of no content. */
const UNKNOWN = '0'.repeat(64)

/** Pure. The files of a section by the path of their current copy. */
export function currentFilesOf(section: RegistrySection): Map<string, StoredFile> {
  return new Map(
    registryFilesOf(section).flatMap(file => {
      const path = currentRegistryPath(file.file)
      return path === undefined ? [] : [[path, file] as const]
    }),
  )
}

/**
 * Brings the copies of the registry's files under their plain names to the state of a committed generation: what changed
 * is replaced, what the registry no longer has is removed. They are for people and other programs; the generation does not
 * depend on them. So a failure is returned as a warning, and the next call repeats what is left.
 */
export async function renewRegistryCopies(
  storage: Storage,
  { backup_id, generation, schema_registry }: Pick<Manifest, 'backup_id' | 'generation' | 'schema_registry'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!schema_registry) return undefined
  try {
    const copies = new RegistryCopies(storage, backup_id, await readCopies(storage, backup_id, signal))
    const failures = await copies.renew(currentFilesOf(schema_registry), signal)
    const [first, ...others] = failures
    if (first === undefined) return undefined
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    return staleCopies(backup_id, generation, `${first}${more}`)
  } catch (error) {
    if (!(error instanceof KafkaBackupError)) throw error
    return staleCopies(backup_id, generation, error.message)
  }
}

function staleCopies(backupId: string, generation: number, reason: string): string {
  const folder = registryKey(backupId, '')
  return `the files under plain names in ${folder} are not those of generation ${generation}, which is complete: ${reason}`
}

class RegistryCopies {
  readonly #storage: Storage
  readonly #backupId: string
  /** What is known to be there, by path, with the hash of its content. */
  readonly #known: Map<string, string>

  constructor(storage: Storage, backupId: string, known: ReadonlyMap<string, string>) {
    this.#storage = storage
    this.#backupId = backupId
    this.#known = new Map(known)
  }

  /** The messages of what failed. */
  async renew(files: ReadonlyMap<string, StoredFile>, signal: AbortSignal): Promise<string[]> {
    const stale = [...this.#known.keys()].filter(path => !files.has(path))
    const changed = [...files].filter(([path, { blake3 }]) => this.#known.get(path) !== blake3)
    if (stale.length === 0 && changed.length === 0) return []
    const failures: string[] = []
    const attempt = async (step: () => Promise<void>) => {
      if (failures.length >= MAX_FAILURES) return
      try {
        await step()
      } catch (error) {
        if (!(error instanceof KafkaBackupError)) throw error
        failures.push(error.message)
      }
    }
    // First no longer listed: a run that dies in between leaves no file that is taken for a current one.
    for (const [path] of changed) this.#known.delete(path)
    await attempt(() => this.#write(signal))
    // Removed before others are written: where a store does not distinguish case, an old name may be that of a new file.
    await runPool(stale, CONCURRENCY, path => attempt(() => this.#remove(path, signal)))
    await runPool(changed, CONCURRENCY, ([path, file]) => attempt(() => this.#replace(path, file, signal)))
    await attempt(() => this.#write(signal))
    return failures
  }

  async #remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#storage.remove(registryKey(this.#backupId, path), signal)
    this.#known.delete(path)
  }

  async #replace(path: string, file: StoredFile, signal: AbortSignal): Promise<void> {
    const bytes = await readStored(this.#storage, this.#backupId, file, signal)
    await this.#storage.replace(registryKey(this.#backupId, path), bytes, signal)
    this.#known.set(path, file.blake3)
  }

  async #write(signal: AbortSignal): Promise<void> {
    const files = Object.fromEntries([...this.#known].sort(([a], [b]) => (a < b ? -1 : 1)))
    const document = { format: 'kafka-backup-registry-copies', format_version: 1, files }
    await this.#storage.replace(registryCopiesKey(this.#backupId), sealJson(document), signal)
  }
}

/** The copies that are there; where no list of them can be read, all files that may be one, of unknown content. */
async function readCopies(storage: Storage, backupId: string, signal: AbortSignal): Promise<Map<string, string>> {
  const key = registryCopiesKey(backupId)
  try {
    const { files } = parseSealed(registryCopiesSchema, await storage.read(key, signal), key)
    return new Map(Object.entries(files).filter(([path]) => isCurrentRegistryPath(path)))
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND', 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
  }
  const found = new Map<string, string>()
  const folder = registryKey(backupId, '')
  for await (const { key: each } of storage.list(registryKey(backupId, 'subjects'), signal)) {
    const path = each.slice(folder.length)
    if (isCurrentRegistryPath(path)) found.set(path, UNKNOWN)
  }
  return found
}
