import { KafkaBackupError } from '../errors.ts'
import { partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { runPool } from '../lib/pool.ts'
import type { OffsetsPort, TopicFacts } from './offsets-port.ts'
import type { OriginPosition } from './origin.ts'
import { type DesiredOffsets, perGroup, withoutOffset } from './origin-offsets.ts'
import { type DesiredOffset, NO_BOUNDS } from './plan-reset.ts'
import type { HeaderRequest } from './reset-request.ts'
import { noHeaders, scanHeaders } from './scan-headers.ts'
import type { PositionSelection } from './select-groups.ts'

const PARTITIONS_AT_ONCE = 4

/** Through the headers that a restore gave to records. Each partition is searched once, for all groups. */
export async function desiredByHeaders(
  request: HeaderRequest & { selection: PositionSelection },
  groups: readonly string[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<DesiredOffsets> {
  const { origin, selection, topicMapping, sinceMs } = request
  const positions = perGroup(groups, origin, selection, own => own)
  const targetOf = (topic: string) => topicMapping.get(topic) ?? topic
  const targets = new Set(
    [...positions.values()].flatMap(own => (Array.isArray(own) ? own.map(one => targetOf(one.topic)) : [])),
  )
  const topics = await port.describeTopics([...targets], signal)
  const places = [...topics].flatMap(([topic, { partitions: count }]) =>
    [...Array(count).keys()].map(partition => ({ topic, partition })),
  )
  const wantedOn = (topic: string) => wantedAt(positions, one => targetOf(one.topic) === topic)
  const { desiredOffsets, sources, restored } = await scanPlaces(places, wantedOn, { port, sinceMs }, signal)
  return new Map(
    [...positions].map(([group, own]): [string, DesiredOffset[] | KafkaBackupError] => {
      if (!Array.isArray(own)) return [group, own]
      const found = desiredOffsets.get(group) ?? []
      const names = own.map(({ topic }) => targetOf(topic))
      if (found.length === 0 && names.every(name => topics.has(name))) return [group, nothingFound(group)]
      const rows = [...found, ...notFound(own, found, { targetOf, topics, sources })]
      return [group, selection.partitions.length > 0 ? rows : [...rows, ...withoutOffset(names, restored, rows)]]
    }),
  )
}

interface ScannedPlaces {
  /** By group. */
  desiredOffsets: ReadonlyMap<string, DesiredOffset[]>
  /** Partitions of the source whose records were found. */
  sources: ReadonlySet<string>
  /** Partitions with records of a restore. */
  restored: readonly TopicPartition[]
}

async function scanPlaces(
  places: readonly TopicPartition[],
  wantedOn: (topic: string) => ReturnType<typeof wantedAt>,
  { port, sinceMs }: { port: OffsetsPort; sinceMs: bigint | undefined },
  signal: AbortSignal,
): Promise<ScannedPlaces> {
  const bounds = await port.readBounds(places, signal)
  const desiredOffsets = new Map<string, DesiredOffset[]>()
  const add = (group: string, one: DesiredOffset) =>
    desiredOffsets.set(group, [...(desiredOffsets.get(group) ?? []), one])
  const sources = new Set<string>()
  const restored: TopicPartition[] = []
  const bare: TopicPartition[] = []
  const hidden: TopicPartition[] = []
  await runPool(places, PARTITIONS_AT_ONCE, async place => {
    const range = bounds.get(partitionKey(place))
    const wanted = wantedOn(place.topic)
    if (wanted.size === 0) return
    if (!range) {
      for (const group of wanted.keys()) add(group, { ...place, to: { problem: NO_BOUNDS } })
      return
    }
    const scanned = await scanHeaders(place, wanted, { port, bounds: range, sinceMs }, signal)
    for (const source of scanned.sources) sources.add(source)
    if (scanned.sources.size > 0) restored.push(place)
    if (scanned.isBare) bare.push(place)
    if (scanned.isHidden) hidden.push(place)
    for (const [group, to] of scanned.found) add(group, { ...place, to })
  })
  const withoutAny = bare.find(({ topic }) => ![...restored, ...hidden].some(one => one.topic === topic))
  if (withoutAny) throw withoutHeaders(withoutAny)
  return { desiredOffsets, sources, restored }
}

/** By group, what it has read of the topics that are meant. */
function wantedAt(
  positions: ReadonlyMap<string, OriginPosition[] | KafkaBackupError>,
  isMeant: (one: OriginPosition) => boolean,
): Map<string, Map<string, bigint>> {
  const wanted = new Map<string, Map<string, bigint>>()
  for (const [group, own] of positions) {
    const meant = Array.isArray(own) ? own.filter(isMeant) : []
    if (meant.length > 0) wanted.set(group, new Map(meant.map(one => [partitionKey(one), one.offset])))
  }
  return wanted
}

interface Searched {
  targetOf: (topic: string) => string
  topics: ReadonlyMap<string, TopicFacts>
  /** Partitions of the source whose records were found. */
  sources: ReadonlySet<string>
}

/** Positions of which nothing was found; where its namesake has a row, that says enough. */
function notFound(
  positions: readonly OriginPosition[],
  found: readonly DesiredOffset[],
  { targetOf, topics, sources }: Searched,
): DesiredOffset[] {
  const rows = new Set(found.map(partitionKey))
  return positions.flatMap((one): DesiredOffset[] => {
    const place = { topic: targetOf(one.topic), partition: one.partition }
    if (sources.has(partitionKey(one)) || rows.has(partitionKey(place))) return []
    const isThere = topics.has(place.topic)
    const problem = isThere
      ? `no record shows by its headers that it is from ${partitionKey(one)}`
      : 'the topic does not exist on this cluster'
    return [{ ...place, to: { problem } }]
  })
}

function nothingFound(group: string): KafkaBackupError {
  const message = `no record shows by its headers that it is from a partition on which group ${group} has a committed offset`
  return new KafkaBackupError('OFFSETS_REFUSED', message)
}

/** Where another partition of the topic has headers, only other producers have written to this one. */
function withoutHeaders(place: TopicPartition): KafkaBackupError {
  return new KafkaBackupError('OFFSETS_REFUSED', noHeaders(place), {
    help: 'The strategy header_based needs a restore with `restore.offset_headers: true`; use from_mapping otherwise.',
  })
}
