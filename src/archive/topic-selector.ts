import { compileGlob, isPattern } from '../lib/glob.ts'
import { parseTime } from '../lib/point-in-time.ts'
import { exactLabelOf, numberOf } from './incarnation.ts'
import type { ManifestTopic } from './manifest.ts'

/**
 * How a job file names topics of a backup: `name` or a pattern for the newest incarnation, and after an `@` another one:
 * by its topic ID (in hex, or a prefix of four digits or more, or as Kafka prints it), with `.number` where one ID has
 * several, or by a time at which it was the current one.
 */
interface TopicSelector {
  text: string
  name: string
  /** Undefined for the newest. */
  which: { id: string; number?: number } | { at: bigint } | { wrong: string } | undefined
}

/** Of a topic ID as Kafka prints it: base64 without padding. */
const PRINTED_ID = /^[A-Za-z0-9_-]{22}$/
/** The colon is in no topic ID. */
const TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:/

export function parseSelector(text: string): TopicSelector {
  const at = text.indexOf('@')
  if (at < 0) return { text, name: text, which: undefined }
  const [name, which] = [text.slice(0, at), text.slice(at + 1)]
  if (TIME.test(which)) {
    const time = parseTime(which)
    return { text, name, which: typeof time === 'bigint' ? { at: time } : { wrong: `the time ${which} ${time.wrong}` } }
  }
  const [, id = which, number] = /^(.*?)(?:\.(\d+))?$/.exec(which) ?? []
  return { text, name, which: { id, ...(number !== undefined && { number: Number(number) }) } }
}

/** Pure. The topics of a backup that a selector means: one for each name, or several where its ID is not exact enough. */
export function selectBy({ name, which }: TopicSelector, topics: readonly ManifestTopic[]): ManifestTopic[] {
  const isNamed = compileGlob(name)
  // Others are not grouped: a job may name thousands of topics one by one.
  const named = topics.filter(topic => isNamed(topic.name))
  return [...Map.groupBy(named, topic => topic.name).values()].flatMap(incarnations => pick(which, incarnations))
}

/** Pure. What is wrong with a selector that names one topic, in words; undefined where it means exactly one. */
export function findFault(selector: TopicSelector, topics: readonly ManifestTopic[]): string | undefined {
  const { text, name, which } = selector
  if (which && 'wrong' in which) return `${text}: ${which.wrong}`
  const found = [...Map.groupBy(selectBy(selector, topics), one => one.name).values()]
  const several = found.find(({ length }) => length > 1)
  if (several) return `${text} means several incarnations: ${describeAll(several, topics)}`
  if (found.length > 0 || isPattern(name)) return undefined
  const held = topics.filter(one => one.name === name)
  if (held.length === 0 || which === undefined) return `the backup holds no topic ${name}`
  return `the backup holds no incarnation ${text}; it holds ${describeAll(held, topics)}`
}

/** Pure. The incarnations of one name, for a message. */
function describeAll(some: readonly ManifestTopic[], topics: readonly ManifestTopic[]): string {
  return some.map(topic => describeIncarnation(topic, topics)).join(', ')
}

export function describeIncarnation(topic: ManifestTopic, topics: readonly ManifestTopic[]): string {
  const replacedAt = topic.state === 'replaced' ? replacedAtOf(topic) : undefined
  const state = replacedAt === undefined ? topic.state : `replaced ${replacedAt}`
  return `${exactLabelOf(topic, topics)} (${state})`
}

function pick(which: TopicSelector['which'], incarnations: readonly ManifestTopic[]): ManifestTopic[] {
  if (which === undefined) return incarnations.filter(({ state }) => state !== 'replaced')
  if ('id' in which) return incarnations.filter(topic => isMeant(topic, which))
  if ('wrong' in which) return []
  const { at } = which
  const found = incarnations.find(topic => topic.state !== 'replaced' || Date.parse(replacedAtOf(topic) ?? '') > at)
  return found ? [found] : []
}

function isMeant(topic: ManifestTopic, { id, number }: { id: string; number?: number }): boolean {
  if (number !== undefined && numberOf(topic) !== number) return false
  if (topic.id.startsWith(id.toLowerCase())) return true
  return PRINTED_ID.test(id) && Buffer.from(id, 'base64url').toString('hex') === topic.id
}

/** Archives that do not say it have it as the time of the gap that ends the topic. */
function replacedAtOf({ replaced_at, partitions }: ManifestTopic): string | undefined {
  if (replaced_at !== undefined) return replaced_at
  const ends = partitions.flatMap(({ gaps }) => gaps.filter(({ to }) => to === null).map(({ found_at }) => found_at))
  return ends.sort().at(-1)
}
