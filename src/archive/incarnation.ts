import { numberedName } from '../lib/numbered-name.ts'

/** What tells one incarnation of a topic from every other: the topic ID, and a number where one ID has several. */
export interface Incarnation {
  id: string
  incarnation?: number | undefined
}

/** The fields of a topic entry that labels need. */
interface LabeledTopic extends Incarnation {
  name: string
  state: string
}

/** Of the ID in labels: enough to tell the incarnations of one name apart. */
const LABEL_DIGITS = 8

/** No two topic entries of a manifest have the same key. */
export function incarnationKey({ id, incarnation = 1 }: Incarnation): string {
  return incarnation === 1 ? id : `${id}.${incarnation}`
}

/** Names the list of a partition of one incarnation of a topic. */
export function freshKey(topic: Incarnation, partition: number): string {
  return numberedName(incarnationKey(topic), partition)
}

/** Names the list of a reread that has not replaced the list of the partition yet. */
export function rereadKey(topic: Incarnation, partition: number): string {
  return `reread/${freshKey(topic, partition)}`
}

export function isSameIncarnation(one: Incarnation, other: Incarnation): boolean {
  return incarnationKey(one) === incarnationKey(other)
}

/** Pure. The newest incarnation of each topic ID. */
export function newestById<T extends Incarnation>(topics: readonly T[]): Map<string, T> {
  const newest = new Map<string, T>()
  for (const topic of topics) {
    const known = newest.get(topic.id)
    if (!known || numberOf(known) < numberOf(topic)) newest.set(topic.id, topic)
  }
  return newest
}

/**
 * Pure. The name that selects this incarnation in a job file: the plain name for the newest one, `name@id` for one that
 * was replaced, with its number where the ID has several.
 */
export function labelOf(topic: LabeledTopic, topics: readonly LabeledTopic[]): string {
  return topic.state === 'replaced' ? exactLabelOf(topic, topics) : topic.name
}

/** Pure. The same with the ID also for the newest one. */
export function exactLabelOf(topic: LabeledTopic, topics: readonly LabeledTopic[]): string {
  const siblings = topics.filter(({ name, id }) => name === topic.name && id === topic.id)
  const digits = topic.id.slice(0, LABEL_DIGITS)
  const isShort = !topics.some(({ name, id }) => name === topic.name && id !== topic.id && id.startsWith(digits))
  const number = siblings.length > 1 ? `.${numberOf(topic)}` : ''
  return `${topic.name}@${isShort ? digits : topic.id}${number}`
}

export function numberOf({ incarnation = 1 }: Pick<Incarnation, 'incarnation'>): number {
  return incarnation
}
