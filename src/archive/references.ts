import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { readIndex } from './catalog.ts'
import { backupPrefix, registryKey } from './layout.ts'
import type { IndexRef, Manifest } from './manifest.ts'

const CONCURRENCY = 8

/** Pure. Every object that a manifest names itself: whatever in it is a key of the backup, and the files of the registry. */
export function namedBy(manifest: Manifest): Set<string> {
  const keys = new Set<string>()
  const prefix = backupPrefix(manifest.backup_id)
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (value.startsWith(prefix)) keys.add(value)
    } else if (typeof value === 'object' && value !== null) {
      for (const each of Object.values(value)) visit(each)
    }
  }
  visit(manifest)
  for (const file of registryFilesOf(manifest)) keys.add(registryKey(manifest.backup_id, file))
  return keys
}

function registryFilesOf({ schema_registry: section }: Manifest): string[] {
  if (!section) return []
  return [
    section.settings.file,
    section.global.file,
    ...Object.values(section.id_mapping),
    ...section.subjects.flatMap(({ metadata, versions }) => [
      metadata.file,
      ...versions.map(({ schema_file }) => schema_file),
    ]),
  ]
}

/** Reads which objects manifests name, directly or by their indexes. An index that many of them share is read once. */
export class ReferenceReader {
  readonly #storage: Storage
  readonly #segments = new Map<string, readonly string[]>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async read(manifest: Manifest, signal: AbortSignal): Promise<Set<string>> {
    const keys = namedBy(manifest)
    const refs = manifest.topics.flatMap(({ partitions }) => partitions.flatMap(({ indexes }) => indexes))
    const listed = await runPool(refs, CONCURRENCY, ref => this.#segmentsOf(ref, signal))
    for (const key of listed.flat()) keys.add(key)
    return keys
  }

  async #segmentsOf(ref: IndexRef, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#segments.get(ref.key)
    if (known) return known
    const { segments } = await readIndex(this.#storage, ref, signal)
    const keys = segments.map(({ key }) => key)
    this.#segments.set(ref.key, keys)
    return keys
  }
}
