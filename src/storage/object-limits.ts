import { KafkaBackupError } from '../errors.ts'

const MiB = 1024 ** 2

interface ObjectClass {
  what: string
  /** By its key, relative to the location. */
  keys: RegExp
  maxBytes: number
}

/**
 * The largest object of each class that is written or read as a whole, in bytes as stored. The first class that fits counts. A text of
 * JavaScript ends at 512 MiB, so nothing larger could be parsed. Segments are read in ranges, with separate limits.
 */
const classes: readonly ObjectClass[] = [
  { what: 'a lease', keys: /^[^/]+\/leases\//, maxBytes: MiB },
  { what: 'a hold', keys: /^[^/]+\/holds\//, maxBytes: MiB },
  { what: 'the record of a verification', keys: /^[^/]+\/reports\/verified\//, maxBytes: MiB },
  { what: 'the record of a drill', keys: /^[^/]+\/reports\/drilled\//, maxBytes: MiB },
  { what: 'a file of keys', keys: /^[^/]+\/keys\//, maxBytes: 16 * MiB },
  { what: 'a manifest', keys: /^[^/]+\/(manifests\/|manifest\.json$)/, maxBytes: 256 * MiB },
  { what: 'a document of the log', keys: /^[^/]+\/(commits|kept|changes|rollups|checkpoints)\//, maxBytes: 128 * MiB },
  { what: 'an index', keys: /^[^/]+\/kafka\/[^/]+\/\d+\/index-/, maxBytes: 128 * MiB },
  { what: 'the document of a shard', keys: /^[^/]+\/shards\//, maxBytes: 256 * MiB },
  { what: 'a file of consumer groups', keys: /^[^/]+\/kafka\/groups-/, maxBytes: 256 * MiB },
  { what: 'a file of access rules', keys: /^[^/]+\/kafka\/access-/, maxBytes: 128 * MiB },
  { what: 'a file of the schema registry', keys: /^[^/]+\/schema-registry\//, maxBytes: 256 * MiB },
  { what: 'the journal of a restore', keys: /^[^/]+\/restores\//, maxBytes: 256 * MiB },
  { what: 'an offset snapshot', keys: /^offset-snapshots\//, maxBytes: 256 * MiB },
]
const others: Omit<ObjectClass, 'keys'> = { what: 'an object that is read as a whole', maxBytes: 256 * MiB }

/** Pure. */
export function maxBytesOf(key: string): number {
  return classOf(key).maxBytes
}

/** Before memory is taken for it: the size of an object is not trusted. */
export function refuseLargeRead(key: string, size: number, location: string): void {
  const { what, maxBytes } = classOf(key)
  if (size <= maxBytes) return
  const problem = `it has ${size} bytes, and ${what} has at most ${maxBytes}`
  throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key} at ${location} is not read: ${problem}`, {
    details: { key, location, problem },
  })
}

/** What could not be read again is not written. */
export function refuseLargeWrite(key: string, size: number, location: string): void {
  const { what, maxBytes } = classOf(key)
  if (size <= maxBytes) return
  const message = `${key} at ${location} is not written: it has ${size} bytes, and ${what} has at most ${maxBytes}`
  throw new KafkaBackupError('STORAGE_REFUSED', message, {
    help: 'Divide the topics, groups or subjects of the job over several backups.',
  })
}

function classOf(key: string): Omit<ObjectClass, 'keys'> {
  return classes.find(({ keys }) => keys.test(key)) ?? others
}
