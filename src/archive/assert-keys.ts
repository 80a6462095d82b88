import { KafkaBackupError } from '../errors.ts'
import type { Manifest, PartitionIndex, Segment } from './manifest.ts'
import { keptGroupsOf, sectionObjectsOf } from './named-objects.ts'

const RUN = '[A-Za-z0-9._-]+'
const GENERATION = '[0-9]+'
/** A topic name, or what stands for it where names are hidden. */
const FOLDER = '[^/]+'
const leadsElsewhere = /(^|\/)\.\.?(\/|$)|\\|[\p{Cc}\u2028\u2029]/u

/**
 * A store's writer can put any key into a document, and readers copy, remove and write next to what documents name. So each
 * field may only name keys of its own class in its own backup: a manifest that names another backup's objects, or an object
 * that steers this one, such as `manifests/pruned.json`, is damaged.
 */
export function assertManifestKeys(manifest: Manifest, at: string): void {
  const { backup_id: backupId, topics, consumer_groups: groups, access } = manifest
  const root = `^${literal(backupId)}/kafka`
  for (const { partitions } of topics) {
    for (const { partition, indexes, reread } of partitions) {
      const isIndex = new RegExp(`${root}/${FOLDER}/${partition}/index-${GENERATION}\\.${RUN}\\.json$`)
      for (const { key } of [...indexes, ...(reread?.indexes ?? [])])
        assertClass(key, isIndex.test(key) && !leadsElsewhere.test(key), 'an index of its partition', at)
    }
  }
  for (const { key } of [...(groups?.state === 'taken' ? [groups] : []), ...keptGroupsOf(manifest)]) {
    const isGroups = new RegExp(`${root}/groups-${GENERATION}\\.${RUN}\\.json$`).test(key)
    assertClass(key, isGroups, 'a file of consumer groups', at)
  }
  if (access) {
    const isAccess = new RegExp(`${root}/access-${GENERATION}\\.${RUN}\\.json$`).test(access.key)
    assertClass(access.key, isAccess, 'a file of access rules', at)
  }
  // What is left are the files of the registry, whose folders hold names of subjects.
  const isOwn = new RegExp(`^${literal(backupId)}/(kafka|schema-registry)(/[^/]+)+$`)
  for (const { key } of sectionObjectsOf(manifest)) {
    assertClass(key, isOwn.test(key) && !leadsElsewhere.test(key), 'an object of this backup', at)
  }
}

/** `at` is the key of the index: its segments belong to the same backup and partition. */
export function assertIndexKeys({ segments }: PartitionIndex, at: string): void {
  const [backupId = '', , , partition] = at.split('/')
  assertSegmentKeys(segments, backupId, Number(partition), at)
}

export function assertSegmentKeys(segments: readonly Segment[], backupId: string, partition: number, at: string): void {
  const isSegment = new RegExp(`^${literal(backupId)}/kafka/${FOLDER}/${partition}/[^/]+\\.log(\\.zst)?$`)
  for (const { key } of segments)
    assertClass(key, isSegment.test(key) && !leadsElsewhere.test(key), 'a segment of its partition', at)
}

function assertClass(key: string, isOfClass: boolean, expected: string, at: string): void {
  if (isOfClass) return
  throw new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${at} is damaged: it names ${JSON.stringify(key)}, which is not ${expected}`,
  )
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
