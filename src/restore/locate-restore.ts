import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds, type PartitionBounds } from '../kafka/offsets.ts'
import { readTopicConfigs } from '../kafka/topic-configs.ts'
import type { Storage } from '../storage/storage.ts'
import { type FoundRestore, planWithIds } from './find-restore.ts'
import type { RestorePlan } from './plan.ts'
import { planRewrites } from './plan-rewrites.ts'
import { readProgress } from './progress.ts'
import { refuseBlocked } from './refusal.ts'
import type { RestoreOptions } from './restore-options.ts'
import type { RecordsSurvey } from './survey-records.ts'

/** What a restore puts where, and what of it the target has. */
export interface LocatedRestore {
  options: RestoreOptions
  plan: RestorePlan
  restoreId: string
  /** By name: the topics of the plan that the target has. */
  topics: ReadonlyMap<string, { id: string; partitions: ReadonlySet<number> }>
  /** Of the partitions whose indexes are read already. */
  segments: RecordsSurvey['segments']
}

interface LocateParts {
  cluster: Cluster
  storage: Storage
}

/** Reads the backup, and changes nothing. */
export async function locateFound(
  found: FoundRestore,
  options: RestoreOptions,
  { cluster, storage }: LocateParts,
  signal: AbortSignal,
): Promise<LocatedRestore> {
  const { restoreId, target } = found
  const plan = planWithIds(found, options)
  const { rewrites, findings } = await planRewrites(
    { ...options, selection: plan.filter },
    plan.topics,
    { storage },
    signal,
  )
  refuseBlocked(findings)
  const located = { options, plan: { ...plan, rewrites }, restoreId, segments: new Map() }
  const topics = topicsOf(plan, target.topics)
  return { ...located, topics: showsAll(plan, topics) ? topics : await lookAgain(plan, cluster, signal) }
}

/** The same after a run: the plan is that of its survey, and only the topics of the target are read again. */
export async function locateSurveyed(
  { options, plan, restoreId, segments }: Pick<RecordsSurvey, 'options' | 'plan' | 'restoreId' | 'segments'>,
  { cluster, storage }: LocateParts,
  signal: AbortSignal,
): Promise<LocatedRestore> {
  const { rewrites } = plan.rewrites
    ? plan
    : await planRewrites({ ...options, selection: plan.filter }, plan.topics, { storage, segments }, signal)
  const topics = await lookAgain(plan, cluster, signal)
  return { options, plan: { ...plan, ...(rewrites && { rewrites }) }, restoreId, segments, topics }
}

const NEW_TOPICS_MS = 10_000

/** Brokers learn of new topics at different times: what one does not show counts as missing only after a while. */
async function lookAgain(plan: RestorePlan, cluster: Cluster, signal: AbortSignal): Promise<LocatedRestore['topics']> {
  let shown: LocatedRestore['topics'] = new Map()
  const isLate = new KafkaBackupError('KAFKA_NOT_READY', 'the target does not show all topics of the restore')
  const look = async () => {
    shown = topicsOf(plan, (await cluster.metadata({ topics: null }, signal)).topics)
    if (!showsAll(plan, shown)) throw isLate
  }
  await cluster.settling(look, signal, NEW_TOPICS_MS).catch(error => {
    if (error !== isLate) throw error
  })
  return shown
}

function showsAll({ topics: planned }: RestorePlan, shown: LocatedRestore['topics']): boolean {
  return planned.every(({ name, streams }) => {
    const partitions = shown.get(name)?.partitions
    return partitions !== undefined && streams.every(({ partition }) => partitions.has(partition))
  })
}

function topicsOf({ topics }: RestorePlan, onTarget: FoundRestore['target']['topics']): LocatedRestore['topics'] {
  const wanted = new Set(topics.map(({ name }) => name))
  const found = onTarget.filter(({ name }) => wanted.has(name))
  return new Map(
    found.map(({ name, id, partitions }) => [
      name,
      { id, partitions: new Set(partitions.map(({ partition }) => partition)) },
    ]),
  )
}

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
    if (lastStable < highWatermark && options.existingTopics !== 'append')
      warnings.push(`${key}: a transaction is open; nothing from offset ${lastStable} on was compared`)
  }
  const configs = await readTopicConfigs(cluster, [...topics.keys()], signal)
  const compacted = [...configs].filter(([, settings]) => settings.get('cleanup.policy')?.value?.includes('compact'))
  const known = { bounds, compacted: new Set(compacted.map(([name]) => name)), warnings }
  if (options.existingTopics !== 'append') return known
  const progress = await readProgress(cluster, restoreId, new Set(topics.keys()), signal)
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
