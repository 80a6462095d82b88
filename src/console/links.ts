/** One backup of one location, at a generation where one was asked for. */
export interface BackupPlace {
  /** The number of the location in the order of the command line. */
  at: number
  backupId: string
  /** Undefined for the newest. */
  generation?: number | undefined
}

type Query = Readonly<Record<string, string | number | bigint | undefined>>

export const homeLink = '/'

export function backupLink(place: BackupPlace, query: Query = {}): string {
  return linkOf(place, [], query)
}

export function topicLink(place: BackupPlace, topic: string, query: Query = {}): string {
  return linkOf(place, ['topics', topic], query)
}

export function recordsLink(place: BackupPlace, topic: string, query: Query = {}): string {
  return linkOf(place, ['topics', topic, 'records'], query)
}

export interface RecordPlace {
  topic: string
  partition: number
  offset: bigint
  /** Of the registry, in which its schema IDs count; undefined for the default one. */
  context?: string | undefined
}

export function recordLink(place: BackupPlace, { topic, partition, offset, context }: RecordPlace): string {
  return linkOf(place, ['topics', topic, 'records', String(partition), String(offset)], { context })
}

/** The bytes of a key or value, as they are stored. */
export function rawLink(place: BackupPlace, { topic, partition, offset }: RecordPlace, part: 'key' | 'value'): string {
  return linkOf(place, ['topics', topic, 'records', String(partition), String(offset), part], {})
}

export function schemasLink(place: BackupPlace, query: Query = {}): string {
  return linkOf(place, ['schemas'], query)
}

/** Names of subjects and groups may be anything, `..` included, which browsers resolve in a path. */
export function subjectLink(place: BackupPlace, name: string, query: Query = {}): string {
  return linkOf(place, ['schemas', 'subject'], { name, ...query })
}

export function groupsLink(place: BackupPlace, query: Query = {}): string {
  return linkOf(place, ['groups'], query)
}

export function groupLink(place: BackupPlace, name: string, query: Query = {}): string {
  return linkOf(place, ['groups', 'group'], { name, ...query })
}

export function restoreLink(place: BackupPlace, query: Query = {}): string {
  return linkOf(place, ['restore'], query)
}

/** Where the script asks for the newest generation. */
export function newestLink(place: BackupPlace): string {
  return linkOf({ at: place.at, backupId: place.backupId }, ['newest'], {})
}

function linkOf({ at, backupId, generation }: BackupPlace, parts: readonly string[], query: Query): string {
  const path = ['at', String(at), backupId, ...parts].map(encodeURIComponent).join('/')
  return withQuery(`/${path}`, { generation, ...query })
}

/** A path with those values that are set. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
