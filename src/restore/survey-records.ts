import type { MetadataResponse } from '../kafka/api/metadata.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { type ExaminedArchive, examineArchive, readExtent } from './examine-archive.ts'
import { examinePermissions, type Grant } from './examine-permissions.ts'
import { type FoundRestore, planWithIds } from './find-restore.ts'
import { fitCreated, fitSettings } from './fit-settings.ts'
import { planInherited } from './inherited-settings.ts'
import { judgeBrokers } from './judge-brokers.ts'
import { findEarlier } from './other-restores.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { type Circumstances, examineTarget, type Preflight } from './preflight.ts'
import { prepareRewrites } from './prepare-rewrites.ts'
import { type RestoreProgress, restoreGroup, streamKey } from './progress.ts'
import type { RestoreOptions } from './restore-options.ts'

/** What is known of topics and records before the first write. */
export interface RecordsSurvey {
  options: RestoreOptions
  plan: RestorePlan
  restoreId: string
  /** The ID of the target. */
  targetCluster: string | null
  progress: RestoreProgress | undefined
  /** See `FoundRestore`. */
  earlierRuns: ReadonlySet<string>
  /** An earlier run has written everything: nothing but its end is examined then, because the topics are in use by now. */
  isComplete: boolean
  preflight: Preflight
  /** The permissions that the job needs, as far as the target reports them. */
  grants: Grant[]
  segments: ExaminedArchive['segments']
  /** What `recheckRecords` needs; undefined where nothing was examined. */
  examined?: { facts: Omit<Circumstances, 'target'>; steady: readonly Finding[] }
}

interface SurveyParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  /** Of the program. */
  version: string
}

/** Reads the backup and the target, and changes neither. Blockers are among the findings. */
export async function surveyRecords(
  { target, restoreId, progress, earlierRuns }: FoundRestore,
  planned: RestorePlan,
  options: RestoreOptions,
  { cluster, storage, clock, version }: SurveyParts,
  signal: AbortSignal,
): Promise<RecordsSurvey> {
  const noted = new Set([...(progress?.streams.values() ?? [])].map(({ topic }) => topic))
  const found = { options, restoreId, targetCluster: target.clusterId, progress, earlierRuns }
  const earlier = { progress, shown: target.topics, restoreId, version }
  const conflicts = await findEarlier(cluster, planned, earlier, options, signal)
  if (isComplete(planned, progress)) {
    const preflight = { findings: conflicts, existing: noted, ends: new Map() }
    return { ...found, plan: planned, isComplete: true, preflight, grants: [], segments: new Map() }
  }
  const existing = new Set(target.topics.map(({ name }) => name))
  const absent = new Set(planned.topics.map(({ name }) => name).filter(name => !existing.has(name)))
  const inherited = await planInherited(cluster, planned, options, absent, signal)
  const { plan, defaults } = inherited
  const isMade = (name: string) => noted.has(name) || absent.has(name)
  const allowed = await examinePermissions(cluster, plan, { group: restoreGroup(restoreId), isMade }, signal)
  const question = { ...options, progress }
  const archive = await examineArchive(storage, plan, question, signal)
  const exactly: Circumstances['readExtent'] = (topic, signal) => readExtent(storage, plan, topic, question, signal)
  const facts = { progress, nowMs: clock.now(), defaults, hidden: allowed.hidden, ...archive, readExtent: exactly }
  const missing = options.createTopics ? plan.topics.filter(({ name }) => absent.has(name)) : []
  const differing = plan.topics.filter(({ name }) => isMade(name)).flatMap(({ name }) => inherited.findingsOf(name))
  const fitted = await fitSettings(cluster, missing, { overrides: options.topicConfig, defaults }, signal)
  const created = await fitCreated(cluster, listCreated(plan, progress), options.topicConfig, signal)
  const fittedByName = new Map([...fitted.topics, ...created.topics].map(topic => [topic.name, topic]))
  const ofBrokers = await judgeBrokers(cluster, plan, { ...facts, target }, signal)
  const unfit = [...conflicts, ...fitted.findings, ...created.findings, ...ofBrokers]
  const examined = { facts, steady: [...allowed.findings, ...archive.findings, ...unfit, ...differing] }
  const topics = plan.topics.map(topic => fittedByName.get(topic.name) ?? topic)
  const grants = [...allowed.grants, ...creationGrants(missing, fitted.findings)]
  const warnings = [...new Set([...archive.warnings, ...plan.warnings])]
  const survey = {
    ...found,
    plan: { ...plan, topics, warnings },
    isComplete: false,
    grants,
    segments: archive.segments,
  }
  return examineRecords(survey, examined, { cluster, storage, target }, signal)
}

/**
 * The survey after schemas were registered. That takes time, and a registry may store its schemas on the target, so that
 * its topics are read again, and records are sampled again with the IDs that schemas have got. A restore that has begun
 * with other IDs is refused. Permissions, settings and the objects of the backup are as they were. Another run of this
 * restore is found when progress is written.
 */
export async function recheckRecords(
  survey: RecordsSurvey,
  options: RestoreOptions,
  { cluster, storage }: Pick<SurveyParts, 'cluster' | 'storage'>,
  signal: AbortSignal,
): Promise<RecordsSurvey> {
  const changed = { ...survey, options, plan: planWithIds(survey, options) }
  if (!survey.examined) return changed
  const target = await cluster.metadata({ topics: null }, signal)
  return examineRecords(changed, survey.examined, { cluster, storage, target }, signal)
}

/** Examines what may change while schemas are registered: the topics of the target, and the IDs in records. */
async function examineRecords(
  survey: Omit<RecordsSurvey, 'preflight'>,
  examined: NonNullable<RecordsSurvey['examined']>,
  { cluster, storage, target }: Pick<SurveyParts, 'cluster' | 'storage'> & { target: MetadataResponse },
  signal: AbortSignal,
): Promise<RecordsSurvey> {
  const { options, plan, segments } = survey
  const onTarget = await examineTarget(cluster, plan, options, { ...examined.facts, target }, signal)
  const { rewrites, idChecks, ...unclear } = await prepareRewrites(
    { ...options, selection: plan.filter },
    plan.topics,
    { storage, segments },
    signal,
  )
  const findings = [...examined.steady, ...onTarget.findings, ...unclear.findings]
  return { ...survey, examined, plan: { ...plan, rewrites, idChecks }, preflight: { ...onTarget, findings } }
}

/** Topics that this restore has created, and not set up yet. */
function listCreated({ topics }: RestorePlan, progress: RestoreProgress | undefined): PlannedTopic[] {
  const noted = [...(progress?.streams.values() ?? [])]
  const created = new Set(noted.filter(({ isMade, isDone }) => isMade && !isDone).map(({ topic }) => topic))
  return topics.filter(({ name }) => created.has(name))
}

/** A trial creation shows it, because the permission may be granted on the cluster, too. */
function creationGrants(topics: readonly PlannedTopic[], findings: readonly Finding[]): Grant[] {
  const denied = new Set(findings.filter(({ code }) => code === 'KAFKA_DENIED').map(({ subject }) => subject))
  return topics.map(({ name }) => {
    const subject = `topic ${name}`
    return { subject, operation: 'Create', isGranted: !denied.has(subject) }
  })
}

function isComplete({ topics }: RestorePlan, progress: RestoreProgress | undefined): boolean {
  return (
    progress !== undefined &&
    topics.every(({ name, streams }) =>
      streams.every(({ partition }) => progress.streams.get(streamKey({ topic: name, partition }))?.isDone),
    )
  )
}
