import type { TopicFacts } from './offsets-port.ts'

/** By name; topics whose ID is not known are left out. */
export type TopicIds = ReadonlyMap<string, string>

export function topicIdsOf(topics: ReadonlyMap<string, TopicFacts>): TopicIds {
  return new Map([...topics].flatMap(([name, { id }]) => (id === undefined ? [] : [[name, id] as const])))
}

/** Whether another topic has the name by now; not known where one of the IDs is not. */
export function isRecreated(topic: string, then: TopicIds, now: TopicIds): boolean {
  const [before, after] = [then.get(topic), now.get(topic)]
  return before !== undefined && after !== undefined && before !== after
}

export const RECREATED =
  'the topic was deleted and created again since then, so a committed offset of that time means other records'
