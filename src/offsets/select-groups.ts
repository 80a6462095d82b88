import { KafkaBackupError } from '../errors.ts'
import { compileGlob, isPattern } from '../lib/glob.ts'
import { OWN_GROUPS } from './model.ts'

export interface PositionSelection {
  /** Names, or patterns with `*` and `?`. */
  groups: readonly string[]
  /** Likewise; none is all topics that a group has positions on. */
  topics: readonly string[]
  /** None is all. */
  partitions: readonly number[]
}

/**
 * The groups that are meant, by name. A name stands for itself, whether there is such a group or not; a pattern picks among
 * the known ones, without those of this program, and must find one.
 */
export function selectGroups(wanted: readonly string[], known: readonly string[]): string[] {
  const chosen = new Set<string>()
  for (const one of wanted) {
    const found = isPattern(one) ? known.filter(name => !isOwnGroup(name) && compileGlob(one)(name)) : [one]
    if (found.length === 0)
      throw new KafkaBackupError('GROUP_NOT_FOUND', `no consumer group matches \`${one}\``, { details: { group: one } })
    for (const name of found) chosen.add(name)
  }
  return [...chosen].sort()
}

export function isOwnGroup(group: string): boolean {
  return group.startsWith(OWN_GROUPS)
}

/** Whether a partition is among those that are meant. */
export function compilePlaces({ topics, partitions }: Pick<PositionSelection, 'topics' | 'partitions'>) {
  const matchers = topics.map(compileGlob)
  return ({ topic, partition }: { topic: string; partition: number }): boolean =>
    (matchers.length === 0 || matchers.some(matches => matches(topic))) &&
    (partitions.length === 0 || partitions.includes(partition))
}
