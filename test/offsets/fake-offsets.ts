import { KafkaBackupError } from '../../src/errors.ts'
import type { GroupOffset } from '../../src/kafka/group-offsets.ts'
import type { TypedGroup } from '../../src/kafka/group-progress.ts'
import type { GroupState } from '../../src/kafka/groups.ts'
import { partitionKey, type TopicPartition } from '../../src/kafka/offsets.ts'
import type { HeadedRecord, OffsetsPort, TopicFacts } from '../../src/offsets/offsets-port.ts'
import { SnapshotBook } from '../../src/offsets/snapshot-book.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

export interface FakeRecord extends HeadedRecord {
  timestamp: bigint
}

export interface FakeGroup {
  /** Classic where it is not given. */
  type?: 'share'
  members: number
  positions: Map<string, GroupOffset>
  /** Partitions with a newer offset in an open transaction. */
  undecided?: TopicPartition[]
  /** What reading it answers with. */
  unreadable?: KafkaBackupError
}

export interface FakeOffsets extends OffsetsPort {
  clusterName: string
  groups: Map<string, FakeGroup>
  /** Logs of each topic, by partition; offsets from 0 on, or from that of the first record. */
  topics: Map<string, FakeRecord[][]>
  /** One without an ID is of a cluster that gives topics none. */
  topicIds: Map<string, string>
  calls: string[]
  /** Called before a change is made; what it throws is the answer of the broker. */
  onChange: (group: string) => void
  put(group: string, positions: Record<string, number>, changes?: Partial<FakeGroup>): void
  /** Where a group stands, by `topic/partition`. */
  at(group: string): Record<string, number>
}

/** A cluster in memory, as far as positions of groups go. */
export function fakeOffsets(topics: Record<string, FakeRecord[][]>): FakeOffsets {
  const log = (place: { topic: string; partition: number }) => fake.topics.get(place.topic)?.[place.partition] ?? []
  const endOf = (records: readonly FakeRecord[]) => (records.at(-1)?.offset ?? -1n) + 1n
  const change = ({ group, type }: TypedGroup) => {
    fake.onChange(group)
    const created: FakeGroup = { members: 0, positions: new Map(), ...(type === 'share' && { type }) }
    const found = fake.groups.get(group) ?? created
    const isOfType = (type === 'share') === (found.type === 'share')
    if (!isOfType) throw new KafkaBackupError('KAFKA_REFUSED', `group ${group} is of another type than ${type}`)
    if (found.members > 0) throw new KafkaBackupError('GROUP_ACTIVE', `group ${group} has members`)
    fake.groups.set(group, found)
    return found
  }
  const fake: FakeOffsets = {
    clusterName: 'cluster-a',
    groups: new Map(),
    topics: new Map(Object.entries(topics)),
    topicIds: new Map(Object.keys(topics).map(name => [name, `1-${name}`])),
    calls: [],
    onChange: () => undefined,
    put: (group, positions, changes = {}) => {
      const entries = Object.entries(positions).map(([key, offset]) => [key, toOffset(key, offset)] as const)
      fake.groups.set(group, { members: 0, positions: new Map(entries), ...changes })
    },
    at: group =>
      Object.fromEntries(
        [...(fake.groups.get(group)?.positions ?? [])].map(([key, { offset }]) => [key, Number(offset)]),
      ),
    clusterId: async () => fake.clusterName,
    listGroups: async () =>
      [...fake.groups].map(([group, { type = 'classic' as const }]) => ({
        ...{ group, type, typeName: type, state: 'Empty', protocolType: 'consumer' },
      })),
    maySeeAllGroups: async () => true,
    describeGroups: async groups =>
      new Map(
        groups.map((group): [string, GroupState] => {
          const found = fake.groups.get(group)
          if (!found) return [group, { type: 'absent', state: 'Dead', members: 0 }]
          const { members, type = 'classic' } = found
          return [group, { type, state: members > 0 ? 'Stable' : 'Empty', members }]
        }),
      ),
    readPositions: async groups => {
      fake.calls.push(`read ${groups.length}`)
      return new Map(
        groups.map(({ group }) => {
          const found = fake.groups.get(group)
          const offsets = [...(found?.positions.values() ?? [])].map(one => ({ ...one }))
          return [group, found?.unreadable ?? { offsets, undecided: [...(found?.undecided ?? [])] }]
        }),
      )
    },
    describeTopics: async names =>
      new Map(
        names.flatMap((name): [string, TopicFacts][] => {
          const [logs, id] = [fake.topics.get(name), fake.topicIds.get(name)]
          return logs ? [[name, { partitions: logs.length, ...(id !== undefined && { id }) }]] : []
        }),
      ),
    readBounds: async places =>
      new Map(
        places.map(place => {
          const records = log(place)
          const end = endOf(records)
          return [partitionKey(place), { logStart: records[0]?.offset ?? 0n, lastStable: end, highWatermark: end }]
        }),
      ),
    findByTime: async (places, time) =>
      new Map(places.map(p => [partitionKey(p), log(p).find(({ timestamp }) => timestamp >= time)?.offset ?? -1n])),
    readRecords: async function* (place, { from, to }) {
      const wanted = log(place).filter(({ offset }) => offset >= from && offset < to)
      for (let i = 0; i < wanted.length; i += 2) {
        fake.calls.push(`fetch ${partitionKey(place)}`)
        yield wanted.slice(i, i + 2)
      }
    },
    commit: async (group, positions) => {
      const found = change(group)
      for (const one of positions) found.positions.set(partitionKey(one), one)
      fake.calls.push(`commit ${group.group}`)
    },
    remove: async (group, places) => {
      const found = change(group)
      for (const place of places) found.positions.delete(partitionKey(place))
      fake.calls.push(`remove ${group.group}`)
    },
  }
  return fake
}

function toOffset(key: string, offset: number): GroupOffset {
  const at = key.lastIndexOf('/')
  const place = { topic: key.slice(0, at), partition: Number(key.slice(at + 1)) }
  return { ...place, offset: BigInt(offset), leaderEpoch: 4, metadata: 'mine' }
}

/** So many records, a second apart. */
export function plainLog(count: number, first = 0): FakeRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    offset: BigInt(first + i),
    timestamp: BigInt(1000 * i),
    headers: [],
  }))
}

/** Records that a restore wrote, from these places of the source. */
export function restoredLog(origins: readonly [topic: string, partition: number, offset: number][]): FakeRecord[] {
  return origins.map(([topic, partition, offset], i) => ({
    offset: BigInt(i),
    timestamp: BigInt(1000 * offset),
    headers: [
      ['x-original-topic', Buffer.from(topic)],
      ['x-original-partition', Buffer.from(String(partition))],
      ['x-original-offset', Buffer.from(String(offset))],
    ],
  }))
}

export function memoryBook() {
  const storage = openMemoryStorage()
  let run = 0
  const newRun = () => `run${String(++run).padStart(4, '0')}`
  return { storage, book: new SnapshotBook({ storage, clock: new JumpingClock(), newRun, toolVersion: '0' }) }
}
