import { KafkaBackupError } from '../errors.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { readFacts } from './cluster-facts.ts'
import { type GroupNow, readGroups, sortPlaces } from './group-now.ts'
import { planForType } from './group-type.ts'
import type { OffsetsPort } from './offsets-port.ts'
import {
  type ClusterFacts,
  findMissing,
  findUndecided,
  type OffsetsPlan,
  type PlannedGroup,
  type PlannedPosition,
} from './plan-reset.ts'
import { selectGroups } from './select-groups.ts'
import { assertSameCluster, type OffsetSnapshot, type SnapshotGroup, topicIdsIn } from './snapshot.ts'
import { isRecreated, RECREATED, topicIdsOf } from './topic-ids.ts'

/** Looks at the cluster and tells what a rollback would set; of some groups of the snapshot, where they are named. */
export async function planRollback(
  snapshot: OffsetSnapshot,
  wanted: readonly string[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<OffsetsPlan> {
  const clusterId = await port.clusterId(signal)
  assertSameCluster(snapshot, clusterId)
  const known = new Map(snapshot.groups.map(one => [one.group, one]))
  const names = wanted.length === 0 ? [...known.keys()] : selectGroups(wanted, [...known.keys()])
  const groups = await readGroups(port, names, signal)
  const meant = names.flatMap(name => known.get(name) ?? [])
  const others = [...meant.flatMap(({ absent }) => absent), ...groups.flatMap(({ positions }) => positions)]
  const facts = await readFacts(
    port,
    meant.flatMap(({ positions }) => positions),
    signal,
    others,
  )
  const topicIds = topicIdsOf(facts.topics)
  const idsThen = topicIdsIn(snapshot)
  const findRecreated = ({ topic }: { topic: string }) =>
    isRecreated(topic, idsThen, topicIds) ? RECREATED : undefined
  return {
    clusterId,
    strategy: 'rollback',
    topicIds,
    groups: groups.map(now => {
      const then = known.get(now.group)
      if (then && then.error === undefined) {
        const origin = { type: then.type, name: `the snapshot ${snapshot.snapshot_id}` }
        return planForType(planGroupRollback(now, then, { ...facts, findRecreated }), origin)
      }
      const why = then?.error ?? 'it is not in it'
      const message = `the snapshot ${snapshot.snapshot_id} has no committed offsets of group ${now.group}: ${why}`
      return { now, positions: [], error: new KafkaBackupError('OFFSETS_REFUSED', message) }
    }),
  }
}

interface RollbackFacts extends ClusterFacts {
  /** Why an offset of the snapshot means nothing to the topic of this name. */
  findRecreated: (place: { topic: string }) => string | undefined
}

/**
 * The way back to a snapshot, exactly: with its metadata and epochs, and to where it was even if the log does not reach there
 * any more. Positions that the snapshot says were not there are taken away; those that it does not know stay.
 */
function planGroupRollback(now: GroupNow, then: SnapshotGroup, facts: RollbackFacts): PlannedGroup {
  if (now.error) return { now, positions: [], error: now.error }
  const present = new Map(now.positions.map(one => [partitionKey(one), one]))
  const back = then.positions.map((one): PlannedPosition => {
    const { topic, partition, offset, leader_epoch: leaderEpoch, metadata } = one
    const have = present.get(partitionKey(one))
    const problem = findMissing(one, facts.topics) ?? facts.findRecreated(one) ?? findUndecided(one, now)
    const isSame = have?.offset === offset && have.metadata === metadata && have.leaderEpoch === leaderEpoch
    const note = outside(offset, facts.bounds.get(partitionKey(one)))
    return {
      ...{
        topic,
        partition,
        from: have?.offset ?? null,
        to: problem === undefined ? offset : null,
        leaderEpoch,
        metadata,
      },
      isChange: problem === undefined && !isSame,
      ...(note !== undefined && { note }),
      ...(problem !== undefined && { problem }),
    }
  })
  const gone = then.absent.flatMap(({ topic, partition }): PlannedPosition[] => {
    const from = present.get(partitionKey({ topic, partition }))?.offset
    if (from === undefined) return []
    const note = 'the group had no committed offset here'
    const problem = facts.findRecreated({ topic }) ?? findUndecided({ topic, partition }, now)
    const plan = problem === undefined ? { isChange: true } : { isChange: false, problem }
    return [{ topic, partition, from, to: null, leaderEpoch: -1, metadata: '', note, ...plan }]
  })
  return { now, positions: sortPlaces([...back, ...gone]) }
}

function outside(offset: bigint, range: { logStart: bigint; highWatermark: bigint } | undefined): string | undefined {
  if (!range) return undefined
  if (offset < range.logStart) return `the log begins at ${range.logStart}`
  return offset > range.highWatermark ? `the log ends at ${range.highWatermark}` : undefined
}
