import { isCompacted } from '../archive/effective-settings.ts'
import { readFirstKeys } from '../archive/first-keys.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { parseSelector } from '../archive/topic-selector.ts'
import { hasCode } from '../errors.ts'
import { compileGlobs } from '../lib/glob.ts'
import { runPool } from '../lib/pool.ts'
import { areRegistryKeys, isRegistryStoreName } from '../registry/own-topic.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './restore-options.ts'

/** Topics of a backup in which a schema registry stored its schemas. */
export type RegistryStores = ReadonlySet<ManifestTopic>

const READS_AT_ONCE = 8

/** Pure. Those that the name shows. */
export function storesByName({ topics }: Pick<Manifest, 'topics'>): RegistryStores {
  return new Set(topics.filter(({ name }) => isRegistryStoreName(name)))
}

/**
 * The same, with those of other names: compacted, one partition, and the keys of a registry. Backups of versions that did
 * not leave them out hold some. Only topics that a restore may take by a pattern are read.
 */
export async function findRegistryStores(
  manifest: Manifest,
  { topics: { include, exclude } }: Pick<RestoreOptions, 'topics'>,
  storage: Storage,
  signal: AbortSignal,
): Promise<RegistryStores> {
  const isIncluded = compileGlobs(include.map(entry => parseSelector(entry).name))
  const isExcluded = compileGlobs(exclude)
  const candidates = manifest.topics.filter(
    topic => mayBeStore(topic) && isIncluded(topic.name) && !isExcluded(topic.name),
  )
  const found = await runPool(candidates, READS_AT_ONCE, topic => hasRegistryKeys(topic, storage, signal))
  return new Set([...storesByName(manifest), ...candidates.filter((_, i) => found[i])])
}

function mayBeStore(topic: ManifestTopic): boolean {
  const [first, ...others] = topic.partitions
  const isWhole = others.length === 0 && (topic.partition_count ?? 1) === 1
  return first !== undefined && isWhole && first.records > 0 && isCompacted(topic) === true
}

/** What is damaged or missing is reported by what restores it. */
async function hasRegistryKeys(topic: ManifestTopic, storage: Storage, signal: AbortSignal): Promise<boolean> {
  const [partition] = topic.partitions
  if (!partition) return false
  try {
    return areRegistryKeys(await readFirstKeys(storage, topic, partition, signal))
  } catch (error) {
    if (hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND', 'BATCH_INVALID')) return false
    throw error
  }
}
