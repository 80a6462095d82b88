import { splitSubject } from '../archive/registry-model.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { runPool } from '../lib/pool.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { type JudgeFacts, type Judgement, judgeSamples, type PartSample } from '../registry/ids/judge-frames.ts'
import { belonging } from '../registry/ids/known-schemas.ts'
import { type Part, parts, readSchemaId } from '../registry/ids/schema-id.ts'
import type { IdCheck } from './id-counts.ts'
import type { BackupReader } from './outgoing-options.ts'
import { type TopicRewrite, unknownId } from './part-rewriter.ts'
import type { PlannedTopic } from './plan.ts'
import type { OpenFilter } from './record-filter.ts'
import type { RestoreOptions } from './restore-options.ts'
import { contextOf, modeFor, type RewriteOptions } from './restore-options.ts'
import { sampleTopic } from './sample-topic.ts'

export interface PlannedRewrites {
  /** By topic of the source. */
  rewrites: ReadonlyMap<string, TopicRewrite>
  /** By topic of the source: what of it was looked at. */
  idChecks: ReadonlyMap<string, IdCheck>
  /** Topics that need a decision of the user, and differences on the target. */
  findings: readonly Finding[]
}

/** What is restored, as far as it decides about IDs. */
export interface RewriteRequest extends Pick<RestoreOptions, 'rewrite' | 'timeWindow'> {
  /** Only these records are restored. */
  selection?: OpenFilter | undefined
}

const CONCURRENCY = 4

/**
 * Which parts of which topics are rewritten, or looked at. Some records of each topic are looked at before: whether they
 * carry ids, where the job leaves that to them, and whether the target has these.
 */
export async function planRewrites(
  { rewrite: options, timeWindow, selection }: RewriteRequest,
  topics: readonly PlannedTopic[],
  backup: BackupReader,
  signal: AbortSignal,
): Promise<PlannedRewrites> {
  if (!options) return { rewrites: new Map(), idChecks: new Map(), findings: [] }
  const decided = await runPool(topics, CONCURRENCY, async ({ source, label, legs }) => {
    const modes = { key: modeFor(options, source, 'key'), value: modeFor(options, source, 'value') }
    if (Object.values(modes).every(mode => mode === 'never')) return undefined
    const mayWant = selection && ((record: KafkaRecord) => selection.mayWant(record, source.name))
    const samples = await sampleTopic(backup, legs, { timeWindow, mayWant }, signal)
    return { label, ...decideTopic(options, source.name, modes, samples) }
  })
  const looked = decided.filter(one => one !== undefined)
  return {
    rewrites: new Map(looked.flatMap(({ label, rewrite }) => (rewrite.parts.length > 0 ? [[label, rewrite]] : []))),
    idChecks: new Map(looked.map(({ label, check }) => [label, check])),
    findings: looked.flatMap(({ findings }) => findings),
  }
}

interface DecidedTopic {
  rewrite: TopicRewrite
  check: IdCheck
  findings: Finding[]
}

/** Pure. */
function decideTopic(
  options: RewriteOptions,
  topic: string,
  modes: Readonly<Record<Part, ReturnType<typeof modeFor>>>,
  samples: Readonly<Record<Part, readonly PartSample[]>>,
): DecidedTopic {
  const { idMap, schemas, unknownIds } = options
  const context = contextOf(options, topic)
  const writes = options.writes && !idMap.isIdentity(context)
  const reasons = reasonsIn(options, context)
  const asked = parts.filter(part => modes[part] !== 'never')
  const use = { topic, context, asked }
  const isOpened =
    writes || options.checkIds === 'all' || mayNeedMissing(reasons, schemas, use) || mayNeedLeftOut(options, use)
  const own: Part[] = []
  const judged: { -readonly [P in Part]?: NonNullable<TopicRewrite['judged'][P]> } = {}
  const findings: Finding[] = []
  let unknown = 0
  /** Changed, and seen to be. */
  let areKeysChanged = false
  for (const part of parts) {
    if (modes[part] === 'never') continue
    const isNamed = modes[part] === 'always'
    const judgement = judge(options, { topic, part, context, isNamed, isOnlyChecked: !writes }, samples[part])
    const { verdict } = judgement
    unknown += judgement.unknown
    if (verdict.kind === 'unclear' || verdict.kind === 'unknown') findings.push(refuse(options, topic, part, verdict))
    else if (isOpened) own.push(part)
    if (verdict.kind === 'leave') judged[part] = { areLongs: verdict.areLongs }
    if (!writes) continue
    if (part === 'key' && verdict.kind === 'rewrite') areKeysChanged = true
    const { otherHeader } = samples[part].find(sample => sample.otherHeader !== undefined) ?? {}
    if (otherHeader)
      findings.push(topicWarning(topic, otherIds(part, otherHeader), `${SETTINGS}.force_ids keeps the IDs`))
  }
  if (areKeysChanged) {
    const what = areMerged(options, topic, samples.key) ? `${OTHER_KEYS}; ${MERGED_KEYS}` : OTHER_KEYS
    findings.push(topicWarning(topic, what, `${SETTINGS}.force_ids keeps the IDs`))
  }
  return {
    rewrite: {
      ...{ idMap, schemas, topic, context, parts: own, judged, writes, unknownIds, reasons },
      ...(areKeysChanged && { areKeysForeseen: true }),
    },
    check: { mode: 'sample', records: samples.value.filter(({ isLeftOut }) => !isLeftOut).length, unknown },
    findings,
  }
}

/** By id: why the target does not have a schema that the backup has. */
function reasonsIn({ reasons }: RewriteOptions, context: string): Map<number, string> {
  const own = [...reasons].map(([key, reason]) => ({ ...splitSubject(key), reason }))
  return new Map(own.filter(one => one.context === context).map(({ name, reason }) => [Number(name), reason]))
}

/** Whether a schema that the target does not get may be one of the topic's: though no id changes, a sample is not enough then. */
function mayNeedMissing(
  reasons: ReadonlyMap<number, string>,
  schemas: RewriteOptions['schemas'],
  { topic, context, asked }: { topic: string; context: string; asked: readonly Part[] },
): boolean {
  return [...reasons.keys()].some(id => {
    const schema = schemas.get(context, id)
    return schema !== undefined && asked.some(part => belonging(schema, topic, part) !== 'none')
  })
}

/** The schemas of these are not known, but their subjects: one that is not of another topic may be of any. */
function mayNeedLeftOut(
  { leftOut = [] }: RewriteOptions,
  { topic, context, asked }: { topic: string; context: string; asked: readonly Part[] },
): boolean {
  const own = leftOut.map(({ subject }) => splitSubject(subject)).filter(one => one.context === context)
  return own.some(({ name }) => !/-(key|value)$/.test(name) || asked.some(part => name === `${topic}-${part}`))
}

export const OTHER_KEYS =
  'its keys get other schema IDs, so that the same key has other bytes: producers may put it into another partition, and compaction does not see that two are the same'

const MERGED_KEYS =
  'several of its IDs become one, so that keys that differ in their ID alone become the same, of which compaction keeps the last'

function areMerged(options: RewriteOptions, topic: string, samples: readonly PartSample[]): boolean {
  const frames = samples.flatMap(({ bytes, header }) => (bytes !== null && header === undefined ? [bytes] : []))
  const ids = new Set(frames.map(bytes => readSchemaId(bytes, 0, bytes.length)))
  const mapped = [...ids].flatMap(id => options.idMap.get(contextOf(options, topic), id) ?? [])
  return new Set(mapped).size < mapped.length
}

function otherIds(part: Part, header: string): string {
  return `its ${part}s have schema IDs in the header ${header}, which are not rewritten: consumers look for the IDs of the source`
}

function judge(
  { schemas, idMap, unknownIds }: RewriteOptions,
  facts: Pick<JudgeFacts, 'topic' | 'part' | 'context' | 'isNamed' | 'isOnlyChecked'>,
  samples: readonly PartSample[],
): Judgement {
  const isMapped = (id: number) => idMap.get(facts.context, id) !== undefined
  const isOtherGuid = (guid: string) => idMap.getGuid(guid) !== undefined
  const { isUnknownGuid } = idMap
  return judgeSamples(samples, { ...facts, schemas, isMapped, isOtherGuid, isUnknownGuid, unknownIds })
}

function refuse(
  options: RewriteOptions,
  topic: string,
  part: Part,
  verdict: Extract<Judgement['verdict'], { kind: 'unclear' | 'unknown' }>,
): Finding {
  if (verdict.kind === 'unclear') {
    const what = `it is not clear whether its ${part}s carry schema IDs: ${verdict.why}`
    return topicError(topic, what, remedy(topic, part))
  }
  const { id, partition, offset } = verdict
  const reason = typeof id === 'number' ? reasonsIn(options, contextOf(options, topic)).get(id) : undefined
  const { message } = unknownId(id, { part, name: `${topic}/${partition}`, offset }, reason)
  return topicError(topic, message, unknownRemedy(options))
}

/** There is another `restore` at the top of a job. */
const SETTINGS = 'enterprise.schema_registry.restore'

export function unknownRemedy({ writes }: RewriteOptions): string {
  const map = writes ? `map the ID by ${SETTINGS}.id_mapping_file, ` : ''
  return `${map}set ${SETTINGS}.unknown_ids: pass to leave such records as they are, or name the topic in ${SETTINGS}.rewrite_topics.exclude`
}

function remedy(topic: string, part: Part): string {
  const parts = `${SETTINGS}.rewrite_parts says which of key and value, here ${part}`
  return `name ${topic} in ${SETTINGS}.rewrite_topics.include to have them rewritten or in .exclude to leave them; ${parts}`
}
