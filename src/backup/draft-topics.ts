import { freshKey, rereadKey } from '../archive/incarnation.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import type { BackupPlan, PlannedPartition } from './backup-plan.ts'
import type { PartitionCopy } from './partition-copy.ts'
import { caughtUp } from './plan-compacted.ts'

/** The partitions that a run copies, and the lists of compacted ones that it reads again. */
export interface Copies {
  copies: readonly PartitionCopy[]
  rereads: readonly PartitionCopy[]
}

/** The topics of a plan with what is durable of them now. A list that was read again to its end takes its place here. */
export function draftTopics({ topics }: BackupPlan, { copies, rereads }: Copies): ManifestTopic[] {
  const copied = byKey(copies)
  const reread = byKey(rereads)
  const byName = new Set([...copies, ...rereads].filter(copy => copy.isReadByName).map(copy => copy.identity.id))
  return topics.map(topic => ({
    ...topic,
    ...(topic.state === 'current' && byName.has(topic.id) && { read_by: 'name' as const }),
    partitions: topic.partitions.map(planned => {
      const key = freshKey(topic, planned.durable.partition)
      return draftPartition(planned, copied.get(key), reread.get(key))
    }),
  }))
}

/** The segments that are durable and in no index yet, by `freshKey` and `rereadKey`. `carried` are those of earlier runs. */
export function draftSegments(
  carried: ReadonlyMap<string, readonly Segment[]>,
  { copies, rereads }: Copies,
): Map<string, readonly Segment[]> {
  const segments = new Map([...carried].filter(([, some]) => some.length > 0))
  const put = (key: string, some: readonly Segment[]) =>
    some.length > 0 ? segments.set(key, some) : segments.delete(key)
  for (const { identity, partition, fresh } of copies) put(freshKey(identity, partition), fresh)
  for (const copy of rereads) {
    const key = rereadKey(copy.identity, copy.partition)
    if (copy.hasGap) segments.delete(key)
    else if (!copy.isCaughtUp) put(key, copy.fresh)
    else {
      segments.delete(key)
      put(freshKey(copy.identity, copy.partition), copy.fresh)
    }
  }
  return segments
}

/** As `draftSegments`, of a run that reads nothing again, once all that is on its way is durable; without lists of which that is not known. */
export function expectedSegments({ copies }: Pick<Copies, 'copies'>): Map<string, readonly Segment[]> {
  const known = copies.map(copy => [freshKey(copy.identity, copy.partition), copy.expected ?? []] as const)
  return new Map(known.filter(([, segments]) => segments.length > 0))
}

/** After a commit: what its manifest names is not fresh any more. */
export function settleCommitted(topics: readonly ManifestTopic[], { copies, rereads }: Copies): void {
  const named = new Map<string, ManifestPartition>()
  for (const topic of topics) {
    for (const one of topic.partitions) named.set(freshKey(topic, one.partition), one)
  }
  const replaced = new Set<string>()
  for (const copy of rereads) {
    const key = freshKey(copy.identity, copy.partition)
    const partition = named.get(key)
    if (!partition || copy.hasGap) continue
    copy.committed(partition.reread ?? partition)
    if (!partition.reread) replaced.add(key)
  }
  for (const copy of copies) {
    const key = freshKey(copy.identity, copy.partition)
    const partition = named.get(key)
    if (partition && !replaced.has(key)) copy.committed(partition)
  }
}

function draftPartition(
  planned: PlannedPartition,
  copy: PartitionCopy | undefined,
  reread: PartitionCopy | undefined,
): ManifestPartition {
  if (reread?.isCaughtUp) return describe(reread, planned)
  const partition = copy ? describe(copy, planned) : planned.durable
  return reread && !reread.hasGap ? { ...partition, reread: reread.durable } : partition
}

function describe(copy: PartitionCopy, { compacted }: PlannedPartition): ManifestPartition {
  const { durable, isCaughtUp, doneAtMs, end } = copy
  if (!compacted || !durable.compaction) return durable
  const { compaction, ...partition } = durable
  const now = isCaughtUp ? caughtUp(compaction, compacted, { end, doneAtMs, bytes: durable.bytes }) : compaction
  // Where nothing is compacted any more and nothing was missed there is nothing to say.
  const isOver = !compacted.isCompacted && isCaughtUp && !now.may_hold_deleted_keys
  return isOver ? partition : { ...partition, compaction: now }
}

function byKey(copies: readonly PartitionCopy[]): Map<string, PartitionCopy> {
  return new Map(copies.map(copy => [freshKey(copy.identity, copy.partition), copy]))
}
