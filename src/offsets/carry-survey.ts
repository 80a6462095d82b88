import { hasCode, KafkaBackupError } from '../errors.ts'
import type { ByGroup } from '../kafka/at-coordinators.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { describeGroupStates, type GroupState } from '../kafka/describe-group-states.ts'
import { fetchOffsetsOfGroups, type GroupOffset } from '../kafka/group-offsets.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { fetchGroupPermissions } from '../kafka/permissions.ts'
import { runPool } from '../lib/pool.ts'
import type { Finding } from '../observe/finding.ts'
import { type CarriedGroup, type CarriedStream, type CarryPlan, groupError } from './carry-plan.ts'

const CONCURRENCY = 8
const OTHER_WAYS =
  'leave it out with restore.consumer_groups.exclude, or give it another name with restore.consumer_groups.mapping'

/**
 * What on the target stands in the way of the groups, before anything is written. A group whose partitions have positions
 * all, from an earlier run, is not judged: its consumers may be at work again. `hasBegun` says that there was such a run.
 */
export async function surveyCarry(
  cluster: Cluster,
  { groups }: CarryPlan,
  hasBegun: boolean,
  signal: AbortSignal,
): Promise<Finding[]> {
  const names = groups.map(({ target }) => target)
  const [states, offsets] = await Promise.all([
    describeGroupStates(cluster, names, signal),
    fetchOffsetsOfGroups(cluster, names, signal),
  ])
  const judged = await runPool(groups, CONCURRENCY, async one => {
    const findings = judgeGroup(one, { states, offsets }, hasBegun)
    const isBlocked = findings.some(({ severity }) => severity === 'error')
    return isBlocked ? findings : [...findings, ...(await judgePermission(cluster, one, offsets, signal))]
  })
  return judged.flat()
}

/** The partitions of the target on which the group has no position yet. */
export function missingOf(
  { streams }: Pick<CarriedGroup, 'streams'>,
  present: readonly GroupOffset[],
): CarriedStream[] {
  const has = new Set(present.map(partitionKey))
  return streams.filter(
    ({ targetTopic: topic, targetPartition: partition }) => !has.has(partitionKey({ topic, partition })),
  )
}

function judgeGroup(
  one: CarriedGroup,
  { states, offsets }: { states: ByGroup<GroupState>; offsets: ByGroup<GroupOffset[]> },
  hasBegun: boolean,
): Finding[] {
  const [state, present] = [states.get(one.target), offsets.get(one.target)]
  if (!state || !present || state instanceof KafkaBackupError || present instanceof KafkaBackupError) {
    const error = [state, present].find(each => each instanceof KafkaBackupError)
    const problem = error?.message ?? 'no broker reports it'
    if (!hasCode(error, 'KAFKA_DENIED')) return [groupError(one.target, problem, OTHER_WAYS)]
    return [{ ...groupError(one.target, problem, `grant Read on the group, ${OTHER_WAYS}`), code: 'KAFKA_DENIED' }]
  }
  const missing = missingOf(one, present)
  if (missing.length > 0 && state.members > 0) {
    const members = `it has ${state.members} active ${state.members === 1 ? 'member' : 'members'} on the target`
    return [groupError(one.target, members, `stop its consumers, ${OTHER_WAYS}`)]
  }
  if (hasBegun || missing.length === one.streams.length) return missing.length > 0 ? tellProtocol(one, state) : []
  const problem = `it has positions on ${one.streams.length - missing.length} of the partitions already`
  return [groupError(one.target, problem, `delete them, ${OTHER_WAYS}`)]
}

/** A commit creates a group without a protocol, which not every broker turns into one of the Streams protocol. */
function tellProtocol({ type, target }: CarriedGroup, state: GroupState): Finding[] {
  if (type !== 'streams' || state.type === 'streams') return []
  const problem =
    'it used the Streams protocol (KIP-1071) on the source, and the target has no such group. Its offsets are committed ' +
    'to a group without a protocol: Kafka 4.2 and later convert it when the application joins, Kafka 4.1 does not and ' +
    'refuses the application'
  const remedy =
    'on Kafka 4.1 start the application on the target once before the restore and stop it, or run it with ' +
    'group.protocol=classic'
  return [{ severity: 'warning', subject: `group ${target}`, problem, remedy, details: { group: target } }]
}

async function judgePermission(
  cluster: Cluster,
  one: CarriedGroup,
  offsets: ByGroup<GroupOffset[]>,
  signal: AbortSignal,
): Promise<Finding[]> {
  const present = offsets.get(one.target)
  if (Array.isArray(present) && missingOf(one, present).length === 0) return []
  const granted = await fetchGroupPermissions(cluster, one.target, signal)
  if (granted === undefined || granted.has('Read')) return []
  return [
    {
      ...groupError(one.target, 'Read is not granted', `grant Read on the group, ${OTHER_WAYS}`),
      code: 'KAFKA_DENIED',
    },
  ]
}
