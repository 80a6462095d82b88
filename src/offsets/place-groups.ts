import type { StoredPosition } from '../archive/groups-section.ts'
import { KafkaBackupError } from '../errors.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { runPool } from '../lib/pool.ts'
import type { CarriedGroup, CarriedStream } from './carry-plan.ts'
import type { CarriedHow, CarriedPosition } from './carry-report.ts'

/** Where the records of the source are in one partition of the target. */
interface StreamRuns {
  topic: string
  targetTopic: string
  targetPartition: number
  /** Behind the last record that was restored. */
  end: bigint
  /** Nothing is read before it is walked. */
  runs: AsyncIterable<MapRun>
}

/** Opens the parts for which `isWanted` says so; the others cost nothing. */
export type OpenMaps = (
  isWanted: (place: { targetTopic: string; targetPartition: number }) => boolean,
) => AsyncIterable<StreamRuns>

/** Each reads one log of the target and a part of the archive. */
const MAPS_AT_ONCE = 4

export interface Placed {
  commit: GroupOffset
  position: CarriedPosition
}

/** By group of the source. */
interface Places {
  placed: Map<string, Placed[]>
  /** Why positions of a group are not among them: the records of a partition could not be determined. */
  lost: Map<string, KafkaBackupError>
}

/** The positions of the groups on the target. Each partition of the target is read once, for all groups. */
export async function placeGroups(groups: readonly CarriedGroup[], openMaps: OpenMaps): Promise<Places> {
  const lost = new Map<string, KafkaBackupError>()
  const placed = new Map<string, Placed[]>(groups.map(({ group }) => [group, []]))
  const byPlace = new Map<string, { stream: CarriedStream; groups: CarriedGroup[] }>()
  for (const one of groups) {
    for (const stream of one.streams) {
      const entry = byPlace.get(placeOf(stream)) ?? { stream, groups: [] }
      entry.groups.push(one)
      byPlace.set(placeOf(stream), entry)
    }
  }
  if (byPlace.size === 0) return { placed, lost }
  const maps: StreamRuns[] = []
  for await (const map of openMaps(place => byPlace.has(placeOf(place)))) maps.push(map)
  await runPool(maps, MAPS_AT_ONCE, async map => {
    const entry = byPlace.get(placeOf(map))
    if (!entry) return
    try {
      for (const [group, place] of await placeIn(map, entry)) placed.get(group)?.push(place)
    } catch (error) {
      if (!(error instanceof KafkaBackupError)) throw error
      for (const { group } of entry.groups) lost.set(group, error)
    }
  })
  return { placed, lost }
}

/** The positions of these groups in one partition of the target. */
async function placeIn(
  { runs, end }: StreamRuns,
  { stream, groups }: { stream: CarriedStream; groups: readonly CarriedGroup[] },
): Promise<[group: string, placed: Placed][]> {
  const wanted = groups.map(one => ({ group: one.group, byPartition: offsetsOf(one, stream) }))
  const found = await translate(runs, { wanted, end, isSingle: stream.partitions.length === 1 })
  return groups.flatMap((one): [string, Placed][] => {
    const place = found.get(one.group)
    return place ? [[one.group, describe(one, stream, place)]] : []
  })
}

function placeOf({ targetTopic, targetPartition }: { targetTopic: string; targetPartition: number }): string {
  return `${targetTopic}/${targetPartition}`
}

function positionsOn({ positions }: CarriedGroup, { topic, partitions }: CarriedStream): StoredPosition[] {
  return positions.filter(one => one.topic === topic && partitions.some(({ partition }) => partition === one.partition))
}

function offsetsOf(group: CarriedGroup, stream: CarriedStream): Map<number, bigint> {
  return new Map(positionsOn(group, stream).map(({ partition, offset }) => [partition, offset]))
}

function describe(group: CarriedGroup, stream: CarriedStream, found: Found): Placed {
  const own = positionsOn(group, stream)
  const [only] = stream.partitions.length === 1 ? own : []
  const { topic, targetTopic, targetPartition } = stream
  return {
    commit: {
      topic: targetTopic,
      partition: targetPartition,
      offset: found.offset,
      // That of the source means nothing to the target, whose consumers would take it for a sign of a lost log.
      leaderEpoch: -1,
      metadata: metadataOn(group, stream),
    },
    position: {
      topic,
      partition: only?.partition ?? null,
      sourceOffset: only?.offset ?? null,
      targetTopic,
      targetPartition,
      targetOffset: found.offset,
      how: only ? howOf(only, stream, found) : 'lowest_unread',
      rereads: found.rereads,
    },
  }
}

/** Pure. What the group commits with its offset: that of the source, where all offsets that become one have the same. */
export function metadataOn(group: CarriedGroup, stream: CarriedStream): string {
  const [first = '', ...others] = new Set(positionsOn(group, stream).map(({ metadata }) => metadata))
  return others.length === 0 ? first : ''
}

function howOf({ offset }: StoredPosition, { partitions: [leg] }: CarriedStream, { record }: Found): CarriedHow {
  if (!record) return leg && offset > leg.sourceEnd ? 'beyond' : 'at_end'
  if (record.offset === offset) return 'exact'
  return leg && offset < leg.start ? 'before_start' : 'next'
}

/** Records that lie side by side at the source and on the target. */
export interface MapRun {
  /** Of the source. */
  partition: number
  sourceOffset: bigint
  targetOffset: bigint
  count: bigint
}

/** The positions of one group on the partitions whose records are in one partition of the target. */
interface Wanted {
  group: string
  byPartition: ReadonlyMap<number, bigint>
}

interface Found {
  offset: bigint
  /** The record of the source that is there; absent behind the last one. */
  record?: { partition: number; offset: bigint }
  /** Records behind the position that the group had read at the source, and reads again. */
  rereads: bigint
}

/**
 * The offset where each group continues in one partition of the target: at the lowest record that it has not read, else at `end`. The
 * records of one partition of the source keep their order, so that nothing is read again; where several have gone into
 * one, what was read and lies behind is. A partition on which the group has no position counts as unread.
 */
export async function translate(
  runs: AsyncIterable<MapRun>,
  { wanted, end, isSingle }: { wanted: readonly Wanted[]; end: bigint; isSingle: boolean },
): Promise<Map<string, Found>> {
  const found = new Map<string, Found>()
  for await (const run of runs) {
    for (const one of wanted) {
      const known = found.get(one.group)
      if (known) known.rereads += countRead(run, one)
      else {
        const first = findUnread(run, one)
        if (first) found.set(one.group, first)
      }
    }
    if (isSingle && found.size === wanted.length) break
  }
  for (const { group } of wanted) if (!found.has(group)) found.set(group, { offset: end, rereads: 0n })
  return found
}

function findUnread(
  { partition, sourceOffset, targetOffset, count }: MapRun,
  { byPartition }: Wanted,
): Found | undefined {
  const position = byPartition.get(partition) ?? 0n
  const first = position > sourceOffset ? position : sourceOffset
  if (first >= sourceOffset + count) return undefined
  return { offset: targetOffset + first - sourceOffset, record: { partition, offset: first }, rereads: 0n }
}

function countRead({ partition, sourceOffset, count }: MapRun, { byPartition }: Wanted): bigint {
  const read = (byPartition.get(partition) ?? 0n) - sourceOffset
  return read <= 0n ? 0n : read < count ? read : count
}
