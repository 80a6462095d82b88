import { incarnationKey, labelOf } from './incarnation.ts'
import type { Gap, Manifest, ManifestPartition, ManifestTopic } from './manifest.ts'
import { emptyPartition } from './summary.ts'

/** The value in the earlier and in the later generation. */
export interface Step<T> {
  from: T
  to: T
}

/**
 * `added`: it is new. `recreated`: it is new, and another incarnation had its name. `replaced`: a newer incarnation has its name
 * now. `absent`: the newest run did not select or find it; its records are kept. `returned`: it was absent. `removed`: nothing of it
 * is kept. `changed`: its records or settings differ.
 */
export type TopicChange = 'added' | 'recreated' | 'replaced' | 'absent' | 'returned' | 'removed' | 'changed'

export interface TopicDiff {
  topic: string
  /** What selects this incarnation in a job file that restores the later generation, or else the earlier one. */
  selector: string
  change: TopicChange
  /** Of all its partitions. */
  records: Step<number>
  bytes: Step<number>
  settings: ({ name: string } & Step<string | null>)[]
  /** Those that differ. */
  partitions: PartitionDiff[]
}

export interface PartitionDiff {
  partition: number
  change: 'added' | 'removed' | 'changed'
  start_offset: Step<bigint>
  end_offset: Step<bigint>
  records: Step<number>
  bytes: Step<number>
  stored_bytes: Step<number>
  /** Gaps that only the later generation has, and those that only the earlier one has. */
  new_gaps: Gap[]
  closed_gaps: Gap[]
}

type Topics = Pick<Manifest, 'topics'>

/** Pure. The topics that differ, in the order of their names. How records are divided into segments does not matter. */
export function diffTopics(from: Topics, to: Topics): TopicDiff[] {
  const before = new Map(from.topics.map(topic => [incarnationKey(topic), topic]))
  const after = new Map(to.topics.map(topic => [incarnationKey(topic), topic]))
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  const names = new Set(from.topics.map(({ name }) => name))
  const diffs = keys.flatMap(key => {
    const [old, now] = [before.get(key), after.get(key)]
    const shown = now ?? old
    if (!shown) return []
    const partitions = diffPartitions(old?.partitions ?? [], now?.partitions ?? [])
    const settings = diffSettings(old, now)
    const change = judge(old, now, names, partitions.length + settings.length > 0)
    if (!change) return []
    const [records, bytes] = [sumOf(old, now, 'records'), sumOf(old, now, 'bytes')]
    const selector = labelOf(shown, now ? to.topics : from.topics)
    return [{ topic: shown.name, selector, change, records, bytes, settings, partitions }]
  })
  return diffs.sort((a, b) => compare(a.topic, b.topic) || compare(a.selector, b.selector))
}

function judge(
  old: ManifestTopic | undefined,
  now: ManifestTopic | undefined,
  namesBefore: ReadonlySet<string>,
  isChanged: boolean,
): TopicChange | undefined {
  if (!now) return 'removed'
  if (!old) return namesBefore.has(now.name) ? 'recreated' : 'added'
  if (old.state !== now.state) return now.state === 'current' ? 'returned' : now.state
  return isChanged ? 'changed' : undefined
}

function diffSettings(old: ManifestTopic | undefined, now: ManifestTopic | undefined): TopicDiff['settings'] {
  if (!old || !now) return []
  const [before, after] = [settingsOf(old), settingsOf(now)]
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap(name => {
    const step = { from: before.get(name) ?? null, to: after.get(name) ?? null }
    return step.from === step.to ? [] : [{ name, ...step }]
  })
}

/** With the number of partitions and replicas, which Kafka does not count as settings. */
function settingsOf({ configs, replication_factor, partition_count, partitions }: ManifestTopic): Map<string, string> {
  return new Map([
    ...Object.entries(configs),
    ['partitions', String(partition_count ?? partitions.length)],
    ['replication factor', String(replication_factor)],
  ])
}

function diffPartitions(old: readonly ManifestPartition[], now: readonly ManifestPartition[]): PartitionDiff[] {
  const before = new Map(old.map(one => [one.partition, one]))
  const after = new Map(now.map(one => [one.partition, one]))
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort((a, b) => a - b)
    .flatMap(partition => {
      const diff = diffPartition(partition, before.get(partition), after.get(partition))
      return isSame(diff) ? [] : [diff]
    })
}

function diffPartition(
  partition: number,
  old: ManifestPartition | undefined,
  now: ManifestPartition | undefined,
): PartitionDiff {
  const from = old ?? emptyPartition(partition, now?.start_offset ?? 0n)
  const to = now ?? emptyPartition(partition, from.start_offset)
  const step = <F extends keyof ManifestPartition>(field: F) => ({ from: from[field], to: to[field] })
  return {
    partition,
    change: !old ? 'added' : !now ? 'removed' : 'changed',
    start_offset: step('start_offset'),
    end_offset: step('end_offset'),
    records: step('records'),
    bytes: step('bytes'),
    stored_bytes: step('stored_bytes'),
    new_gaps: to.gaps.filter(gap => !from.gaps.some(other => isSameGap(gap, other))),
    closed_gaps: from.gaps.filter(gap => !to.gaps.some(other => isSameGap(gap, other))),
  }
}

function isSame({ change, start_offset, end_offset, records, bytes, new_gaps, closed_gaps }: PartitionDiff): boolean {
  const steps: Step<unknown>[] = [start_offset, end_offset, records, bytes]
  return change === 'changed' && new_gaps.length + closed_gaps.length === 0 && steps.every(one => one.from === one.to)
}

function isSameGap(one: Gap, other: Gap): boolean {
  return one.from === other.from && one.to === other.to && one.reason === other.reason
}

function sumOf(old: ManifestTopic | undefined, now: ManifestTopic | undefined, field: 'records' | 'bytes') {
  const sum = (topic?: ManifestTopic) => (topic?.partitions ?? []).reduce((total, one) => total + one[field], 0)
  return { from: sum(old), to: sum(now) }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
