import { KafkaBackupError } from '../errors.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { isPattern } from '../lib/glob.ts'
import { type GroupNow, readGroups } from './group-now.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { assertOriginIsHere } from './origin.ts'
import { type Wishes, wishAsThen, wishByHeaders, wishByMapping } from './origin-wishes.ts'
import { wishPlainly } from './plain-wishes.ts'
import { type ClusterFacts, findMissing, type OffsetsPlan, planGroup } from './plan-reset.ts'
import { planGroupRollback } from './plan-rollback.ts'
import type { ResetRequest } from './request.ts'
import { selectGroups } from './select-groups.ts'
import { assertSameCluster, type OffsetSnapshot } from './snapshot.ts'

/** Looks at the cluster, changes nothing, and tells what a reset would set. */
export async function planOffsets(request: ResetRequest, port: OffsetsPort, signal: AbortSignal): Promise<OffsetsPlan> {
  const clusterId = await port.clusterId(signal)
  if (request.strategy === 'from_backup') assertOriginIsHere(request.origin, clusterId)
  const names = selectGroups(request.selection.groups, await knownGroups(request, port, signal))
  const groups = await readGroups(port, names, signal)
  const wishes = await wishesOf(request, groups, port, signal)
  const places = [...wishes.values()].flatMap(own => (Array.isArray(own) ? own : []))
  const facts = await readFacts(port, places, signal)
  return {
    clusterId,
    strategy: request.strategy,
    groups: groups.map(now => {
      const own = wishes.get(now.group) ?? []
      return Array.isArray(own) ? planGroup(now, own, facts) : { now, positions: [], error: now.error ?? own }
    }),
  }
}

/** The same for the way back to a snapshot; of some of its groups, where they are named. */
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
  const facts = await readFacts(
    port,
    snapshot.groups.flatMap(({ positions }) => positions),
    signal,
  )
  return {
    clusterId,
    strategy: 'rollback',
    groups: groups.map(now => {
      const then = known.get(now.group)
      if (then && then.error === undefined) return planGroupRollback(now, then, facts)
      const why = then?.error ?? 'it is not in it'
      const message = `the snapshot ${snapshot.snapshot_id} has no positions of group ${now.group}: ${why}`
      return { now, positions: [], error: new KafkaBackupError('OFFSETS_REFUSED', message) }
    }),
  }
}

/** What patterns pick among. */
async function knownGroups(request: ResetRequest, port: OffsetsPort, signal: AbortSignal): Promise<string[]> {
  if (!request.selection.groups.some(isPattern)) return []
  if ('origin' in request && request.origin) return request.origin.groups.map(({ group }) => group)
  return (await port.listGroups(signal)).filter(({ type }) => type !== 'other').map(({ group }) => group)
}

async function wishesOf(
  request: ResetRequest,
  groups: readonly GroupNow[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<Wishes> {
  const names = groups.map(({ group }) => group)
  switch (request.strategy) {
    case 'from_backup':
      return wishAsThen(request.origin, names, request.selection)
    case 'from_mapping':
      return wishByMapping(request.mapping, request.origin, names, request.selection)
    case 'header_based':
      return wishByHeaders(request, names, port, signal)
    default:
      return wishPlainly(request, groups, port, signal)
  }
}

async function readFacts(
  port: OffsetsPort,
  places: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const partitionCounts = await port.countPartitions([...new Set(places.map(({ topic }) => topic))], signal)
  const unique = new Map(
    places.filter(place => findMissing(place, partitionCounts) === undefined).map(one => [partitionKey(one), one]),
  )
  return { partitionCounts, bounds: await port.readBounds([...unique.values()], signal) }
}
