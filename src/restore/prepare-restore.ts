import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import type { Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { type ExaminedArchive, examineArchive } from './examine-archive.ts'
import { examinePermissions, type Grant } from './examine-permissions.ts'
import { type FoundPlan, findPlan } from './find-plan.ts'
import { fitSettings } from './fit-settings.ts'
import { planInherited } from './inherited-settings.ts'
import type { RestoreOptions } from './options.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { examineTarget, type Preflight } from './preflight.ts'
import { prepareRewrites } from './prepare-rewrites.ts'
import { type RestoreProgress, readProgress, restoreGroup, streamKey } from './progress.ts'
import { RestoreRefusal } from './refusal.ts'

export interface Prepared extends FoundPlan {
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
  const { progress, restoreId } = found
  const noted = new Set([...(progress?.streams.values() ?? [])].map(({ topic }) => topic))
  if (isComplete(found.plan, progress)) {
    return { ...found, preflight: { findings: [], existing: noted, ends: new Map() }, grants: [], segments: new Map() }
  }
  const { topics } = await cluster.metadata({ topics: null }, signal)
  const there = new Set(topics.map(({ name }) => name))
  const absent = new Set(found.plan.topics.map(({ name }) => name).filter(name => !there.has(name)))
  const inherited = await planInherited(cluster, found.plan, options, absent, signal)
  const { plan, defaults } = inherited
  const isMade = (name: string) => noted.has(name) || !there.has(name)
  const allowed = await examinePermissions(cluster, plan, { group: restoreGroup(restoreId), isMade }, signal)
  const archive = await examineArchive(storage, plan, { ...options, progress }, signal)
  const known = { progress, nowMs: clock.now(), defaults, hidden: allowed.hidden, ...archive }
  const examined = await examineTarget(cluster, plan, options, known, signal)
  const missing = options.createTopics ? plan.topics.filter(({ name }) => !examined.existing.has(name)) : []
  const differing = plan.topics.filter(({ name }) => isMade(name)).flatMap(({ name }) => inherited.findingsOf(name))
  const fitted = await fitSettings(cluster, missing, { overrides: options.topicConfig, defaults }, signal)
  const fittedByName = new Map(fitted.topics.map(topic => [topic.name, topic]))
  const { rewrites, idChecks, findings: unclear } = await prepareRewrites(options, plan.topics, storage, signal)
  const findings = [...[allowed, archive, examined, fitted].flatMap(one => one.findings), ...differing, ...unclear]
  return {
    ...found,
    plan: { ...plan, rewrites, idChecks, topics: plan.topics.map(topic => fittedByName.get(topic.name) ?? topic) },
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
export const readIfAllowed: typeof readProgress = (...args) =>
  readProgress(...args).catch(error => {
    if (hasCode(error, 'KAFKA_DENIED')) return undefined
    throw error
  })

export function isComplete({ topics }: RestorePlan, progress: RestoreProgress | undefined): boolean {
  return (
    progress !== undefined &&
    topics.every(({ name, streams }) =>
      streams.every(({ partition }) => progress.streams.get(streamKey({ topic: name, partition }))?.isDone),
    )
  )
}
