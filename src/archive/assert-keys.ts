import { findKeyFault } from '../lib/object-key.ts'
import { damaged } from './damage.ts'
import { currentRegistryPath, registryKey } from './layout.ts'
import type { Manifest, PartitionIndex, Segment } from './manifest.ts'
import { keptGroupsOf } from './named-objects.ts'
import { registryFilesOf } from './registry-section.ts'

const indexFile = /^index-[0-9]+\.[A-Za-z0-9._-]+\.json$/
const segmentFile = /\.log(\.zst)?$/
const groupsFile = /^groups-[0-9]+\.[A-Za-z0-9._-]+\.json$/
const accessFile = /^access-[0-9]+\.[A-Za-z0-9._-]+\.json$/

/**
 * A store's writer can put any key into a document, and readers copy, remove and write next to what documents name. So each
 * field may only name keys of its own class in its own backup: a manifest that names another backup's objects, or an object
 * that steers this one, such as `manifests/pruned.json`, is damaged.
 */
export function assertManifestKeys(manifest: Manifest, at: string): void {
  const { backup_id: backupId, topics, consumer_groups: groups, access, schema_registry: registry } = manifest
  for (const { partitions } of topics) {
    for (const { partition, indexes, reread } of partitions) {
      for (const { key } of [...indexes, ...(reread?.indexes ?? [])]) {
        assertClass(key, isInPartition(key, backupId, String(partition), indexFile), 'an index of its partition', at)
      }
    }
  }
  for (const { key } of [...(groups?.state === 'taken' ? [groups] : []), ...keptGroupsOf(manifest)]) {
    assertClass(key, isInKafka(key, backupId, groupsFile), 'a file of consumer groups', at)
  }
  if (access) assertClass(access.key, isInKafka(access.key, backupId, accessFile), 'a file of access rules', at)
  for (const { file } of registry ? registryFilesOf(registry) : []) {
    const key = registryKey(backupId, file)
    assertClass(key, currentRegistryPath(file) !== undefined && isKey(key), 'a file of the schema registry', at)
  }
}

/** `at` is the key of the index: its segments belong to the same backup and partition. */
export function assertIndexKeys({ segments }: PartitionIndex, at: string): void {
  const [backupId = '', , , partition] = at.split('/')
  assertSegmentKeys(segments, backupId, Number(partition), at)
}

export function assertSegmentKeys(segments: readonly Segment[], backupId: string, partition: number, at: string): void {
  for (const { key } of segments) {
    assertClass(key, isInPartition(key, backupId, String(partition), segmentFile), 'a segment of its partition', at)
  }
}

/** The folder of a topic may hold something that stands for its name. */
function isInPartition(key: string, backupId: string, partition: string, file: RegExp): boolean {
  const [id, kafka, , number, name = '', ...rest] = key.split('/')
  const isThere = id === backupId && kafka === 'kafka' && number === partition && rest.length === 0
  return isThere && file.test(name) && isKey(key)
}

function isInKafka(key: string, backupId: string, file: RegExp): boolean {
  const [id, kafka, name = '', ...rest] = key.split('/')
  return id === backupId && kafka === 'kafka' && rest.length === 0 && file.test(name) && isKey(key)
}

/** Stores refuse others, as a mistake of the caller; in an archive they are damage. */
function isKey(key: string): boolean {
  return findKeyFault(key) === undefined
}

function assertClass(key: string, isOfClass: boolean, expected: string, at: string): void {
  if (isOfClass) return
  throw damaged(at, `is damaged: it names ${quoted(key)}, which is not ${expected}`)
}

/** What somebody else wrote may be of any length. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
