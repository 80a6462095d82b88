import { runPool } from '../lib/pool.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { judgePart, type PartSample } from '../registry/ids/judge-frames.ts'
import { type Part, parts, readSchemaId } from '../registry/ids/schema-id.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { type TopicRewrite, unknownId } from './part-rewriter.ts'
import type { PlannedTopic } from './plan.ts'
import { contextOf, type RewriteOptions, wishFor } from './rewrite-options.ts'
import { sampleTopic } from './sample-topic.ts'

export interface PlannedRewrites {
  /** By topic of the source. */
  rewrites: ReadonlyMap<string, TopicRewrite>
  /** Topics that somebody has to decide about, and what becomes different on the target. */
  findings: readonly Finding[]
}

const CONCURRENCY = 4

/** Which parts of which topics are rewritten. Where the job leaves it to the records, some of them are looked at. */
export async function planRewrites(
  { rewrite: options, timeWindow }: Pick<RestoreOptions, 'rewrite' | 'timeWindow'>,
  topics: readonly PlannedTopic[],
  storage: Storage,
  signal: AbortSignal,
): Promise<PlannedRewrites> {
  if (!options) return { rewrites: new Map(), findings: [] }
  const decided = await runPool(topics, CONCURRENCY, async ({ source, label, legs }) => {
    const wishes = { key: wishFor(options, source, 'key'), value: wishFor(options, source, 'value') }
    const context = contextOf(options, source.name)
    // Where every id stays the same, no record need be opened to find out.
    if (options.idMap.isIdentity(context)) return { topic: label, context, parts: [], findings: [] }
    const isAsked = Object.values(wishes).includes('ask')
    const samples = isAsked ? await sampleTopic(storage, legs, timeWindow, signal) : { key: [], value: [] }
    return { topic: label, context, ...decideTopic(options, source.name, wishes, samples) }
  })
  const { idMap, unknownIds } = options
  const rewritten = decided.filter(one => one.parts.length > 0)
  return {
    rewrites: new Map(
      rewritten.map(({ topic, context, parts: own }) => [topic, { idMap, context, parts: own, unknownIds }]),
    ),
    findings: decided.flatMap(({ findings }) => findings),
  }
}

/** Pure. */
function decideTopic(
  options: RewriteOptions,
  topic: string,
  wishes: Readonly<Record<Part, ReturnType<typeof wishFor>>>,
  samples: Readonly<Record<Part, readonly PartSample[]>>,
): { parts: Part[]; findings: Finding[] } {
  const own: Part[] = []
  const findings: Finding[] = []
  /** Nothing was seen of what is to be changed. */
  const searched = new Set<Part>()
  for (const part of parts) {
    const wish = wishes[part]
    if (wish === 'always') own.push(part)
    if (wish !== 'ask') continue
    const verdict = judge(options, topic, part, samples[part])
    if (verdict === 'rewrite' || verdict === 'search') own.push(part)
    else if (verdict !== 'leave') findings.push(verdict)
    if (verdict === 'search') searched.add(part)
    const { otherHeader } = samples[part].find(sample => sample.otherHeader !== undefined) ?? {}
    if (otherHeader)
      findings.push(topicWarning(topic, otherIds(part, otherHeader), `${SETTINGS}.force_ids keeps the IDs`))
  }
  const areKeysChanged = own.includes('key') && !searched.has('key')
  if (areKeysChanged) {
    const what = areMerged(options, topic, samples.key) ? `${OTHER_KEYS}; ${MERGED_KEYS}` : OTHER_KEYS
    findings.push(topicWarning(topic, what, `${SETTINGS}.force_ids keeps the IDs`))
  }
  return { parts: own, findings }
}

const OTHER_KEYS =
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
  options: RewriteOptions,
  topic: string,
  part: Part,
  samples: readonly PartSample[],
): 'rewrite' | 'search' | 'leave' | Finding {
  const { schemas, idMap, unknownIds } = options
  const context = contextOf(options, topic)
  const isMapped = (id: number) => idMap.get(context, id) !== undefined
  const isOtherGuid = (guid: string) => idMap.getGuid(guid) !== undefined
  const { isUnknownGuid } = idMap
  const verdict = judgePart(samples, {
    topic,
    part,
    context,
    schemas,
    isMapped,
    isOtherGuid,
    isUnknownGuid,
    unknownIds,
  })
  switch (verdict.kind) {
    case 'rewrite':
    case 'search':
    case 'leave':
      return verdict.kind
    case 'unclear':
      return topicError(
        topic,
        `it is not clear whether its ${part}s carry schema IDs: ${verdict.why}`,
        remedy(topic, part),
      )
    case 'unknown': {
      const { message } = unknownId(verdict.id, part, `${topic}/${verdict.partition}`, verdict.offset)
      return topicError(topic, message, UNKNOWN_REMEDY)
    }
    default:
      return verdict satisfies never
  }
}

/** There is another `restore` at the top of a job. */
const SETTINGS = 'enterprise.schema_registry.restore'

const UNKNOWN_REMEDY = `restore the schemas first (${SETTINGS}.enabled: true does), set ${SETTINGS}.unknown_ids: pass, or name the topic in ${SETTINGS}.rewrite_topics.exclude`

function remedy(topic: string, part: Part): string {
  const parts = `${SETTINGS}.rewrite_parts says which of key and value, here ${part}`
  return `name ${topic} in ${SETTINGS}.rewrite_topics.include to have them rewritten or in .exclude to leave them; ${parts}`
}
