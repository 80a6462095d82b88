import { stringify } from 'yaml'
import { exactLabelOf, labelOf } from '../archive/incarnation.ts'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { totalsOf } from '../archive/summary.ts'
import { findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { compileGlob, isPattern } from '../lib/glob.ts'
import { formatCount } from '../lib/units.ts'

/** What is asked for in the restore assistant. */
export interface RestoreChoice {
  include: readonly string[]
  exclude: readonly string[]
  /** Other names on the target, by source name. */
  mapping: ReadonlyMap<string, string>
  servers: readonly string[]
  /** Of records. */
  windowStart?: string | undefined
  windowEnd?: string | undefined
  /** The state to restore, where it was chosen by a time. */
  asOf?: string | undefined
  /** The one that the page shows, unless that is the newest. */
  generation?: number | undefined
}

export interface PlannedTopic {
  topic: ManifestTopic
  label: string
  target: string
}

export interface RestorePlan {
  topics: PlannedTopic[]
  /** What of the choice is not possible. */
  problems: string[]
}

/** In which registries store their schemas: a restore takes it by its full name only, as it does Kafka's own topics. */
const SCHEMAS_TOPIC = '_schemas'

/** Pure. The topics of the backup that a restore with these choices takes: a pattern leaves names alone of which an `@` selects an incarnation. */
export function planTopics({ topics }: Pick<Manifest, 'topics'>, choice: RestoreChoice): RestorePlan {
  const [selectors, excluding] = [choice.include.map(parseSelector), choice.exclude.map(parseSelector)]
  const isExact = ({ which }: (typeof selectors)[number]) => which !== undefined
  const settled = new Set(selectors.filter(isExact).flatMap(one => selectBy(one, topics).map(({ name }) => name)))
  const matched = selectors.flatMap(one =>
    selectBy(one, topics).filter(({ name }) => isExact(one) || !isPattern(one.name) || !settled.has(name)),
  )
  const excluded = new Set(
    excluding.flatMap(one => {
      const isNamed = compileGlob(one.name)
      return isExact(one) ? selectBy(one, topics) : topics.filter(({ name }) => isNamed(name))
    }),
  )
  const named = new Set(selectors.map(({ name }) => name))
  const isOwn = ({ internal, name }: ManifestTopic) => internal || name === SCHEMAS_TOPIC
  const selected = [...new Set(matched)].filter(
    topic => !excluded.has(topic) && (!isOwn(topic) || named.has(topic.name)),
  )
  const targets = targetsOf(topics, choice.mapping)
  const planned = selected.map(topic => ({
    ...{ topic, label: labelOf(topic, topics) },
    target: targets.get(topic) ?? choice.mapping.get(topic.name) ?? topic.name,
  }))
  const faults = [...selectors, ...excluding.filter(isExact)].flatMap(one => findFault(one, topics) ?? [])
  return { topics: planned, problems: [...faults, ...findProblems(planned, topics, choice)] }
}

/** What is said of an incarnation, which goes before what is said of its name; the first counts. */
function targetsOf(topics: readonly ManifestTopic[], mapping: RestoreChoice['mapping']): Map<ManifestTopic, string> {
  const exact = [...mapping].filter(([key]) => key.includes('@')).reverse()
  return new Map(exact.flatMap(([key, to]) => selectBy(parseSelector(key), topics).map(topic => [topic, to] as const)))
}

function findProblems(
  planned: readonly PlannedTopic[],
  topics: readonly ManifestTopic[],
  { mapping }: RestoreChoice,
): string[] {
  const taken = new Set(planned.map(({ topic }) => topic))
  const names = new Set(planned.map(({ topic }) => topic.name))
  const isUsed = (key: string) => names.has(key) || selectBy(parseSelector(key), topics).some(one => taken.has(one))
  const twice = [...Map.groupBy(planned, ({ target }) => target)].filter(([, all]) => all.length > 1)
  return [
    ...(planned.length === 0 ? ['No topic of the backup is selected.'] : []),
    ...[...mapping.keys()].filter(key => !isUsed(key)).map(key => `${key} gets another name but is not selected.`),
    ...twice.map(([target, all]) => `${all.map(({ label }) => label).join(' and ')} would both become ${target}.`),
  ]
}

/** Pure. Records of the selected names that the restore does not take. */
export function listNotes({ topics }: Pick<Manifest, 'topics'>, planned: readonly PlannedTopic[]): string[] {
  const taken = new Set(planned.map(({ topic }) => topic))
  const names = new Set(planned.map(({ topic }) => topic.name))
  const older = topics.filter(one => names.has(one.name) && !taken.has(one) && totalsOf([one]).records > 0)
  return older.map(one => {
    const records = `${formatCount(totalsOf([one]).records)} records`
    return `Not restored: ${records} of another incarnation, ${exactLabelOf(one, topics)}.`
  })
}

/** Pure. The job file of such a restore. It has no secrets: those of the location have to be added. */
export function formatJobFile(backupId: string, location: string, choice: RestoreChoice): string {
  const { include, exclude, mapping, windowStart, windowEnd, asOf, generation } = choice
  const isAll = include.length === 1 && include[0] === '*' && exclude.length === 0
  const restore = {
    ...(asOf !== undefined ? { as_of: asOf } : generation !== undefined && { generation }),
    ...(!isAll && { topics: { include: [...include], ...(exclude.length > 0 && { exclude: [...exclude] }) } }),
    ...(mapping.size > 0 && { topic_mapping: Object.fromEntries(mapping) }),
    ...(windowStart !== undefined && { time_window_start: windowStart }),
    ...(windowEnd !== undefined && { time_window_end: windowEnd }),
  }
  const servers = choice.servers.length > 0 ? [...choice.servers] : ['kafka:9092']
  return stringify({
    mode: 'restore',
    backup_id: backupId,
    target: { bootstrap_servers: servers },
    storage: storageOf(location),
    ...(Object.keys(restore).length > 0 && { restore }),
  })
}

const backends: Readonly<Record<string, readonly [backend: string, field: string]>> = {
  's3:': ['s3', 'bucket'],
  'gs:': ['gcs', 'bucket'],
  'az:': ['azure', 'container'],
}

/** Pure. The storage of a job file, as far as a location tells it. */
function storageOf(location: string): Record<string, unknown> {
  const url = URL.canParse(location) ? new URL(location) : undefined
  const found = url && backends[url.protocol]
  if (!url || !found) return { backend: 'filesystem', path: location }
  const [backend, field] = found
  // Everything but the bucket may have been written with escapes.
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  const settings = [...new URLSearchParams(url.search.replaceAll('+', '%2B'))].map(([name, value]) => [
    name,
    name === 'path_style' ? value === 'true' : value,
  ])
  return { backend, [field]: url.hostname, ...(prefix !== '' && { prefix }), ...Object.fromEntries(settings) }
}
