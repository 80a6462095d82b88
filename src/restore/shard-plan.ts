import { KafkaBackupError } from '../errors.ts'
import { expectStream } from './expected.ts'
import { startOf } from './legs.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { MAX_SHARDS, type RestoreProgress, type ShardPin, type StreamProgress, streamKey } from './progress.ts'
import { type RestoreOptions, rankTopics } from './restore-options.ts'

/** One of `count` processes that share the partitions of a restore among themselves. */
export interface RestoreShard {
  /** From 0. */
  index: number
  count: number
}

/** How a restore is shared, by which version of the program, and what of the job shards have to agree on. */
export type Sharing = Omit<ShardPin, 'index'>

/**
 * Pure. By `topic/partition` of the target: the shard that fills it. The largest partition goes first, each to the shard
 * that has the least by then, so that shards take about equally long; topics that come first are shared first.
 */
export function assignShards(
  { topics }: Pick<RestorePlan, 'topics'>,
  sharing: Sharing,
  { timeWindow, order }: Pick<RestoreOptions, 'timeWindow' | 'order'>,
): Map<string, ShardPin> {
  const { count } = sharing
  if (count > MAX_SHARDS)
    throw new KafkaBackupError('USAGE', `a restore has at most ${MAX_SHARDS} shards, not ${count}`)
  const rankOf = rankTopics(order)
  const streams = topics.flatMap(topic =>
    topic.streams.map(stream => {
      const { records, bytes } = expectStream(stream, startOf(stream), timeWindow)
      const key = streamKey({ topic: topic.name, partition: stream.partition })
      return { key, cost: bytes, records, rank: rankOf(topic) }
    }),
  )
  const loads = Array.from({ length: count }, () => ({ cost: 0, records: 0, streams: 0 }))
  const assigned = new Map<string, ShardPin>()
  const isLess = (a: (typeof loads)[number], b: (typeof loads)[number]) =>
    a.cost - b.cost || a.records - b.records || a.streams - b.streams
  streams.sort((a, b) => a.rank - b.rank || b.cost - a.cost || b.records - a.records)
  for (const { key, cost, records } of streams) {
    let index = 0
    for (const [i, load] of loads.entries()) if (isLess(load, loads[index] ?? load) < 0) index = i
    const load = loads[index]
    if (load) loads[index] = { cost: load.cost + cost, records: load.records + records, streams: load.streams + 1 }
    assigned.set(key, { index, ...sharing })
  }
  return assigned
}

/** Pure. The part of a plan that a shard fills. The legs of a topic stay: they decide together what its records are. */
export function planOwn(plan: RestorePlan, progress: RestoreProgress, index: number): RestorePlan {
  const topics = plan.topics.map(topic => ({
    ...topic,
    streams: topic.streams.filter(({ partition }) => {
      const noted = progress.streams.get(streamKey({ topic: topic.name, partition }))
      return noted?.shard?.index === index
    }),
  }))
  return { ...plan, topics: topics.filter(({ streams }) => streams.length > 0) }
}

/**
 * Pure. The topic of a shard with the legs that no other shard has, so that the reports of all shards add up. Where keys decide,
 * every partition reads all legs, and they count for the first one.
 */
export function withOwnLegs(topic: PlannedTopic): PlannedTopic {
  const own = topic.streams.filter(({ keyedAmong, partition }) => keyedAmong === undefined || partition === 0)
  return { ...topic, legs: own.flatMap(({ legs }) => legs) }
}

/** Pure. Whether nothing is left for the shard of the partition to write. */
export function isFilledStream(noted: StreamProgress | undefined): boolean {
  return noted !== undefined && (noted.isFilled || noted.isFilledByShard === true)
}

export function isSamePin(one: ShardPin | undefined, other: ShardPin | undefined): boolean {
  const fields = ['index', 'count', 'version', 'existingTopics'] as const
  return fields.every(field => one?.[field] === other?.[field])
}

/** Pure. Why shards of this count and version cannot begin; undefined where the restore is prepared for them. */
export function findUnprepared(
  plan: Pick<RestorePlan, 'topics'>,
  progress: RestoreProgress | undefined,
  { count, version, existingTopics }: Sharing,
): string | undefined {
  const streams = notesOf(plan, progress)
  if (streams.length === 0) return undefined
  if (!progress) return 'it is not prepared: the target has no record of it'
  if (progress.isMixed) return 'two processes have prepared it at the same time, and their notes differ'
  const without = streams.filter(({ noted }) => noted === undefined).map(({ key }) => key)
  if (without.length > 0) return `it is not prepared for ${listSome(without)}`
  const open = streams.flatMap(({ noted }) => (noted && !noted.isFilled ? [noted] : []))
  for (const { shard } of open) {
    if (!shard) return 'one process has begun it, and it is not prepared for shards'
    if (shard.count !== count) return `it is prepared for ${shard.count} shards, and not for ${count}`
    if (shard.version !== version) return `version ${shard.version} has prepared it, and this is version ${version}`
    const disagreement = findDisagreement(shard, existingTopics)
    if (disagreement !== undefined) return disagreement
  }
  return undefined
}

/** Pure. What the preparation and this step understand differently; notes of earlier versions do not tell. */
function findDisagreement(
  { existingTopics: prepared }: ShardPin,
  existingTopics: Sharing['existingTopics'],
): string | undefined {
  if (prepared === undefined || existingTopics === undefined || prepared === existingTopics) return undefined
  return `it is prepared with restore.existing_topics: ${prepared}, and this job has ${existingTopics}`
}

/** Throws where `findUnprepared` finds something. */
export function refuseUnprepared(
  plan: Pick<RestorePlan, 'topics'>,
  progress: RestoreProgress | undefined,
  sharing: Sharing,
  restoreId: string,
): void {
  const problem = findUnprepared(plan, progress, sharing)
  if (problem !== undefined) throw unprepared(restoreId, problem, sharing.count)
}

export function unprepared(restoreId: string, problem: string, count: number): KafkaBackupError {
  return new KafkaBackupError('RESTORE_REFUSED', `the restore ${restoreId} cannot be shared: ${problem}`, {
    help:
      `Run \`restore --prepare --shards ${count}\` with the same job file first. Another backup, generation, selection or ` +
      'mapping, and another version of kafka-backup, need another preparation.',
  })
}

/** Pure. Throws where records are missing, and names the shards and partitions that have not written them. */
export function refuseMissing(
  plan: Pick<RestorePlan, 'topics'>,
  progress: RestoreProgress | undefined,
  restoreId: string,
  existingTopics?: Sharing['existingTopics'],
): void {
  const streams = notesOf(plan, progress)
  const pins = streams.flatMap(({ noted }) => noted?.shard ?? [])
  if (streams.length > 0 && (!progress || pins.length === 0) && !streams.every(({ noted }) => noted?.isFilled)) {
    const what = progress ? 'one process has begun it' : 'the target has no record of it'
    throw new KafkaBackupError('RESTORE_REFUSED', `the restore ${restoreId} is not prepared for shards: ${what}`, {
      help: 'Run `restore` to restore with one process, or `restore --prepare --shards n` and the shards first.',
    })
  }
  const unfinished = streams.flatMap(({ noted }) => (noted?.shard && !noted.isFilled ? [noted.shard] : []))
  for (const pin of unfinished) {
    const disagreement = findDisagreement(pin, existingTopics)
    if (disagreement !== undefined) throw unprepared(restoreId, disagreement, pin.count)
  }
  const open = streams.filter(({ noted }) => !isFilledStream(noted))
  if (open.length === 0 && !progress?.isMixed) return
  const byShard = Map.groupBy(open, ({ noted }) => (noted?.shard ? `${noted.shard.index} of ${noted.shard.count}` : ''))
  const named = [...byShard]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([shard, some]) => {
      const keys = listSome(some.map(({ key }) => key))
      if (shard === '') return `not prepared: ${keys}`
      const state = some.some(({ noted }) => noted && noted.sequence > 0) ? 'begun, not finished' : 'not begun'
      return `shard ${shard} (${state}: ${keys})`
    })
  const what = progress?.isMixed ? ['its notes are of two preparations'] : []
  throw new KafkaBackupError(
    'SHARDS_INCOMPLETE',
    `records are missing for the restore ${restoreId}: ${[...what, ...named].join('; ')}`,
    {
      help:
        'Nothing was changed. Run `restore --shard i/n` for the shards that are missing, then `restore --finish` again. For ' +
        'partitions that are not prepared, run `restore --prepare --shards n` first.',
    },
  )
}

function notesOf(
  { topics }: Pick<RestorePlan, 'topics'>,
  progress: RestoreProgress | undefined,
): { key: string; noted: StreamProgress | undefined }[] {
  return topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }) => {
      const key = streamKey({ topic: name, partition })
      return { key, noted: progress?.streams.get(key) }
    }),
  )
}

const SHOWN = 5

export function listSome(keys: readonly string[]): string {
  const more = keys.length - SHOWN
  return [...keys.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more partitions`] : [])].join(', ')
}
