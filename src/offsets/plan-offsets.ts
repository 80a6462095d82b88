import { KafkaBackupError } from '../errors.ts'
import { isPattern } from '../lib/glob.ts'
import { readFacts } from './cluster-facts.ts'
import { desiredOf } from './desired-offsets.ts'
import { readGroups } from './group-now.ts'
import { planForType } from './group-type.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { assertOriginIsHere } from './origin.ts'
import { type DesiredOffset, type OffsetsPlan, planGroup } from './plan-reset.ts'
import type { ResetRequest } from './reset-request.ts'
import { isOwnGroup, selectGroups } from './select-groups.ts'
import { topicIdsOf } from './topic-ids.ts'

/** Looks at the cluster, changes nothing, and tells what a reset would set. */
export async function planOffsets(request: ResetRequest, port: OffsetsPort, signal: AbortSignal): Promise<OffsetsPlan> {
  const clusterId = await port.clusterId(signal)
  if (request.strategy === 'from_backup') assertOriginIsHere(request.origin, clusterId)
  const names = selectGroups(request.selection.groups, await knownGroups(request, port, signal))
  refuseOwn(names)
  const groups = await readGroups(port, names, signal)
  const desiredOffsets = await desiredOf(request, groups, port, signal)
  const places = [...desiredOffsets.values()].flatMap(own => (Array.isArray(own) ? own : []))
  const held = groups.flatMap(({ positions }) => positions)
  const facts = await readFacts(port, places.filter(mayBeSet), signal, [...places, ...held])
  return {
    clusterId,
    topicIds: topicIdsOf(facts.topics),
    strategy: request.strategy,
    groups: groups.map(now => {
      const own = desiredOffsets.get(now.group) ?? []
      if (!Array.isArray(own)) return { now, positions: [], error: now.error ?? own }
      return planForType(planGroup(now, own, facts), originTypeOf(request, now.group))
    }),
  }
}

/** The bounds of other partitions do not matter: one without a leader must not fail the reset of the others. */
function mayBeSet({ to }: DesiredOffset): boolean {
  return to !== 'none' && typeof to !== 'object'
}

function originTypeOf(request: ResetRequest, group: string): { type: string | undefined; name: string } | undefined {
  const origin = 'origin' in request ? request.origin : undefined
  return origin && { type: origin.groups.find(one => one.group === group)?.type, name: origin.name }
}

/** A restore without its progress offsets starts again, and writes its records twice. */
function refuseOwn(names: readonly string[]): void {
  const own = names.find(isOwnGroup)
  if (own === undefined) return
  const message = `${own} is not a consumer group: kafka-backup records the progress of a restore in it`
  throw new KafkaBackupError('OFFSETS_REFUSED', message)
}

/** What patterns pick among. */
async function knownGroups(request: ResetRequest, port: OffsetsPort, signal: AbortSignal): Promise<string[]> {
  if (!request.selection.groups.some(isPattern)) return []
  const mapping = request.strategy === 'from_mapping' ? request.mapping : undefined
  const named = mapping && 'positions' in mapping ? mapping.positions.map(({ group }) => group) : []
  const written = named.filter(group => group !== undefined)
  if (named.length > 0 && written.length === named.length) return written
  if ('origin' in request && request.origin) return request.origin.groups.map(({ group }) => group)
  const listed = (await port.listGroups(signal)).filter(({ type }) => type !== 'other').map(({ group }) => group)
  return [...written, ...listed]
}
