import { formatCount } from '../lib/units.ts'
import type { OsoManifest, OsoTopic } from './oso-manifest.ts'

/** What was counted while an archive was read. */
export interface ImportCounts {
  records: number
  /** Headers that the other program had added to records, and which are removed. */
  addedHeaders: number
  /** Records at offsets that an earlier segment had already. */
  duplicates: number
  /** Offsets without a record that no gap explains, by topic. */
  holes: Map<string, bigint>
  /** Segments that are missing or damaged. */
  damaged: string[]
}

/** Pure. What the archive had lost of the source before the import, and what the import cannot take. */
export function describeLosses(manifest: OsoManifest, counts: ImportCounts): string[] {
  const { topics } = manifest
  return [
    ...describeTransactions(manifest),
    'batches of producers, their compression, producer IDs and sequences, leader epochs and the type of timestamps are not in the archive',
    'names of record headers that are not UTF-8 were changed by the program that wrote the archive',
    ...describeTopics(topics),
    ...topics.flatMap(({ name, partitions }) => {
      const pruned = partitions.flatMap(one => one.pruned ?? [])
      const offsets = pruned.reduce((sum, { start_offset, end_offset }) => sum + end_offset - start_offset + 1n, 0n)
      return offsets > 0n ? [`${name}: retention had removed ${formatCount(offsets)} offsets from the archive`] : []
    }),
    ...[...counts.holes].map(
      ([topic, offsets]) =>
        `${topic}: ${formatCount(offsets)} offsets have no record, and no gap explains them: compaction and transaction markers leave such holes, and so does loss`,
    ),
    ...counts.damaged.map(problem => `not imported: ${problem}`),
    ...(counts.duplicates > 0
      ? [`${formatCount(counts.duplicates)} records were stored more than once, and are imported once`]
      : []),
    ...(counts.addedHeaders > 0
      ? [`${formatCount(counts.addedHeaders)} headers that the other program had added to records are removed`]
      : []),
  ]
}

function describeTransactions({ isolation_level: level }: OsoManifest): string[] {
  if (level === 'read_committed') return []
  const why = level ? `isolation_level ${level}` : 'a version before 0.25'
  return [
    `records of aborted transactions and transaction markers may be among the records, and cannot be distinguished (${why})`,
  ]
}

function describeTopics(topics: readonly OsoTopic[]): string[] {
  const without = (isMissing: (topic: OsoTopic) => boolean) => topics.filter(isMissing).map(({ name }) => name)
  const settings = without(({ configurations }) => Object.keys(configurations ?? {}).length === 0)
  const replicas = without(({ source_replication_factor: factor }) => !factor || factor < 1)
  const counts = without(({ original_partition_count: count }) => !count)
  return [
    ...(settings.length > 0 ? [`no settings of topics are in the archive: ${settings.join(', ')}`] : []),
    ...(replicas.length > 0 ? [`the replication factor is unknown, and 1 is assumed: ${replicas.join(', ')}`] : []),
    ...(counts.length > 0
      ? [
          `the number of partitions is unknown, and the highest partition with records is taken for the last: ${counts.join(', ')}`,
        ]
      : []),
  ]
}
