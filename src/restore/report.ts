import { describeFinding } from '../observe/finding.ts'
import type { GapReason } from '../observe/progress.ts'
import { type Part, parts } from '../registry/ids/schema-id.ts'
import type { CompareReport } from './compare.ts'
import type { Writing } from './fill.ts'
import { addCounts, type IdCheck, type IdCounts, noCounts, type PartCounts } from './id-counts.ts'
import type { Conversion } from './outgoing-batch.ts'
import type { PlannedTopic, RestorePlan } from './plan.ts'
import { OTHER_KEYS } from './plan-rewrites.ts'
import { type StreamProgress, streamKey } from './progress.ts'
import type { FilterCounts, OpenFilter } from './record-filter.ts'
import type { Stream } from './stream.ts'
import type { RecordsSurvey } from './survey-records.ts'

export interface RestoreReport {
  restoreId: string
  backupId: string
  generation: number
  /** When the generation was committed. */
  generationCreatedAt: string
  /** An earlier run had finished it: nothing was done. */
  wasComplete: boolean
  /** False where the comparison found differences: the settings that were held back stay so. */
  isDone: boolean
  durationMs: number
  topics: TopicReport[]
  totals: Amounts & { topics: number }
  /** Offsets that the backup itself lacks. */
  gaps: ReportedGap[]
  warnings: string[]
  /** What `restore.filter` has decided in this run; absent without one. */
  filter?: FilterCounts
  /** What the comparison with the target found, where the job asks for one. */
  verification?: CompareReport
  /** How this run has written records; absent where there were none to write. */
  writing?: Writing
}

/** What this run has done to one topic of the target. */
export interface TopicReport extends Amounts {
  source: string
  target: string
  /** `resumed`: an earlier run of this restore had begun with it. */
  origin: 'created' | 'resumed' | 'existed'
  /** From the first look for a batch to the last answer. */
  durationMs: number
}

export interface Amounts {
  partitions: number
  /** That this run has written, with the bytes of their batches. */
  records: number
  bytes: number
  /** Records that earlier runs had written. */
  found: number
  /** Batches that were not sent as they were stored. */
  rebuilt: number
  /** The same by reason. */
  conversions: Conversions
  /** What this run and those before it have found of schema ids; absent where they were not looked for. */
  schemaIds?: IdCounts
  /** What was looked at to find schema ids that the target does not have; absent where nothing was. */
  idCheck?: IdCheck
}

export type Conversions = Partial<Record<Conversion, number>>

export interface ReportedGap {
  topic: string
  partition: number
  from: bigint
  to: bigint | null
  reason: GapReason
}

/** Sequences, which count the records of a partition, restart here. */
const SEQUENCES = 2n ** 31n

/** Pure. One row a topic, in the order of the plan. */
export function reportTopics(
  { plan, progress, preflight }: Pick<RecordsSurvey, 'plan' | 'progress' | 'preflight'>,
  streams: readonly Stream[],
  durationOf: (topic: string) => number,
): TopicReport[] {
  return plan.topics.map(topic => {
    const own = streams.filter(stream => stream.topic === topic.name)
    const noted = topic.streams.flatMap(({ partition }) => {
      const one = progress?.streams.get(streamKey({ topic: topic.name, partition }))
      return one ? [one] : []
    })
    const exists = preflight.existing.has(topic.name)
    const conversions = sumConversions(own.map(stream => Object.fromEntries(stream.conversions)))
    return {
      source: topic.label,
      target: topic.name,
      origin: noted.length > 0 ? 'resumed' : exists ? 'existed' : 'created',
      partitions: topic.streams.length,
      records: sum(own, ({ records }) => records.sent),
      bytes: sum(own, ({ records }) => records.bytes),
      found: sum(noted, countNoted) + sum(own, ({ records }) => records.skipped),
      durationMs: durationOf(topic.name),
      rebuilt: sum(Object.values(conversions), count => count),
      conversions,
      ...reportIds(plan, topic.label, own),
    }
  })
}

/** Where every record was opened these are what was checked, by this run and those before it; else the sample is. */
function reportIds(
  { rewrites, idChecks }: RestorePlan,
  topic: string,
  streams: readonly Stream[],
): Pick<Amounts, 'schemaIds' | 'idCheck'> {
  const sampled = idChecks?.get(topic)
  if (!rewrites?.has(topic)) return sampled ? { idCheck: sampled } : {}
  const schemaIds = sumCounts(streams.map(({ checked }) => checked.ids))
  const unknown = schemaIds.key.unknown + schemaIds.value.unknown
  return { schemaIds, idCheck: { mode: 'all', records: sum(streams, ({ checked }) => checked.records), unknown } }
}

export function sumTopics(topics: readonly TopicReport[]): RestoreReport['totals'] {
  return {
    topics: topics.length,
    partitions: sum(topics, ({ partitions }) => partitions),
    records: sum(topics, ({ records }) => records),
    bytes: sum(topics, ({ bytes }) => bytes),
    found: sum(topics, ({ found }) => found),
    rebuilt: sum(topics, ({ rebuilt }) => rebuilt),
    conversions: sumConversions(topics.map(({ conversions }) => conversions)),
    ...sumSchemaIds(topics),
    ...sumChecks(topics.flatMap(({ idCheck }) => idCheck ?? [])),
  }
}

/** `sample` where any of them is. */
export function sumChecks(checks: readonly IdCheck[]): { idCheck?: IdCheck } {
  if (checks.length === 0) return {}
  const mode = checks.some(one => one.mode === 'sample') ? 'sample' : 'all'
  return { idCheck: { mode, records: sum(checks, one => one.records), unknown: sum(checks, one => one.unknown) } }
}

function sumSchemaIds(topics: readonly TopicReport[]): { schemaIds?: IdCounts } {
  const counted = topics.flatMap(({ schemaIds }) => (schemaIds ? [schemaIds] : []))
  return counted.length === 0 ? {} : { schemaIds: sumCounts(counted) }
}

function sumCounts(all: readonly IdCounts[]): IdCounts {
  const total = noCounts()
  for (const one of all) addCounts(total, one)
  return total
}

/** Of what was found before the first record was written, and stops nothing. */
export function preflightWarnings({ findings }: Pick<RecordsSurvey['preflight'], 'findings'>): string[] {
  return findings.map(describeFinding)
}

/** Pure. Records that consumers may not be able to decode with the target's registry, and keys that no sample has foreseen. */
export function idWarnings(topics: readonly TopicReport[], { rewrites }: Pick<RestorePlan, 'rewrites'>): string[] {
  return topics.flatMap(({ source, schemaIds, idCheck, records, found }) =>
    schemaIds
      ? [
          ...parts.flatMap(part => partWarnings(source, part, schemaIds[part])),
          ...uncountedWarnings(source, records + found - (idCheck?.records ?? 0)),
          ...(schemaIds.key.rewritten > 0 && !rewrites?.get(source)?.areKeysForeseen
            ? [`${source}: ${OTHER_KEYS} (${SETTINGS}.force_ids keeps the IDs)`]
            : []),
        ]
      : idCheck && idCheck.unknown > 0
        ? [
            `${source}: of ${idCheck.records} records that were checked, ${idCheck.unknown} keys or values carry schema IDs ` +
              `that the target registry does not have (${SETTINGS}.unknown_ids: pass)`,
          ]
        : [],
  )
}

function uncountedWarnings(source: string, records: number): string[] {
  if (records <= 0) return []
  return [
    `${source}: ${records} of its records are not in these counts of schema IDs: an earlier version of kafka-backup has ` +
      'written them, or a run that was killed before it had noted its counts',
  ]
}

const SETTINGS = 'enterprise.schema_registry.restore'

function partWarnings(source: string, part: Part, { unknown, unclear }: PartCounts): string[] {
  const warnings: string[] = []
  if (unknown > 0) {
    const what = `${source}: ${unknown} ${part}s carry schema IDs that the target registry does not have`
    warnings.push(`${what}, and were left as they are (${SETTINGS}.unknown_ids: pass)`)
  }
  if (unclear > 0) {
    warnings.push(
      `${source}: ${unclear} ${part}s begin like schema IDs that differ on the target, but may be something else, and ` +
        `were left as they are; name the topic in ${SETTINGS}.rewrite_topics.include to have them rewritten`,
    )
  }
  return warnings
}

/** Pure. Records that a filter could not tell about. */
export function filterWarnings(filter: OpenFilter | undefined): string[] {
  const { notDecoded = 0, examined = 0 } = filter?.counts ?? {}
  if (notDecoded === 0) return []
  return [
    `restore.filter could not decode ${notDecoded} of ${examined} records, and treated them as restore.filter.not_decoded says`,
  ]
}

/** Those that touch what is restored. */
export function reportGaps(topics: readonly PlannedTopic[]): ReportedGap[] {
  return topics.flatMap(({ label, legs }) =>
    legs.flatMap(({ source: { partition, gaps }, start, end }) =>
      gaps
        .filter(({ from, to }) => from < end && (to === null || to > start))
        .map(({ from, to, reason }) => ({ topic: label, partition, from, to, reason })),
    ),
  )
}

/** How many records are on the target by these notes. Where others write, too, a count above 2^31 may be too high. */
function countNoted({ sequence, targetOffset }: StreamProgress): number {
  const rounds = (targetOffset - BigInt(sequence)) / SEQUENCES
  return sequence + Number(rounds > 0n ? rounds * SEQUENCES : 0n)
}

function sumConversions(all: readonly Conversions[]): Conversions {
  const counts = new Map<string, number>()
  for (const some of all) {
    for (const [reason, count] of Object.entries(some)) counts.set(reason, (counts.get(reason) ?? 0) + count)
  }
  return Object.fromEntries(counts)
}

function sum<T>(all: readonly T[], pick: (one: T) => number): number {
  return all.reduce((total, one) => total + pick(one), 0)
}
