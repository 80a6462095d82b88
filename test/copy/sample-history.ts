import { commitGeneration } from '../../src/archive/commit.ts'
import { writeGroups } from '../../src/archive/groups.ts'
import { segmentKey } from '../../src/archive/layout.ts'
import type { Manifest, ManifestPartition, Segment } from '../../src/archive/manifest.ts'
import { renewCopies } from '../../src/archive/newest-copies.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { writeRegistry } from '../../src/archive/write-registry.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, never, storeSegment, topicOf } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

export interface HistoryOptions {
  backupId?: string
  /** Ids of its runs begin with this: another one is another backup. */
  run?: string
  valueBytes?: number
  /** What the manifests say of encryption. */
  encryption?: Manifest['encryption']
  /** Goes on after this one. */
  after?: Manifest
}

const PARTITIONS = 2

/** A backup of so many generations, each with a segment a partition, positions of a group and a version of a schema more. */
export async function storeGenerations(
  storage: Storage,
  count: number,
  options: HistoryOptions = {},
): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  let previous = options.after
  for (let added = 0; added < count; added++) {
    previous = await storeGeneration(storage, (previous?.generation ?? 0) + 1, previous, options)
    manifests.push(previous)
  }
  return manifests
}

async function storeGeneration(
  storage: Storage,
  generation: number,
  previous: Manifest | undefined,
  { backupId = 'b1', run: prefix = 'run', valueBytes = 10, encryption }: HistoryOptions,
): Promise<Manifest> {
  const run = `${prefix}${generation}`
  const freshSegments = new Map<string, Segment[]>()
  const partitions: ManifestPartition[] = []
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const before = previous?.topics[0]?.partitions[partition] ?? emptyPartition(partition, 0n)
    const start = before.end_offset
    const key = segmentKey({ backupId, topic: 'orders', partition }, start, run, false)
    const segment = await storeSegment(storage, key, [encodeRun(start, 3, { valueBytes })], false)
    freshSegments.set(`id-orders/${partition}`, [segment])
    partitions.push(withSegment(before, segment, 0, []))
  }
  const place = { backupId, generation, run }
  const position = { topic: 'orders', partition: 0, leader_epoch: -1, metadata: '', lag: 0n }
  const group = { group: 'g', type: 'classic', state: 'Empty', members: 0, error: null } as const
  const groups = [{ ...group, positions: [{ ...position, offset: BigInt(generation) }] }]
  const takenAt = '2026-01-02T03:04:05.000Z'
  const consumer_groups = await writeGroups(
    storage,
    { groups, left_out: [] },
    { ...place, takenAt, previous: previous?.consumer_groups },
    never,
  )
  const versions = Array.from({ length: generation }, (_, at) => versionOf('orders-value', at + 1, at + 1))
  const registry = { ...place, previous: previous?.schema_registry }
  const schema_registry = await writeRegistry(storage, snapshotOf(versions), registry, never)
  const sections = {
    ...{ backup_id: backupId, generation, run, schema_registry, consumer_groups },
    ...(encryption && { encryption }),
    ...(previous?.lineage !== undefined && { lineage: previous.lineage }),
  }
  const manifest = draftManifest([topicOf('orders', partitions)], sections)
  const { manifest: committed } = await commitGeneration(storage, { manifest, freshSegments, attempt: 1 }, never)
  await renewCopies(storage, committed, never)
  return committed
}
