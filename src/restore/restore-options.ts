import { DEFAULT_CONTEXT, type LeftOutVersion } from '../archive/registry-model.ts'
import type { TimeWindow } from '../batch/needs.ts'
import { compileGlob, compileGlobs } from '../lib/glob.ts'
import type { IdMap } from '../registry/ids/id-map.ts'
import type { KnownSchemas } from '../registry/ids/known-schemas.ts'
import type { Part } from '../registry/ids/schema-id.ts'
import { isRegistryStoreName } from '../registry/own-topic.ts'
import type { RecordFilter } from './record-filter.ts'

/** What a restore is asked to do. The job file is turned into this. */
export interface RestoreOptions {
  backupId: string
  /** The newest where neither is given. */
  generation?: number
  /** The newest complete generation that was committed by then, in milliseconds since 1970. */
  asOfMs?: bigint
  topics: { include: readonly string[]; exclude: readonly string[] }
  /** Source topic to target topic; others keep their name. */
  topicMapping: ReadonlyMap<string, string>
  /** Of these topics only these partitions. */
  partitions: ReadonlyMap<string, readonly number[]>
  /** By `topic/partition`: offsets in [start, end). */
  offsetRanges: ReadonlyMap<string, { start?: bigint; end?: bigint }>
  timeWindow: TimeWindow
  /** Only records that it selects. */
  filter?: RecordFilter
  /** By topic: how many partitions it has on the target, where that differs from the source. */
  partitionCount: ReadonlyMap<string, number>
  /** By topic: source partition to target partition. */
  partitionMapping: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** `by_key` puts each record where a producer of Kafka puts its key. */
  repartition: 'keep' | 'by_key'
  createTopics: boolean
  /** The source's where it is not given. */
  replicationFactor?: number
  topicConfig: ReadonlyMap<string, string>
  existingTopics: 'fail' | 'append'
  retention: 'fail' | 'hold' | 'apply'
  offsetHeaders: boolean
  /** Puts the schema ids of the target's registry into the records; without it they stay as they are. */
  rewrite?: RewriteOptions
  /** Schemas are registered through the API of the target's registry before any record is written. */
  restoresSchemas?: boolean
  /** Reads the target back when all is written, before the settings that were held back. */
  verify: boolean
  restoreId?: string
  /** Names or patterns of topics that are filled first, in this order. */
  order?: readonly string[]
  commitIntervalMs: number
  batchBytes: number
  bytesPerSecond?: number
  memoryBudgetBytes: number
  connectionsPerBroker: number
}

/** How schema ids are rewritten. Topics are named as at the source. */
export interface RewriteOptions {
  /** False where records keep their ids, and are only looked at for unknown ones. */
  writes: boolean
  /** Records that are looked at where none has to be rewritten. */
  checkIds: 'sample' | 'all'
  idMap: IdMap
  /** Of the backup: they tell which topic an id belongs to. */
  schemas: KnownSchemas
  unknownIds: 'fail' | 'pass'
  /** By key in the map of ids: why the target does not have a schema of the backup. */
  reasons: ReadonlyMap<string, string>
  /** Versions that the source had and neither the backup nor the target has. */
  leftOut?: readonly LeftOutVersion[]
  /** Patterns. A topic that is included by its full name is rewritten also where its records do not tell that it should. */
  topics: { include: readonly string[]; exclude: readonly string[] }
  parts: readonly Part[]
  /** By topic, where it is not `parts`; then, too, the records are not asked. */
  topicParts: ReadonlyMap<string, readonly Part[]>
  /** By topic, or pattern of topics: the context that its ids belong to; the default one for others. */
  topicContexts: ReadonlyMap<string, string>
}

/** Whether a part of a topic is rewritten: `ask` leaves it to its records. */
type RewriteMode = 'always' | 'never' | 'ask'

/** Pure. What the job says of a part. */
export function modeFor(
  { topics, parts, topicParts }: RewriteOptions,
  topic: { name: string; internal: boolean },
  part: Part,
): RewriteMode {
  const { name, internal } = topic
  if (internal || isRegistryStoreName(name) || compileGlobs(topics.exclude)(name)) return 'never'
  if (!compileGlobs(topics.include)(name)) return 'never'
  const own = topicParts.get(name)
  if (own) return own.includes(part) ? 'always' : 'never'
  if (!parts.includes(part)) return 'never'
  return topics.include.includes(name) ? 'always' : 'ask'
}

/** Pure. A full name counts more than a pattern, and of patterns the first. */
export function contextOf({ topicContexts }: RewriteOptions, topic: string): string {
  const exact = topicContexts.get(topic)
  if (exact !== undefined) return exact
  for (const [pattern, context] of topicContexts) if (compileGlob(pattern)(topic)) return context
  return DEFAULT_CONTEXT
}

/**
 * Pure. What decides which records are changed. Not the handling of unknown IDs: a restore that fails at one may continue and let
 * it pass. Nor the ids themselves, which a dry run does not know yet.
 */
export function describeRewrite({ topics, parts, topicParts, topicContexts }: RewriteOptions): object {
  // Of patterns the first counts, so that their order does, too.
  return { topics, parts: parts.toSorted(), topicParts, topicContexts: [...topicContexts] }
}

interface OrderedTopic {
  label: string
  source: { name: string }
}

/** Pure. The place of a topic among those that are filled first: 0 for the first name or pattern, all others last. */
export function rankTopics(order: readonly string[] = []): (topic: OrderedTopic) => number {
  const matches = order.map(compileGlob)
  return ({ label, source }) => {
    const place = matches.findIndex(isMatch => isMatch(source.name) || isMatch(label))
    return place < 0 ? order.length : place
  }
}

/** Pure. A name that matches nothing is a mistake: the topic that was meant would come last. */
export function orderWarnings(topics: readonly OrderedTopic[], order: readonly string[] = []): string[] {
  return order
    .filter(pattern => !topics.some(topic => rankTopics([pattern])(topic) === 0))
    .map(pattern => `restore.order: ${pattern} matches no topic of this restore`)
}
