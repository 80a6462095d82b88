import type { TimeWindow } from '../batch/needs.ts'
import type { RewriteOptions } from './rewrite-options.ts'

/** What a restore is asked to do. The job file is turned into this. */
export interface RestoreOptions {
  backupId: string
  /** The newest where it is not given. */
  generation?: number
  topics: { include: readonly string[]; exclude: readonly string[] }
  /** Source topic to target topic; others keep their name. */
  topicMapping: ReadonlyMap<string, string>
  /** Of these topics only these partitions. */
  partitions: ReadonlyMap<string, readonly number[]>
  /** By `topic/partition`: offsets in [start, end). */
  offsetRanges: ReadonlyMap<string, { start?: bigint; end?: bigint }>
  timeWindow: TimeWindow
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
  commitIntervalMs: number
  batchBytes: number
  bytesPerSecond?: number
  memoryBudgetBytes: number
  connectionsPerBroker: number
}
