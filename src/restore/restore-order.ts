import { compileGlob } from '../lib/glob.ts'
import type { PlannedTopic } from './plan.ts'

type OrderedTopic = Pick<PlannedTopic, 'label' | 'source'>

/** Pure. The place of a topic among those that are filled first: 0 for the first name or pattern, all others last. */
export function rankTopics(order: readonly string[]): (topic: OrderedTopic) => number {
  const matches = order.map(compileGlob)
  return ({ label, source }) => {
    const place = matches.findIndex(isMatch => isMatch(source.name) || isMatch(label))
    return place < 0 ? order.length : place
  }
}

/** Pure. A name that matches nothing is a mistake: the topic that was meant would come last. */
export function orderWarnings(topics: readonly OrderedTopic[], order: readonly string[] = []): string[] {
  return order
    .filter(pattern => !topics.some(topic => rankTopics([pattern])(topic) === 0))
    .map(pattern => `restore.order: ${pattern} matches no topic of this restore`)
}
