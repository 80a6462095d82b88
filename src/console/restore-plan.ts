import { stringify } from 'yaml'
import type { Manifest, ManifestTopic } from '../archive/manifest.ts'
import { findFault, parseSelector, selectBy } from '../archive/topic-selector.ts'
import { compileGlob } from '../lib/glob.ts'

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

/** Pure. The topics of the backup that a restore with these choices takes. */
export function planTopics({ topics }: Pick<Manifest, 'topics'>, choice: RestoreChoice): RestorePlan {
  const selectors = choice.include.map(parseSelector)
  const excluded = choice.exclude.map(compileGlob)
  const problems = selectors.flatMap(selector => findFault(selector, topics) ?? [])
  const found = new Map<string, PlannedTopic>()
  for (const selector of selectors) {
    for (const topic of selectBy(selector, topics)) {
      const isNamed = selector.name === topic.name
      if (!isNamed && (topic.internal || topic.name === SCHEMAS_TOPIC)) continue
      if (excluded.some(matches => matches(topic.name))) continue
      const label = selector.which === undefined ? topic.name : selector.text
      found.set(label, {
        topic,
        label,
        target: choice.mapping.get(label) ?? choice.mapping.get(topic.name) ?? topic.name,
      })
    }
  }
  const planned = [...found.values()]
  const unused = [...choice.mapping.keys()].filter(
    name => !planned.some(({ label, topic }) => label === name || topic.name === name),
  )
  const twice = [...Map.groupBy(planned, ({ target }) => target)].filter(([, all]) => all.length > 1)
  return {
    topics: planned,
    problems: [
      ...problems,
      ...(planned.length === 0 ? ['No topic of the backup is selected.'] : []),
      ...unused.map(name => `${name} gets another name but is not selected.`),
      ...twice.map(([target, all]) => `${all.map(({ label }) => label).join(' and ')} would both become ${target}.`),
    ],
  }
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
function storageOf(location: string): Record<string, string> {
  const url = URL.canParse(location) ? new URL(location) : undefined
  const found = url && backends[url.protocol]
  if (!url || !found) return { backend: 'filesystem', path: location }
  const [backend, field] = found
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '')
  const known = ['region', 'endpoint', 'account'].flatMap(name => {
    const value = url.searchParams.get(name)
    return value === null ? [] : [[name, value]]
  })
  return { backend, [field]: url.hostname, ...(prefix !== '' && { prefix }), ...Object.fromEntries(known) }
}
