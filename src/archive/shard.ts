import * as z from 'zod'
import type { Storage } from '../storage/storage.ts'
import { assertSegmentKeys } from './assert-keys.ts'
import { damaged } from './damage.ts'
import { incarnationKey } from './incarnation.ts'
import { shardKey, shardsPrefix } from './layout.ts'
import {
  clusterSchema,
  FORMAT_VERSION,
  parseSealed,
  type Segment,
  segmentSchema,
  selectionSchema,
  topicSchema,
} from './manifest.ts'
import { refuseRepeatedIncarnations } from './refuse-repeats.ts'
import { count, hash } from './scalars.ts'
import { sealJson } from './seal.ts'

/** The command line takes six digits. A commit names every missing shard, so a document must not choose the number. */
const MAX_SHARDS = 999_999

/** What one of several processes has done for the next generation. It counts when a commit has gathered it. */
export const shardSchema = z.strictObject({
  format: z.literal('kafka-backup-shard'),
  format_version: z.literal(FORMAT_VERSION),
  tool_version: z.string(),
  backup_id: z.string(),
  /** The generation that it is to be a part of. */
  generation: z.int().positive(),
  shard: count,
  shards: z.int().positive().max(MAX_SHARDS),
  run: z.string(),
  complete: z.boolean(),
  created_at: z.string(),
  cluster: clusterSchema,
  selection: selectionSchema,
  /** The topics it saw, each with the partitions that are its own. */
  topics: z.array(topicSchema),
  /** By `topic id/partition`: the segments beyond those of the generation before, in the order of their offsets. */
  segments: z.record(z.string(), z.array(segmentSchema)),
  warnings: z.array(z.string()),
  checksum: hash,
})

export type Shard = Omit<z.output<typeof shardSchema>, 'checksum'>

interface ShardPlace {
  backupId: string
  generation: number
  /** Only of this shard; of all where it is not given. */
  only?: { index: number; count: number }
}

/** `attempt` keeps the documents of one run apart. */
export async function writeShard(
  storage: Storage,
  shard: Shard,
  attempt: number,
  signal: AbortSignal,
): Promise<string> {
  const key = shardKey(shard, `${shard.run}-${attempt}`)
  await storage.create(key, sealJson(shard), signal)
  return key
}

/**
 * What each run has written last towards a generation; that holds all it wrote before, which a long run has written a
 * thousand times. What cannot be read is damage, and is named.
 */
export async function readShards(storage: Storage, place: ShardPlace, signal: AbortSignal): Promise<Shard[]> {
  const folder = shardsPrefix(place.backupId, place.generation)
  const prefix = place.only ? `${folder}shard-${place.only.index}-of-${place.only.count}.` : folder
  const keys: string[] = []
  for await (const { key } of storage.list(folder, signal)) if (key.startsWith(prefix)) keys.push(key)
  const shards: Shard[] = []
  for (const key of lastAttempts(keys).sort()) shards.push(await readShard(storage, key, place, signal))
  return shards
}

function lastAttempts(keys: readonly string[]): string[] {
  const attemptOf = (key: string) => Number(/-(\d+)\.json$/.exec(key)?.[1] ?? 0)
  const byRun = Map.groupBy(keys, key => key.replace(/-\d+\.json$/, ''))
  return [...byRun.values()].map(some => some.reduce((last, key) => (attemptOf(key) > attemptOf(last) ? key : last)))
}

async function readShard(storage: Storage, key: string, place: ShardPlace, signal: AbortSignal): Promise<Shard> {
  const bytes = await storage.read(key, signal)
  const { checksum: _, ...shard } = parseSealed(shardSchema, bytes, key)
  if (shard.backup_id === place.backupId && shard.generation === place.generation) {
    refuseRepeatedIncarnations(shard.topics, key)
    assertOwnSegments(shard, key)
    return shard
  }
  throw damaged(key, `belongs to generation ${shard.generation} of backup \`${shard.backup_id}\``)
}

function assertOwnSegments({ backup_id: backupId, topics, segments }: Shard, at: string): void {
  const names = new Map(topics.map(topic => [incarnationKey(topic), topic.name]))
  for (const [owner, some] of Object.entries(segments)) {
    const [, topicKey = '', partition] = /^(?:reread\/)?(.*)\/(\d+)$/.exec(owner) ?? []
    const topic = names.get(topicKey)
    if (topic === undefined) {
      throw damaged(at, `is damaged: it has segments of ${JSON.stringify(owner)}, which is none of its topics`)
    }
    assertSegmentKeys(some, { backupId, topic, partition: Number(partition) }, at)
  }
}

/** Pure. Of several documents of one shard the one that has got furthest; a complete one before any other, the newest of equals. */
export function furthest(shards: readonly Shard[]): Shard | undefined {
  return shards.toSorted(
    (a, b) =>
      Number(b.complete) - Number(a.complete) ||
      compare(reach(b), reach(a)) ||
      Date.parse(b.created_at) - Date.parse(a.created_at),
  )[0]
}

function reach({ topics }: Shard): bigint {
  return topics.flatMap(topic => topic.partitions).reduce((sum, { end_offset }) => sum + end_offset, 0n)
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Segments that the shards made, by `topic id/partition`. */
export function segmentsOf(shards: readonly Shard[]): Map<string, readonly Segment[]> {
  return new Map(shards.flatMap(({ segments }) => Object.entries(segments)))
}
