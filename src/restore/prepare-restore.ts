import { listGenerations, openBackup, readManifest } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { type ExaminedArchive, examineArchive } from './examine-archive.ts'
import { examinePermissions, type Grant } from './examine-permissions.ts'
import type { Finding } from './finding.ts'
import { fitSettings } from './fit-settings.ts'
import type { RestoreOptions } from './options.ts'
import { deriveRestoreId, fingerprintOf, type PlannedTopic, planRestore, type RestorePlan } from './plan.ts'
import { examineTarget, type Preflight } from './preflight.ts'
import { type RestoreProgress, readProgress, restoreGroup, streamKey } from './progress.ts'
import { RestoreRefusal } from './refusal.ts'
import { readDefaults } from './topic-defaults.ts'

export interface Prepared {
  plan: RestorePlan
  restoreId: string
  /** The id of the target. */
  targetCluster: string | null
  progress: RestoreProgress | undefined
  preflight: Preflight
  /** What the job needs to be allowed, as far as the target tells. */
  grants: Grant[]
  segments: ExaminedArchive['segments']
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
  const { findings } = survey.preflight
  if (findings.some(({ severity }) => severity === 'error')) throw new RestoreRefusal(findings)
  return survey
}

/** The same, with what stands in the way among the findings. Of a restore that is complete nothing is judged. */
export async function surveyRestore(
  options: RestoreOptions,
  parts: SurveyParts,
  signal: AbortSignal,
): Promise<Prepared> {
  const { cluster, storage, clock } = parts
  const found = await findPlan(options, { cluster, storage, readNotes: readIfAllowed }, signal)
  const { plan, progress, restoreId } = found
  const noted = new Set([...(progress?.streams.values() ?? [])].map(({ topic }) => topic))
  if (isComplete(plan, progress)) {
    return { ...found, preflight: { findings: [], existing: noted, ends: new Map() }, grants: [], segments: new Map() }
  }
  const { topics } = await cluster.metadata({ topics: null }, signal)
  const there = new Set(topics.map(({ name }) => name))
  const isMade = (name: string) => noted.has(name) || !there.has(name)
  const allowed = await examinePermissions(cluster, plan, { group: restoreGroup(restoreId), isMade }, signal)
  const archive = await examineArchive(storage, plan, { verify: options.verify, progress }, signal)
  const defaults = await readDefaults(cluster, signal)
  const known = { progress, nowMs: clock.now(), defaults, hidden: allowed.hidden, ...archive }
  const examined = await examineTarget(cluster, plan, options, known, signal)
  const missing = options.createTopics ? plan.topics.filter(({ name }) => !examined.existing.has(name)) : []
  const fitted = await fitSettings(cluster, missing, { overrides: options.topicConfig, defaults }, signal)
  const fittedByName = new Map(fitted.topics.map(topic => [topic.name, topic]))
  const findings = [allowed, archive, examined, fitted].flatMap(one => one.findings)
  return {
    ...found,
    plan: { ...plan, topics: plan.topics.map(topic => fittedByName.get(topic.name) ?? topic) },
    preflight: { ...examined, findings },
    segments: archive.segments,
    grants: [...allowed.grants, ...creationGrants(missing, fitted.findings)],
  }
}

/** A trial tells, since creation may be granted on the cluster, too. */
function creationGrants(topics: readonly PlannedTopic[], findings: readonly Finding[]): Grant[] {
  const denied = new Set(findings.filter(({ code }) => code === 'KAFKA_DENIED').map(({ subject }) => subject))
  return topics.map(({ name }) => {
    const subject = `topic ${name}`
    return { subject, operation: 'Create', isGranted: !denied.has(subject) }
  })
}

/** Whoever may not read the notes is told so with all the rest. */
const readIfAllowed: typeof readProgress = (...args) =>
  readProgress(...args).catch(error => {
    if (hasCode(error, 'KAFKA_DENIED')) return undefined
    throw error
  })

/** A restore that has begun goes on with its generation, though the backup may have got newer ones since. */
export async function findPlan(
  options: RestoreOptions,
  {
    cluster,
    storage,
    readNotes = readProgress,
  }: { cluster: Cluster; storage: Storage; readNotes?: typeof readProgress },
  signal: AbortSignal,
): Promise<Omit<Prepared, 'preflight' | 'grants' | 'segments'>> {
  const newest = await openBackup(storage, options.backupId, signal)
  const read = (generation: number) => readGeneration(storage, newest, generation, signal)
  const { clusterId, topics } = await cluster.metadata({ topics: null }, signal)
  const wished = planRestore(await read(options.generation ?? newest.generation), options)
  const restoreId = options.restoreId ?? deriveRestoreId(wished, clusterId)
  const noted = await readNotes(cluster, restoreId, signal)
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
    const there = await listGenerations(storage, newest.backup_id, signal)
    const help = `It has ${there.length}, from ${there[0]} to ${there.at(-1)}; correct restore.generation.`
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
