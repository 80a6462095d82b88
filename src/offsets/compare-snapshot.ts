import { partitionKey } from '../kafka/offsets.ts'
import { readFacts } from './cluster-facts.ts'
import { type GroupNow, readGroups, sortPlaces } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { assertSameCluster, type OffsetSnapshot, type SnapshotGroup, topicIdsIn } from './snapshot.ts'
import { isRecreated, type TopicIds, topicIdsOf } from './topic-ids.ts'

/**
 * What became of a position since: `ahead` and `behind` the snapshot, `missing` now, `added` where the snapshot says there
 * was none, `metadata` where the offset is the same and its metadata are others, `recreated` where the topic is another one.
 */
type Change = 'same' | 'ahead' | 'behind' | 'missing' | 'added' | 'metadata' | 'recreated'

export interface ComparedPosition {
  topic: string
  partition: number
  /** At the snapshot, and at present. */
  was: bigint | null
  is: bigint | null
  change: Change
}

export interface ComparedGroup {
  group: string
  positions: ComparedPosition[]
  /** Why nothing can be said of it. */
  error?: string
  isDifferent: boolean
}

export interface SnapshotComparison {
  snapshotId: string
  isStrict: boolean
  ok: boolean
  groups: ComparedGroup[]
}

/** Compares the committed offsets of groups with a snapshot. */
export async function verifySnapshot(
  snapshot: OffsetSnapshot,
  isStrict: boolean,
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<SnapshotComparison> {
  assertSameCluster(snapshot, await port.clusterId(signal))
  const names = snapshot.groups.map(({ group }) => group)
  const present = await readGroups(port, names, signal)
  const places = snapshot.groups.flatMap(({ positions, absent }) => [...positions, ...absent])
  const { topics } = await readFacts(port, [], signal, places)
  return compareSnapshot(snapshot, { groups: present, topicIds: topicIdsOf(topics) }, isStrict)
}

/**
 * Strictly, every position has to be the same, and there are no others. Otherwise groups may have advanced since: offsets ahead and metadata are not a
 * difference; what is behind, missing or added is.
 */
export function compareSnapshot(
  snapshot: OffsetSnapshot,
  present: { groups: readonly GroupNow[]; topicIds: TopicIds },
  isStrict: boolean,
): SnapshotComparison {
  const byName = new Map(present.groups.map(now => [now.group, now]))
  const idsThen = topicIdsIn(snapshot)
  const isOther = ({ topic }: { topic: string }) => isRecreated(topic, idsThen, present.topicIds)
  const groups = snapshot.groups.map(then => compareGroup(then, byName.get(then.group), isOther, isStrict))
  const ok = groups.every(({ isDifferent }) => !isDifferent)
  return { snapshotId: snapshot.snapshot_id, isStrict, ok, groups }
}

function compareGroup(
  then: SnapshotGroup,
  now: GroupNow | undefined,
  isOther: (place: { topic: string }) => boolean,
  isStrict: boolean,
): ComparedGroup {
  const error = then.error ?? now?.error?.message ?? findOtherType(then, now)
  if (error !== undefined) return { group: then.group, positions: [], error, isDifferent: true }
  const present = new Map(now?.positions.map(one => [partitionKey(one), one]))
  const known = then.positions.map((one): ComparedPosition => {
    const { topic, partition, offset } = one
    const have = present.get(partitionKey(one))
    return {
      topic,
      partition,
      was: offset,
      is: have?.offset ?? null,
      change: isOther(one) ? 'recreated' : changeOf(one, have),
    }
  })
  const added = then.absent.flatMap(({ topic, partition }): ComparedPosition[] => {
    const have = present.get(partitionKey({ topic, partition }))
    if (!have) return []
    return [{ topic, partition, was: null, is: have.offset, change: isOther({ topic }) ? 'recreated' : 'added' }]
  })
  const listed = new Set([...then.positions, ...then.absent].map(partitionKey))
  const more = (isStrict ? (now?.positions ?? []) : []).filter(one => !listed.has(partitionKey(one)))
  const since = more.map(
    ({ topic, partition, offset }): ComparedPosition => ({
      ...{ topic, partition, was: null, is: offset, change: 'added' },
    }),
  )
  const positions = sortPlaces([...known, ...added, ...since])
  const accepted: readonly Change[] = isStrict ? ['same'] : ['same', 'ahead', 'metadata']
  return { group: then.group, positions, isDifferent: positions.some(({ change }) => !accepted.includes(change)) }
}

/** Start offsets of a share group are not committed offsets, whatever their numbers are. */
function findOtherType(then: SnapshotGroup, now: GroupNow | undefined): string | undefined {
  if (!now || then.type === 'absent' || now.type === 'absent') return undefined
  if ((then.type === 'share') === (now.type === 'share')) return undefined
  return `it is a ${now.type} group on this cluster and was a ${then.type} group`
}

function changeOf(
  then: SnapshotGroup['positions'][number],
  now: { offset: bigint; metadata: string } | undefined,
): Change {
  if (!now) return 'missing'
  if (now.offset !== then.offset) return now.offset > then.offset ? 'ahead' : 'behind'
  return now.metadata === then.metadata ? 'same' : 'metadata'
}
