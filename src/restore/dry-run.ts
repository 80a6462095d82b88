import type { AccessPlan } from '../access/access-plan.ts'
import { effectiveSetting } from '../archive/effective-settings.ts'
import type { Finding } from '../observe/finding.ts'
import type { CarryPlan } from '../offsets/carry-plan.ts'
import { describeSchemaPlan, type SchemaDryRun } from '../registry/restore/schema-report.ts'
import type { Storage } from '../storage/storage.ts'
import { countExactly } from './count-exactly.ts'
import type { Estimate } from './estimate.ts'
import { estimateSurvey, type ProbeRequest } from './estimate-survey.ts'
import { expectStream } from './expected.ts'
import type { IdCheck } from './id-counts.ts'
import { startOf } from './legs.ts'
import type { PlannedTopic } from './plan.ts'
import { streamKey } from './progress.ts'
import type { RecordsSurvey } from './survey-records.ts'
import { type RestoreRequest, type SurveyParts, surveyRestore } from './survey-restore.ts'

/** What a restore would do to topics and records, and what blocks it. */
export interface RestoreDryRun {
  restoreId: string
  backupId: string
  generation: number
  /** When the generation was committed. */
  generationCreatedAt: string
  location: string
  targetCluster: string | null
  /** Whether an earlier run has begun it, or finished it. */
  state: 'new' | 'begun' | 'complete'
  topics: RestoreDryRunTopic[]
  totals: {
    topics: number
    partitions: number
    records: number
    bytes: number
    isEstimate: boolean
    precision: Precision
  }
  /** All of them; where one is an error the restore would be refused. */
  findings: Finding[]
  warnings: string[]
}

export type Precision = 'exact' | 'at_most' | 'about'

export interface RestoreDryRunTopic {
  source: string
  target: string
  /** Those that are filled. */
  partitions: number
  exists: boolean
  /** What is left to write. */
  records: number
  bytes: number
  /** At least the bytes are. */
  isEstimate: boolean
  /** Of the records: counted, the most that there can be, or estimated. */
  precision: Precision
  heldBack: HeldSetting[]
  /** What a sample of its records has shown of schema ids; absent where none was taken. */
  idCheck?: IdCheck
}

/** A setting that a topic does not get before it is filled. */
export interface HeldSetting {
  name: string
  whileFilling: string
  /** Null for the default of the brokers; absent where it stays as it is while filling. */
  afterwards?: string | null
}

/** What a restore would do to records and consumer groups, and to schemas and access rules where the job restores them. */
export interface BackupRestoreDryRun extends RestoreDryRun {
  schemas?: SchemaDryRun
  consumerGroups: CarryPlan
  access?: AccessPlan
  /** Absent where the restore would be refused. */
  estimate?: Estimate
}

/**
 * Surveys the backup and the target, and changes neither, unless it is asked to measure the target with a topic that it creates and deletes. A
 * blocker is a result here.
 */
export async function dryRunRestore(
  request: RestoreRequest,
  parts: SurveyParts & { probe?: ProbeRequest },
  signal: AbortSignal,
): Promise<BackupRestoreDryRun> {
  const survey = await surveyRestore(request, parts, signal)
  const { schemas, groups, access } = survey
  const records = await describeRecords(survey.records, parts.storage, signal)
  const findings = [
    ...(schemas?.findings ?? []),
    ...records.findings,
    ...groups.findings,
    ...(access?.plan.findings ?? []),
  ]
  const isRefused = findings.some(({ severity }) => severity === 'error')
  const estimate = isRefused ? undefined : await estimateSurvey(survey, parts, signal)
  return {
    ...records.dryRun,
    findings,
    ...(estimate && { estimate: { ...estimate, records: records.dryRun.totals.records } }),
    consumerGroups: groups.plan,
    ...(access && { access: access.plan }),
    ...(schemas && { schemas: describeSchemaPlan(schemas.survey) }),
  }
}

async function describeRecords(
  survey: RecordsSurvey,
  storage: Storage,
  signal: AbortSignal,
): Promise<{ dryRun: Omit<RestoreDryRun, 'findings'>; findings: Finding[] }> {
  const { plan, restoreId, targetCluster, progress, isComplete, preflight } = survey
  const { topics, findings } = await describeTopics(survey, storage, signal)
  const sum = (pick: (topic: RestoreDryRunTopic) => number) => topics.reduce((total, topic) => total + pick(topic), 0)
  const dryRun: Omit<RestoreDryRun, 'findings'> = {
    restoreId,
    backupId: plan.backupId,
    generation: plan.generation,
    generationCreatedAt: plan.generationCreatedAt,
    location: storage.location,
    targetCluster,
    state: isComplete ? 'complete' : progress ? 'begun' : 'new',
    topics,
    totals: {
      topics: topics.length,
      partitions: sum(({ partitions }) => partitions),
      records: sum(({ records }) => records),
      bytes: sum(({ bytes }) => bytes),
      isEstimate: topics.some(({ isEstimate }) => isEstimate),
      precision: leastOf(topics.map(({ precision }) => precision)),
    },
    warnings: plan.warnings,
  }
  return { dryRun, findings: [...preflight.findings, ...findings] }
}

/**
 * What the manifest cannot tell is counted, as far as there is little to read and no run has begun. Damage and schema IDs
 * that this meets would end the restore.
 */
async function describeTopics(
  survey: RecordsSurvey,
  storage: Storage,
  signal: AbortSignal,
): Promise<{ topics: RestoreDryRunTopic[]; findings: Finding[] }> {
  const { options } = survey
  const isDamaged = survey.preflight.findings.some(({ code }) => code === 'ARCHIVE_DAMAGED')
  let leftBytes = survey.progress || isDamaged ? 0 : COUNTED_BYTES
  const topics: RestoreDryRunTopic[] = []
  const findings: Finding[] = []
  for (const topic of survey.plan.topics) {
    const described = describeTopic(topic, survey)
    const isCounted = described.precision !== 'exact' && costOf(topic) <= leftBytes
    if (isCounted) leftBytes -= costOf(topic)
    const counted = isCounted ? await countExactly(options, survey.plan, topic, storage, signal) : undefined
    if (counted && 'finding' in counted) findings.push(counted.finding)
    const isExact = counted !== undefined && 'records' in counted
    topics.push(isExact ? { ...described, records: counted.records, precision: 'exact' } : described)
  }
  return { topics, findings }
}

function leastOf(all: readonly Precision[]): Precision {
  return all.includes('about') ? 'about' : all.includes('at_most') ? 'at_most' : 'exact'
}

function describeTopic(
  topic: PlannedTopic,
  { options: { timeWindow, filter }, plan, progress, preflight }: RecordsSurvey,
): RestoreDryRunTopic {
  const expected = topic.streams.map(stream => {
    const noted = progress?.streams.get(streamKey({ topic: topic.name, partition: stream.partition }))
    if (noted?.isDone) return { records: 0, bytes: 0, isEstimate: false, isMost: true }
    return expectStream(stream, noted ?? startOf(stream), timeWindow)
  })
  const isFiltered = filter !== undefined && expected.some(({ records }) => records > 0)
  const isEstimate = expected.some(one => one.isEstimate) || isFiltered
  const precision = !isEstimate ? 'exact' : expected.every(({ isMost }) => isMost) ? 'at_most' : 'about'
  const exists = preflight.existing.has(topic.name)
  const idCheck = plan.idChecks?.get(topic.label)
  return {
    source: topic.label,
    target: topic.name,
    partitions: topic.streams.length,
    exists,
    records: expected.reduce((sum, { records }) => sum + records, 0),
    bytes: expected.reduce((sum, { bytes }) => sum + bytes, 0),
    isEstimate,
    precision,
    heldBack: exists ? [] : listHeld(topic),
    ...(idCheck && { idCheck }),
  }
}

/** Not those that are the same before and after. */
function listHeld({ whileFilling, afterwards, source }: PlannedTopic): HeldSetting[] {
  const changed = Object.entries(afterwards)
    .filter(([name, value]) => value !== whileFilling[name])
    .map(([name, value]) => ({ name, whileFilling: whileFilling[name] ?? '', afterwards: value }))
  const kept = ['retention.ms', 'retention.bytes']
    .filter(name => !(name in afterwards) && (effectiveSetting(source, name) ?? '-1') !== whileFilling[name])
    .map(name => ({ name, whileFilling: whileFilling[name] ?? '' }))
  return [...changed, ...kept]
}

/** So much is read for a dry run, which takes about a second; beyond it the figures of the manifest have to do. */
const COUNTED_BYTES = 64 << 20

/** What it costs to count the records of a topic: where keys decide, every partition of the target reads all of them. */
function costOf({ legs, streams }: PlannedTopic): number {
  const bytes = legs.reduce((sum, { source }) => sum + source.bytes, 0)
  return streams.some(({ keyedAmong }) => keyedAmong !== undefined) ? bytes * streams.length : bytes
}
