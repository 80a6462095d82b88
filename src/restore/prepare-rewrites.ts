import { splitSubject } from '../archive/registry-model.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import { hasCode } from '../errors.ts'
import { type Finding, topicError } from '../observe/finding.ts'
import { belonging } from '../registry/ids/known-schemas.ts'
import type { Part } from '../registry/ids/schema-id.ts'
import { readOutgoing } from './outgoing.ts'
import { type BackupReader, readSegments } from './outgoing-options.ts'
import type { PlannedTopic } from './plan.ts'
import { type PlannedRewrites, planRewrites, type RewriteRequest, unknownRemedy } from './plan-rewrites.ts'
import { contextOf, type RewriteOptions } from './restore-options.ts'
import { IdRewriter } from './rewrite-ids.ts'

/** What `planRewrites` decides, and whether records need a schema that the target does not get. */
export async function prepareRewrites(
  options: RewriteRequest,
  topics: readonly PlannedTopic[],
  backup: BackupReader,
  signal: AbortSignal,
): Promise<PlannedRewrites> {
  const planned = await planRewrites(options, topics, backup, signal)
  const needed = await scanNeeded(options, topics, planned, backup, signal)
  return { ...planned, findings: [...planned.findings, ...needed] }
}

/**
 * Looks at every record of the topics that schemas belong to which the backup has and the target does not get. A sample
 * does not tell whether records need one of them, and an interrupted restore could not continue with other IDs.
 */
async function scanNeeded(
  { rewrite: options, timeWindow, selection }: RewriteRequest,
  topics: readonly PlannedTopic[],
  { rewrites }: PlannedRewrites,
  backup: BackupReader,
  signal: AbortSignal,
): Promise<Finding[]> {
  if (!options || options.unknownIds === 'pass') return []
  const findings: Finding[] = []
  for (const { source, label, legs } of topics) {
    const planned = rewrites.get(label)
    const needed = planned ? planned.parts.filter(part => mayNeed(options, source.name, part)) : []
    if (!planned || needed.length === 0) continue
    const rewrite = { ...planned, parts: needed, writes: false }
    const found = await scanTopic({ topic: source.name, legs, rewrite }, { timeWindow, selection }, backup, signal)
    if (found !== undefined) findings.push(topicError(source.name, found, unknownRemedy(options)))
  }
  return findings
}

/** A schema that the target does not get has a subject of this part of the topic. */
function mayNeed(options: RewriteOptions, topic: string, part: Part): boolean {
  const context = contextOf(options, topic)
  return [...options.reasons.keys()].some(key => {
    const { context: own, name } = splitSubject(key)
    const schema = own === context ? options.schemas.get(context, Number(name)) : undefined
    return schema !== undefined && belonging(schema, topic, part) === 'topic'
  })
}

interface ScannedTopic {
  topic: string
  legs: PlannedTopic['legs']
  rewrite: ConstructorParameters<typeof IdRewriter>[0]
}

/** The message about the first record with an id that the target does not have. */
async function scanTopic(
  { topic, legs, rewrite }: ScannedTopic,
  { timeWindow, selection }: Pick<RewriteRequest, 'timeWindow' | 'selection'>,
  backup: BackupReader,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const leg of legs) {
    const { source, start, end } = leg
    const name = `${topic}/${source.partition}`
    const segments = await readSegments(backup, leg, signal)
    const whole = { maxBytes: Number.POSITIVE_INFINITY, batchBytes: 0 }
    const range = { sourcePartition: source.partition, openAborted: source.open_aborted, start, end, timeWindow }
    const selects = selection && { selects: (record: EncodedRecord) => selection.mayWant(record, topic) }
    const options = { name, segments, ...range, ...whole, ...selects, ids: new IdRewriter(rewrite, name) }
    try {
      for await (const _ of readOutgoing(backup.storage, options, signal)) signal.throwIfAborted()
    } catch (error) {
      if (hasCode(error, 'SCHEMA_ID_UNKNOWN')) return error.message
      throw error
    }
  }
  return undefined
}
