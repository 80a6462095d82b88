import { exactLabelOf } from '../archive/incarnation.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { totalsOf } from '../archive/summary.ts'
import { describeIncarnation, findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { compileGlob, isPattern } from '../lib/glob.ts'
import { formatCount } from '../lib/units.ts'
import type { RegistryStores } from './registry-topics.ts'
import type { RestoreOptions } from './restore-options.ts'

interface SelectedTopics {
  selected: ManifestTopic[]
  /** Topics of schema registries that a pattern matched, and which are not restored. */
  leftOut: ManifestTopic[]
}

/**
 * Pure. The incarnations of topics that a restore takes: the newest of each name, and those that are selected by `@`. A
 * pattern leaves names alone of which another entry selects an incarnation.
 */
export function selectTopics(
  manifest: Manifest,
  { topics: { include, exclude } }: RestoreOptions,
  problems: string[],
  stores: RegistryStores,
): SelectedTopics {
  const { topics } = manifest
  const selectors = include.map(parseSelector)
  const chosen = selectors.filter(({ which }) => which !== undefined).flatMap(one => selectBy(one, topics))
  const settled = new Set(chosen.map(({ name }) => name))
  const plain = selectors
    .filter(({ which }) => which === undefined)
    .flatMap(one => selectBy(one, topics).filter(({ name }) => !isPattern(one.name) || !settled.has(name)))
  const excluded = new Set(exclude.flatMap(entry => excludedBy(entry, topics)))
  // Those of Kafka and of registries have their like on the target: they are taken only by their full name.
  const named = new Set(selectors.map(({ name }) => name))
  const matched = new Set([...chosen, ...plain].filter(topic => !excluded.has(topic)))
  const isOwn = (topic: ManifestTopic) => topic.internal || stores.has(topic)
  const selected = topics.filter(topic => matched.has(topic) && (!isOwn(topic) || named.has(topic.name)))
  const leftOut = topics.filter(topic => matched.has(topic) && stores.has(topic) && !named.has(topic.name))
  const faults = selectors.flatMap(one => findFault(one, topics) ?? [])
  for (const fault of faults) problems.push(`${fault} (restore.topics.include)`)
  // A typo would restore a topic that should be excluded.
  const slips = exclude.map(parseSelector).filter(({ which }) => which !== undefined)
  for (const fault of slips.flatMap(one => findFault(one, topics) ?? []))
    problems.push(`${fault} (restore.topics.exclude)`)
  if (topics.length === 0 && manifest.schema_registry) {
    problems.push(`generation ${manifest.generation} holds schemas and no topics; \`schemas restore\` restores those`)
  } else if (selected.length === 0 && faults.length === 0) {
    const notices = leftOut.map(describeLeftOut)
    problems.push(
      [`no topic of the backup matches restore.topics.include (${include.join(', ')})`, ...notices].join('; '),
    )
  }
  return { selected, leftOut }
}

/** Pure. What is reported of a topic that a pattern matches and a restore leaves out. */
export function describeLeftOut({ name }: ManifestTopic): string {
  return (
    `topic ${name} is not restored: a schema registry stored its schemas there, and written next to a running registry it ` +
    'would corrupt it. Restore the schemas with enterprise.schema_registry; to restore the topic as it is, name it in ' +
    'restore.topics.include without a pattern; to silence this, add it to restore.topics.exclude'
  )
}

/** Pure. A name without `@` leaves out all incarnations of it. */
function excludedBy(entry: string, topics: readonly ManifestTopic[]): ManifestTopic[] {
  const selector = parseSelector(entry)
  if (selector.which !== undefined) return selectBy(selector, topics)
  const isNamed = compileGlob(selector.name)
  return topics.filter(({ name }) => isNamed(name))
}

/** Pure. Older incarnations with records, which are in the backup but are not restored. */
export function olderWarnings(
  { topics }: Manifest,
  selected: readonly ManifestTopic[],
  { topics: { include } }: RestoreOptions,
): string[] {
  const chosen = new Set(
    include
      .map(parseSelector)
      .filter(({ which }) => which !== undefined)
      .flatMap(one => selectBy(one, topics)),
  )
  const replaced = Map.groupBy(
    topics.filter(({ state }) => state === 'replaced'),
    ({ name }) => name,
  )
  return selected
    .filter(topic => topic.state !== 'replaced' && !chosen.has(topic))
    .flatMap(({ name }) => replaced.get(name) ?? [])
    .filter(older => !selected.includes(older) && totalsOf([older]).records > 0)
    .map(older => {
      const records = `${formatCount(totalsOf([older]).records)} records`
      const held = `topic ${older.name}: the backup also holds ${records} of an older incarnation`
      const remedy = `restore.topics.include: ['${exactLabelOf(older, topics)}'] selects it`
      return `${held}, ${describeIncarnation(older, topics)}, which is not restored; ${remedy}`
    })
}

/**
 * Pure. The options for one topic, with its plain name as the only key of each map: what is said of its incarnation goes
 * before what is said of its name.
 */
export function optionsFor(topic: ManifestTopic, { topics }: Manifest, options: RestoreOptions): RestoreOptions {
  const own = <T>(map: ReadonlyMap<string, T>): Map<string, T> => {
    const exact = [...map].find(([key]) => isOwnKey(key, topic, topics))?.[1]
    const value = exact ?? map.get(topic.name)
    return new Map(value === undefined ? [] : [[topic.name, value]])
  }
  const ranges = Map.groupBy(options.offsetRanges, ([key]) => key.slice(key.lastIndexOf('/')))
  const ownRanges = [...ranges].flatMap(([suffix, some]) => {
    const byTopic = new Map(some.map(([key, range]) => [key.slice(0, -suffix.length), range]))
    return [...own(byTopic)].map(([name, range]) => [`${name}${suffix}`, range] as const)
  })
  return {
    ...options,
    topicMapping: own(options.topicMapping),
    partitions: own(options.partitions),
    partitionCount: own(options.partitionCount),
    partitionMapping: own(options.partitionMapping),
    offsetRanges: new Map(ownRanges),
  }
}

/** Only names that fit are compared with others: it is asked for each key and each topic. */
function isOwnKey(key: string, topic: ManifestTopic, topics: readonly ManifestTopic[]): boolean {
  if (!key.includes('@')) return false
  const selector = parseSelector(key)
  if (!compileGlob(selector.name)(topic.name)) return false
  return selectBy({ ...selector, name: topic.name }, topics).includes(topic)
}

/** Pure. A mistyped name would restore the topic to the wrong name. */
export function refuseUnknownNames(
  { topics }: Manifest,
  selected: readonly ManifestTopic[],
  options: RestoreOptions,
  problems: string[],
): void {
  const { topicMapping, partitions, partitionCount, partitionMapping, offsetRanges } = options
  const byTopic = {
    topic_mapping: topicMapping,
    partitions,
    partition_count: partitionCount,
    partition_mapping: partitionMapping,
  }
  for (const [field, map] of Object.entries(byTopic)) {
    for (const key of map.keys()) {
      const fault = findKeyFault(key, topics, selected)
      if (fault !== undefined) problems.push(`restore.${field}: ${fault}`)
    }
  }
  for (const key of offsetRanges.keys()) {
    const slash = key.lastIndexOf('/')
    const partition = Number(key.slice(slash + 1))
    const meant = selectBy(parseSelector(key.slice(0, slash)), topics)
    const isHeld = meant.some(topic => topic.partitions.some(one => one.partition === partition))
    const fault = meant.length === 0 ? undefined : findKeyFault(key.slice(0, slash), topics, selected)
    if (!isHeld) problems.push(`restore.offset_ranges: the backup holds no partition ${key}`)
    else if (fault !== undefined) problems.push(`restore.offset_ranges: ${fault}`)
  }
}

function findKeyFault(
  key: string,
  topics: readonly ManifestTopic[],
  selected: readonly ManifestTopic[],
): string | undefined {
  const selector = parseSelector(key)
  if (selector.which === undefined) {
    return topics.some(({ name }) => name === key) ? undefined : `the backup holds no topic ${key}`
  }
  const fault = findFault(selector, topics)
  if (fault !== undefined) return fault
  const [meant] = selectBy(selector, topics)
  return meant && !selected.includes(meant) ? `restore.topics does not select ${key}` : undefined
}
