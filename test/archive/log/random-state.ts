import type { Change, Head, ListChange, ListPart, State, TopicRow } from '../../../src/archive/log/change.ts'
import { diffRows, type ListRow, zeroRow } from '../../../src/archive/log/row-change.ts'
import type { Segment } from '../../../src/archive/manifest.ts'

/** Numbers from a seed, so that a failure can be repeated. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export type Random = ReturnType<typeof randomFrom>

/** A state together with the segments of its lists. */
export interface FullState extends State {
  segments: ReadonlyMap<string, readonly Segment[]>
}

let serial = 0

export function randomSegment(random: Random, list: string): Segment {
  const start = BigInt(random(1_000_000))
  const [id = '', partition = ''] = list.replace('reread/', '').split('/')
  const records = 1 + random(50)
  const size = 60 + random(100_000)
  const hash = (serial++).toString(16).padStart(64, '0')
  const isPiece = random(3) > 0
  const number = random(4)
  const pack = {
    key: `b/packs/0a0b0c0d-${number}.pack`,
    size: 9_000_000 + number,
    blake3: 'ab'.repeat(32),
    stored_at: '2026-11-15T10:13:45.239Z',
  }
  return {
    key: isPiece ? pack.key : `b/kafka/topic-${id}/${partition}/${hash.slice(44)}.0a0b0c0d.log`,
    size,
    blake3: isPiece ? hash.slice(32) : hash,
    compression: random(2) === 0 ? 'none' : 'zstd',
    plain_size: size,
    start_offset: start,
    end_offset: start + BigInt(records),
    batches: 1 + random(records),
    records,
    aborted_records: 0,
    first_timestamp: random(10) === 0 ? null : 1_794_737_611_067n + BigInt(random(1000)),
    last_timestamp: 1_794_737_621_067n + BigInt(random(1000)),
    ...(isPiece && { piece: { position: random(8_000_000), level: random(8), pack } }),
    ...(random(5) === 0 && { stored_at: '2026-11-15T10:13:45.239Z' }),
  }
}

function randomRow(random: Random): ListRow {
  const start = BigInt(random(1000))
  return {
    ...zeroRow,
    start_offset: start,
    end_offset: start + BigInt(random(1000)),
    records: random(1000),
    bytes: random(1_000_000_000),
    last_epoch: random(4) - 1,
    last_timestamp: random(3) === 0 ? null : BigInt(random(10_000)),
    gaps:
      random(3) > 0
        ? []
        : [{ from: 1n, to: random(2) ? null : 7n, reason: 'retention', found_at: '2026-11-15T10:13:45.239Z' }],
    ...(random(3) === 0 && { read_to: BigInt(random(1000)) }),
    ...(random(3) === 0 && {
      converted: { formats: ['v0' as const, 'v1' as const], end_offset: BigInt(random(1000)) },
    }),
    ...(random(3) === 0 && { last_batch: { base_offset: 3n, records: random(4), crc: random(2 ** 32) } }),
  }
}

function randomTopic(random: Random, id: string): TopicRow {
  const state = random(4) === 0 ? 'absent' : 'current'
  return {
    name: `topic-${id}`,
    id,
    state,
    internal: false,
    replication_factor: 1 + random(3),
    configs: { 'retention.ms': String(random(9)) },
  }
}

function randomHead(random: Random): Head {
  return {
    cluster: { id: 'cluster', brokers: random(5) },
    selection: { include: ['*'], exclude: [] },
    warnings: random(2) ? [] : [`warning ${random(9)}`],
    ...(random(2) === 0 && { lineage: 'ab'.repeat(16) }),
  }
}

/** Another state that has much in common with the one before, and the change that leads to it. */
export function randomStep(random: Random, before: FullState): { after: FullState; change: Change } {
  const head = randomHead(random)
  const topics = new Map(before.topics)
  const lists = new Map(before.lists)
  const segments = new Map(before.segments)
  const changes = new Map<string, ListChange | null>()
  const set = new Map<string, TopicRow>()
  const removedTopics = new Set<string>()
  for (let i = 0; i < 6; i++) {
    const id = String(random(5)).repeat(32)
    const key = `${random(6) === 0 ? 'reread/' : ''}${id}/${random(3)}`
    if (changes.has(key) || removedTopics.has(id)) continue
    if (random(8) === 0 && lists.has(key)) {
      lists.delete(key)
      segments.delete(key)
      changes.set(key, null)
      continue
    }
    const topic = randomTopic(random, id)
    topics.set(id, topic)
    set.set(id, topic)
    const isNew = !lists.has(key) || random(6) === 0
    const held = isNew ? [] : (segments.get(key) ?? [])
    const parts = random(4) === 0 && !isNew ? undefined : randomParts(random, held.length, key)
    const after = parts
      ? parts.flatMap(part => (Array.isArray(part) ? held.slice(part[0], part[1]) : [part as Segment]))
      : held
    const row = { ...randomRow(random), segments: after.length }
    const change = diffRows(isNew ? zeroRow : (lists.get(key) ?? zeroRow), row)
    changes.set(key, { isNew, row: change, ...(parts && { parts }) })
    lists.set(key, row)
    segments.set(key, after)
  }
  const gone = [...topics.keys()].find(id => random(9) === 0 && !set.has(id))
  if (gone !== undefined) {
    topics.delete(gone)
    removedTopics.add(gone)
    for (const key of [...lists.keys()].filter(one => one.includes(`${gone}/`))) {
      lists.delete(key)
      segments.delete(key)
      changes.set(key, null)
    }
  }
  const unset = before.head.lineage !== undefined && head.lineage === undefined ? (['lineage'] as const) : []
  return {
    after: { head, topics, lists, segments },
    change: { head, unset, topics: set, removedTopics, lists: changes, passing: new Map() },
  }
}

function randomParts(random: Random, length: number, list: string): ListPart[] {
  const parts: ListPart[] = []
  for (let at = 0; at < length; ) {
    const to = Math.min(length, at + 1 + random(3))
    const kind = random(4)
    if (kind > 0) parts.push([at, to])
    if (kind === 1) parts.push(randomSegment(random, list))
    at = to
  }
  for (let more = random(3); more > 0; more--) parts.push(randomSegment(random, list))
  return parts
}
