import { openBackup, readManifest } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { fitSettings } from './fit-settings.ts'
import type { RestoreOptions } from './options.ts'
import { deriveRestoreId, fingerprintOf, planRestore, type RestorePlan } from './plan.ts'
import { examineTarget, type Preflight } from './preflight.ts'
import { type RestoreProgress, readProgress, streamKey } from './progress.ts'
import { RestoreRefusal } from './refusal.ts'

export interface Prepared {
  plan: RestorePlan
  restoreId: string
  /** The id of the target. */
  targetCluster: string | null
  progress: RestoreProgress | undefined
  preflight: Preflight
}

interface SurveyParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
}

/** Everything up to the first write. Errors that stand in the way are thrown, all at once. */
export async function prepareRestore(
  options: RestoreOptions,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const survey = await surveyRestore(options, parts, signal)
  const { plan, progress, preflight } = survey
  const isRefused = preflight.findings.some(({ severity }) => severity === 'error')
  if (isRefused && !isComplete(plan, progress)) throw new RestoreRefusal(preflight.findings)
  return survey
}

/** The same, with what stands in the way among the findings. */
export async function surveyRestore(
  options: RestoreOptions,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const { cluster, clock } = parts
  const found = await findPlan(options, parts, signal)
  const examined = await examineTarget(cluster, found.plan, { ...options, nowMs: clock.now() }, found.progress, signal)
  const missing = options.createTopics ? found.plan.topics.filter(({ name }) => !examined.existing.has(name)) : []
  const fitted = await fitSettings(cluster, missing, options.topicConfig, signal)
  const fittedByName = new Map(fitted.topics.map(topic => [topic.name, topic]))
  const plan = { ...found.plan, topics: found.plan.topics.map(topic => fittedByName.get(topic.name) ?? topic) }
  return { ...found, plan, preflight: { ...examined, findings: [...examined.findings, ...fitted.findings] } }
}

/** A restore that has begun goes on with its generation, though the backup may have got newer ones since. */
export async function findPlan(
  options: RestoreOptions,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<Omit<Prepared, 'preflight'>> {
  const newest = await openBackup(storage, options.backupId, signal)
  const read = (generation: number) => readGeneration(storage, newest, generation, signal)
  const { clusterId, topics } = await cluster.metadata({ topics: null }, signal)
  const wished = planRestore(await read(options.generation ?? newest.generation), options)
  const restoreId = options.restoreId ?? deriveRestoreId(wished, clusterId)
  const noted = await readProgress(cluster, restoreId, signal)
  const there = new Set(topics.map(({ name }) => name))
  // What was noted of a topic that is deleted counts no more.
  const streams = new Map([...(noted?.streams ?? [])].filter(([, { topic }]) => there.has(topic)))
  if (!noted || streams.size === 0) return { plan: wished, restoreId, targetCluster: clusterId, progress: undefined }
  const generation = options.generation ?? noted.generation
  const plan = generation === wished.generation ? wished : planRestore(await read(generation), options)
  if (noted.fingerprint !== fingerprintOf(plan)) throw otherPlan(restoreId, noted.generation)
  if (newest.generation > generation && options.generation === undefined) {
    plan.notice = `it goes on with generation ${generation}, with which it has begun; there are newer ones`
    plan.warnings.push(plan.notice)
  }
  return { plan, restoreId, targetCluster: clusterId, progress: { ...noted, streams } }
}

async function readGeneration(
  storage: Storage,
  newest: Manifest,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest> {
  if (generation === newest.generation) return newest
  try {
    return await readManifest(storage, newest.backup_id, generation, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    const message = `the backup ${newest.backup_id} has no generation ${generation}; its newest is ${newest.generation}`
    const help = '`kafka-backup describe` shows what is there; correct restore.generation.'
    throw new KafkaBackupError('RESTORE_REFUSED', message, { cause, help })
  }
}

function otherPlan(restoreId: string, generation: number): KafkaBackupError {
  const message = `the restore ${restoreId} has begun with other topics, ranges or mappings, of generation ${generation}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Run the job as it was, or set another restore.restore_id and restore into other topics.',
  })
}

export function isComplete({ topics }: RestorePlan, progress: RestoreProgress | undefined): boolean {
  return (
    progress !== undefined &&
    topics.every(({ name, streams }) =>
      streams.every(({ partition }) => progress.streams.get(streamKey({ topic: name, partition }))?.isDone),
    )
  )
}
