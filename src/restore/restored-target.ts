import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds, type PartitionBounds } from '../kafka/offsets.ts'
import { readTopicConfigs } from '../kafka/topic-configs.ts'
import type { LocatedRestore } from './locate-restore.ts'
import { readProgress } from './progress.ts'

/** What a comparison needs to know of the target beforehand. */
export interface RestoredTarget {
  bounds: ReadonlyMap<string, PartitionBounds>
  compacted: ReadonlySet<string>
  /** Where only the batches of one producer count. */
  producerId?: bigint
  warnings: string[]
}

export async function examineRestored(
  { options, plan, restoreId, topics }: LocatedRestore,
  { cluster, ends }: { cluster: Cluster; ends?: ReadonlyMap<string, bigint> },
  signal: AbortSignal,
): Promise<RestoredTarget> {
  const streams = plan.topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }) => ({ topic: name, partition })),
  )
  const there = streams.filter(({ topic, partition }) => topics.get(topic)?.partitions.has(partition))
  const warnings = [
    ...plan.warnings,
    ...plan.topics
      .filter(({ name }) => !topics.has(name))
      .map(({ name }) => `${name}: it does not exist on the target`),
  ]
  const bounds = clip(await fetchBounds(cluster, there, signal), ends)
  for (const [key, { lastStable, highWatermark }] of bounds) {
    if (lastStable < highWatermark)
      warnings.push(`${key}: a transaction is open; nothing from offset ${lastStable} on was compared`)
  }
  const configs = await readTopicConfigs(cluster, [...topics.keys()], signal)
  const compacted = [...configs].filter(([, settings]) => settings.get('cleanup.policy')?.value?.includes('compact'))
  const known = { bounds, compacted: new Set(compacted.map(([name]) => name)), warnings }
  if (options.existingTopics !== 'append') return known
  const progress = await readProgress(cluster, restoreId, signal)
  if (progress) return { ...known, producerId: progress.identity.producerId }
  throw new KafkaBackupError('RESTORE_REFUSED', `the target knows nothing of the restore ${restoreId}`, {
    help: 'Run the restore first. Its progress on the target distinguishes what it appended from other records.',
  })
}

/** The bounds with nothing behind these ends. */
function clip(
  bounds: ReadonlyMap<string, PartitionBounds>,
  ends: ReadonlyMap<string, bigint> = new Map(),
): Map<string, PartitionBounds> {
  return new Map(
    [...bounds].map(([key, one]) => {
      const end = ends.get(key) ?? one.highWatermark
      const clipped = { highWatermark: least(one.highWatermark, end), lastStable: least(one.lastStable, end) }
      return [key, { ...one, ...clipped }]
    }),
  )
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
