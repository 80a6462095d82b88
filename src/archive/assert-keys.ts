import { isKey } from '../lib/object-key.ts'
import { damaged } from './damage.ts'
import { keptGroupsOf } from './kept-groups.ts'
import { currentRegistryPath, hiddenName, registryKey } from './layout.ts'
import type { Manifest, ManifestTopic, PartitionIndex, Segment } from './manifest.ts'
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
  for (const topic of topics) assertIndexRefs(topic, backupId, at)
  for (const { key } of [...(groups?.state === 'taken' ? [groups] : []), ...keptGroupsOf(manifest)]) {
    assertClass(key, isInKafka(key, backupId, groupsFile), 'a file of consumer groups', at)
  }
  if (access) assertClass(access.key, isInKafka(access.key, backupId, accessFile), 'a file of access rules', at)
  for (const { file } of registry ? registryFilesOf(registry) : []) {
    const key = registryKey(backupId, file)
    assertClass(key, currentRegistryPath(file) !== undefined && isKey(key), 'a file of the schema registry', at)
  }
}

function assertIndexRefs({ name, partitions }: ManifestTopic, backupId: string, at: string): void {
  for (const { partition, indexes, reread } of partitions) {
    for (const { key } of [...indexes, ...(reread?.indexes ?? [])]) {
      const isOwn = isInPartition(key, { backupId, topic: name, partition }, indexFile)
      assertClass(key, isOwn, `an index of ${name}/${partition}`, at)
    }
  }
}

/** `at` is the key of the index: its segments are in the same folder. */
export function assertIndexKeys({ segments, topic, partition }: PartitionIndex, at: string): void {
  const [backupId = ''] = at.split('/')
  assertSegmentKeys(segments, { backupId, topic, partition }, at)
  const folder = folderOf(at)
  for (const { key } of segments) {
    assertClass(key, folderOf(key) === folder, `a segment of ${topic}/${partition}`, at)
  }
}

interface KeyOwner {
  backupId: string
  topic: string
  partition: number
}

export function assertSegmentKeys(segments: readonly Segment[], owner: KeyOwner, at: string): void {
  const expected = `a segment of ${owner.topic}/${owner.partition}`
  for (const { key } of segments) assertClass(key, isInPartition(key, owner, segmentFile), expected, at)
}

/** Whether a key is that of a segment of any partition of the backup. */
export function isSegmentKey(key: string, backupId: string): boolean {
  const [, , folder = '', number = ''] = key.split('/')
  const isNumber = /^(0|[1-9][0-9]{0,9})$/.test(number)
  return isNumber && isInPartition(key, { backupId, topic: folder, partition: Number(number) }, segmentFile)
}

/** The folder of a topic has its name, or a hash that stands for it where names are hidden. Not by splitting the key: there may be hundreds of thousands. */
function isInPartition(key: string, { backupId, topic, partition }: KeyOwner, file: RegExp): boolean {
  const [start, end] = [`${backupId}/kafka/`, `/${partition}/`]
  const nameAt = key.lastIndexOf('/') + 1
  const folderEnd = nameAt - end.length
  if (folderEnd <= start.length || !key.startsWith(start) || !key.startsWith(end, folderEnd)) return false
  const folder = key.slice(start.length, folderEnd)
  const isOwn = hiddenName.test(folder) || (folder === topic && !folder.includes('/'))
  return isOwn && file.test(key.slice(nameAt)) && isKey(key)
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'))
}

function isInKafka(key: string, backupId: string, file: RegExp): boolean {
  const [id, kafka, name = '', ...rest] = key.split('/')
  return id === backupId && kafka === 'kafka' && rest.length === 0 && file.test(name) && isKey(key)
}

function assertClass(key: string, isOfClass: boolean, expected: string, at: string): void {
  if (isOfClass) return
  throw damaged(at, `is damaged: it names ${quoted(key)}, which is not ${expected}`)
}

/** Foreign values may have any length. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
