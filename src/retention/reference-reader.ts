import { indexRefsOf, type OwnedIndex, readIndex } from '../archive/indexes.ts'
import type { Manifest } from '../archive/manifest.ts'
import { sectionObjectsOf } from '../archive/named-objects.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'

const CONCURRENCY = 8

/** Reads which objects manifests name, directly or by their indexes. An index that many of them share is read once. */
export class ReferenceReader {
  readonly #storage: Storage
  readonly #segments = new Map<string, readonly string[]>()

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async read(manifest: Manifest, signal: AbortSignal): Promise<Set<string>> {
    const keys = new Set([...sectionObjectsOf(manifest)].map(({ key }) => key))
    const listed = await runPool(indexRefsOf(manifest), CONCURRENCY, ref => this.#segmentsOf(ref, signal))
    for (const key of listed.flat()) keys.add(key)
    return keys
  }

  async #segmentsOf(ref: OwnedIndex, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#segments.get(ref.key)
    if (known) return known
    const { segments } = await readIndex(this.#storage, ref, signal)
    const keys = segments.map(({ key }) => key)
    this.#segments.set(ref.key, keys)
    return keys
  }
}
