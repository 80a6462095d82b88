import { KafkaBackupError } from '../errors.ts'
import type { Manifest, PartitionIndex, Segment } from './manifest.ts'
import { keptGroupsOf, sectionObjectsOf } from './named-objects.ts'

const indexFile = /^index-[0-9]+\.[A-Za-z0-9._-]+\.json$/
const segmentFile = /\.log(\.zst)?$/
const groupsFile = /^groups-[0-9]+\.[A-Za-z0-9._-]+\.json$/
const accessFile = /^access-[0-9]+\.[A-Za-z0-9._-]+\.json$/
const leadsElsewhere = /(^|\/)(\.\.?)?(\/|$)|\\|[\p{Cc}\u2028\u2029]/u

/**
 * A store's writer can put any key into a document, and readers copy, remove and write next to what documents name. So each
 * field may only name keys of its own class in its own backup: a manifest that names another backup's objects, or an object
 * that steers this one, such as `manifests/pruned.json`, is damaged.
 */
export function assertManifestKeys(manifest: Manifest, at: string): void {
  const { backup_id: backupId, topics, consumer_groups: groups, access } = manifest
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
  // What is left are the files of the registry, whose folders hold names of subjects.
  for (const { key } of sectionObjectsOf(manifest)) {
    const isOwn = key.startsWith(`${backupId}/kafka/`) || key.startsWith(`${backupId}/schema-registry/`)
    assertClass(key, isOwn && !leadsElsewhere.test(key), 'an object of this backup', at)
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
  return isThere && file.test(name) && !leadsElsewhere.test(key)
}

function isInKafka(key: string, backupId: string, file: RegExp): boolean {
  const [id, kafka, name = '', ...rest] = key.split('/')
  return id === backupId && kafka === 'kafka' && rest.length === 0 && file.test(name) && !leadsElsewhere.test(key)
}

function assertClass(key: string, isOfClass: boolean, expected: string, at: string): void {
  if (isOfClass) return
  throw new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${at} is damaged: it names ${JSON.stringify(key)}, which is not ${expected}`,
  )
}
