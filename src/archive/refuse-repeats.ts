import { damaged } from './damage.ts'
import { type Incarnation, incarnationKey } from './incarnation.ts'

/** A list with a duplicate name is ambiguous, and a reader would silently restore one of the entries. */
export function refuseRepeats(what: string, names: Iterable<string | number>, at: string): void {
  const repeated = findRepeat(names)
  if (repeated !== undefined) throw damaged(at, `is damaged: it lists ${what} ${repeated} twice`)
}

function findRepeat(names: Iterable<string | number>): string | number | undefined {
  const seen = new Set<string | number>()
  for (const name of names) {
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

interface Topic extends Incarnation {
  name: string
  state: string
  partitions: readonly { partition: number }[]
}

interface Listed {
  topics: readonly Topic[]
  schema_registry?:
    | { subjects: readonly { name: string; versions: readonly { version: number }[] }[] }
    | null
    | undefined
}

/** Topics, partitions, subjects and versions of a manifest: each is there once. Only replaced topics share their name. */
export function refuseRepeatsOf({ topics, schema_registry: registry }: Listed, at: string): void {
  const subjects = registry?.subjects ?? []
  refuseRepeats('topic', namesOf(topics.filter(({ state }) => state !== 'replaced')), at)
  refuseRepeatedIncarnations(topics, at)
  refuseRepeats('subject', quoted(subjects), at)
  for (const { name, versions } of subjects) {
    const numbers = versions.map(({ version }) => version)
    refuseRepeats(`of subject ${JSON.stringify(name)} version`, numbers, at)
  }
}

/** Of one name there may be several: incarnations that were replaced, or that two runs of a shard have seen. */
export function refuseRepeatedIncarnations(topics: readonly Topic[], at: string): void {
  const incarnations = topics.map(topic => `${topic.name} with the ID ${incarnationKey(topic)}`)
  refuseRepeats('topic', incarnations, at)
  refuseRepeats('the topic ID', topics.map(incarnationKey), at)
  for (const { name, partitions } of topics) {
    const numbers = partitions.map(({ partition }) => partition)
    refuseRepeats(`of topic ${name} partition`, numbers, at)
  }
}

interface Group {
  group: string
  positions: readonly { topic: string; partition: number }[]
}

/** Groups of a file or a snapshot, and the partitions that each has a committed offset for. */
export function refuseRepeatedGroups(groups: readonly Group[], at: string): void {
  const repeated = findRepeatedGroup(groups)
  if (repeated !== undefined) throw damaged(at, `is damaged: it lists ${repeated} twice`)
}

/** What a reader would refuse, in words: writers check it first. */
export function findRepeatedGroup(groups: readonly Group[]): string | undefined {
  const name = findRepeat(groups.map(({ group }) => group))
  if (name !== undefined) return `group ${JSON.stringify(name)}`
  for (const { group, positions } of groups) {
    const place = findRepeat(positions.map(({ topic, partition }) => `${topic}/${partition}`))
    if (place !== undefined) return `of group ${JSON.stringify(group)} the offset of ${place}`
  }
  return undefined
}

function namesOf(items: readonly { name: string }[]): string[] {
  return items.map(({ name }) => name)
}

/** Names of a registry may hold any character. */
function quoted(items: readonly { name: string }[]): string[] {
  return namesOf(items).map(name => JSON.stringify(name))
}
