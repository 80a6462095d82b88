import { compileGlobs } from '../lib/glob.ts'

/** A topic of the cluster that is to be backed up. */
export interface SurveyedTopic {
  name: string
  partitions: number
  /** Of the leaders on disk; null where the brokers do not tell. */
  bytes: number | null
  isInternal: boolean
  isCompacted: boolean
  /** Null where records are kept forever, or where it is not known. */
  retentionMs: number | null
  /** Permissions that a backup lacks. */
  missing: readonly string[]
}

export interface TopicProposal {
  include: readonly string[]
  exclude: readonly string[]
  /** Why patterns are excluded. */
  reasons: readonly { pattern: string; reason: string; topics: number }[]
}

/** Topics that are derived from others. Only patterns that match something are proposed. */
const derived = [
  { pattern: '*-repartition', reason: 'Kafka Streams writes these again from their input' },
  { pattern: '_confluent-*', reason: 'internal topics of Confluent Platform' },
  { pattern: 'mm2-*.internal', reason: 'internal topics of MirrorMaker 2' },
  { pattern: '*.checkpoints.internal', reason: 'internal topics of MirrorMaker 2' },
] as const

/** Pure. Everything but what is derived from other topics. */
export function proposeTopics(topics: readonly SurveyedTopic[]): TopicProposal {
  const names = topics.filter(({ isInternal }) => !isInternal).map(({ name }) => name)
  const reasons = derived
    .map(one => ({ ...one, topics: names.filter(compileGlobs([one.pattern])).length }))
    .filter(one => one.topics > 0)
  return { include: ['*'], exclude: reasons.map(({ pattern }) => pattern), reasons }
}

/** Pure. The topics that a selection takes; internal ones only by their full names. */
export function selectSurveyed(
  topics: readonly SurveyedTopic[],
  { include, exclude }: Pick<TopicProposal, 'include' | 'exclude'>,
): SurveyedTopic[] {
  const [isIncluded, isExcluded] = [compileGlobs(include), compileGlobs(exclude)]
  return topics.filter(
    ({ name, isInternal }) => (isInternal ? include.includes(name) : isIncluded(name)) && !isExcluded(name),
  )
}
