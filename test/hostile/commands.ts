import { SEALED, SNAPSHOT } from './honest-archive.ts'

/** Where a command finds what it needs; all paths are below one folder of the test. */
export interface Place {
  /** The location with the hostile archive. */
  location: string
  /** Another location, which holds an honest copy. */
  target: string
  backupId: string
  keyFile: string
  backupJob: string
  restoreJob: string
  mapping: string
  bootstrap: string
  registryUrl: string
}

export interface ReadingCommand {
  /** Without the format. */
  argv: (place: Place) => string[]
  /** Over the honest archive; 0 without it. */
  exits?: number
  /** It changes the location by design, and works on a copy of its own. */
  changes?: true
  /** It writes to `target`, which holds an honest copy. */
  usesTarget?: true
  /** It finds everything that is wrong with a backup. */
  provesDamage?: true
  /** Serves until it is stopped. */
  serves?: true
}

/** Why a command needs no row: it reads no archive. */
export type NoReader = { readsNothing: string }

const one = ({ location, backupId, keyFile }: Place): string[] => [
  ...['--path', location, '--backup-id', backupId],
  ...(backupId === SEALED ? ['--key-file', keyFile] : []),
]
const key = ({ backupId, keyFile }: Place): string[] => (backupId === SEALED ? ['--key-file', keyFile] : [])
const cluster = (place: Place): string[] => [
  ...['--bootstrap-server', place.bootstrap, '--path', place.location],
  ...key(place),
]
const fromBackup = (place: Place): string[] => [
  ...['--group', '*', '--strategy', 'from_backup', '--backup-id', place.backupId],
]
const fromSnapshot = ['--group', '*', '--strategy', 'header_based', '--from-snapshot', SNAPSHOT]

/**
 * By command, or by command and action. Every command of the program has a row; a new one without fails the test, so that
 * no reader of archives is left out.
 */
export const readers: Record<string, readonly ReadingCommand[] | NoReader> = {
  list: [
    { argv: place => ['list', '--path', place.location, ...key(place)] },
    { argv: place => ['list', '--generations', ...one(place)] },
  ],
  status: [{ argv: place => ['status', '--interval', '3650d', '--path', place.location, ...key(place)] }],
  describe: [
    { argv: place => ['describe', ...one(place)] },
    { argv: place => ['describe', '--as-of', '2099-01-01T00:00:00Z', ...one(place)] },
  ],
  verify: [
    { argv: place => ['verify', '--no-record', ...one(place)] },
    { argv: place => ['verify', '--no-record', '--deep', ...one(place)], provesDamage: true },
    { argv: place => ['verify', ...one(place)], changes: true },
  ],
  repair: [
    { argv: place => ['repair', '--dry-run', '--deep', ...one(place)] },
    { argv: place => ['repair', '--yes', ...one(place)], changes: true },
  ],
  hold: [
    { argv: place => ['hold', ...one(place)], changes: true },
    { argv: place => ['hold', '--release', '--generation', '1', ...one(place)], changes: true, exits: 1 },
  ],
  cat: [
    { argv: place => ['cat', '--topic', '*', '--with-aborted', ...one(place)] },
    { argv: place => ['cat', '--topic', '*', '--newest', '2', ...one(place)] },
  ],
  search: [
    { argv: place => ['search', '--text', 'x', ...one(place)] },
    { argv: place => ['search', '--where', 'a.b=c', '--count', ...one(place)] },
  ],
  export: [
    {
      argv: place => ['export', '--topic', '*', '--with-aborted', '--out', `${place.target}/files`, ...one(place)],
      usesTarget: true,
    },
    {
      argv: place => [
        ...['export', '--topic', '*', '--as', 'csv', '--where', 'a.b=c', '--out', `${place.target}/files`],
        ...one(place),
      ],
      usesTarget: true,
    },
  ],
  diff: [{ argv: place => ['diff', '--from', '1', ...one(place)] }],
  init: { readsNothing: 'it asks a cluster for its topics, and writes a job file' },
  check: [{ argv: place => ['check', '--config', place.restoreJob] }],
  backup: [
    { argv: place => ['backup', '--dry-run', '--config', place.backupJob] },
    { argv: place => ['backup', '--config', place.backupJob], changes: true },
    { argv: place => ['backup', '--commit', '--config', place.backupJob], changes: true, exits: 4 },
  ],
  restore: [
    { argv: place => ['restore', '--dry-run', '--config', place.restoreJob] },
    {
      argv: place => [
        ...['restore', '--dry-run', '--config', place.restoreJob],
        ...['--set', 'restore.filter.where=a.b=c', '--set', 'restore.filter.not_decoded=skip'],
      ],
    },
  ],
  prune: [
    {
      argv: place => [
        ...['prune', '--dry-run', '--path', place.location, '--older-than', '1m', '--grace', '1m'],
        ...key(place),
      ],
    },
    {
      argv: place => [
        ...['prune', '--yes', '--path', place.location, '--keep-last', '1', '--older-than', '1m', '--grace', '0s'],
        ...key(place),
      ],
      changes: true,
    },
    { argv: place => ['prune', '--path', place.location, '--keep', place.backupId], changes: true, exits: 1 },
  ],
  delete: [
    { argv: place => ['delete', '--dry-run', '--path', place.location, '--backup-id', place.backupId] },
    { argv: place => ['delete', '--yes', '--path', place.location, '--match', '*'], changes: true },
  ],
  copy: [
    {
      argv: place => [
        ...['copy', '--from', place.location, '--to', place.target, '--backup-id', place.backupId],
        ...key(place),
      ],
      usesTarget: true,
    },
    {
      argv: place => ['copy', '--dry-run', '--all', '--from', place.location, '--to', place.target, ...key(place)],
      usesTarget: true,
    },
  ],
  // Its restore is that of `restore`; a topic that the backup does not have ends it before it writes anything.
  'drill run': [
    {
      argv: place => [
        ...['drill', 'run', '--config', place.restoreJob, '--evidence', `${place.target}-drills`],
        ...['--topic', 'not-in-this-backup'],
      ],
      exits: 1,
    },
  ],
  import: { readsNothing: 'it reads archives of another program' },
  'drill verify': { readsNothing: 'it reads the evidence of a drill, and no archive' },
  compare: [{ argv: place => ['compare', '--config', place.restoreJob], exits: 3 }],
  'offset-map': [{ argv: place => ['offset-map', '--config', place.restoreJob], exits: 1 }],
  topics: [{ argv: place => ['topics', '--strimzi-cluster', 'k', ...one(place)] }],
  'schemas list': [{ argv: place => ['schemas', 'list', ...one(place)] }],
  'schemas diff': [{ argv: place => ['schemas', 'diff', ...one(place), '--against', place.registryUrl], exits: 3 }],
  'schemas plan': [{ argv: place => ['schemas', 'plan', '--config', place.restoreJob] }],
  'schemas restore': [{ argv: place => ['schemas', 'restore', '--dry-run', '--config', place.restoreJob] }],
  'schemas backup': [{ argv: place => ['schemas', 'backup', '--config', place.backupJob], changes: true }],
  console: [
    { argv: place => ['console', '--listen', '127.0.0.1:0', '--path', place.location, ...key(place)], serves: true },
  ],
  'registry serve': [{ argv: place => ['registry', 'serve', '--listen', '127.0.0.1:0', ...one(place)], serves: true }],
  'registry probe': { readsNothing: 'it asks a registry what it can do' },
  'offsets list': [{ argv: place => ['offsets', 'list', ...cluster(place)] }],
  'offsets show': [{ argv: place => ['offsets', 'show', '--group', '*', ...cluster(place)] }],
  'offsets plan': [
    { argv: place => ['offsets', 'plan', ...cluster(place), ...fromBackup(place)] },
    { argv: place => ['offsets', 'plan', ...cluster(place), ...fromSnapshot], exits: 1 },
  ],
  'offsets script': [
    { argv: place => ['offsets', 'script', ...cluster(place), ...fromBackup(place)] },
    {
      argv: place => [
        ...['offsets', 'script', ...cluster(place), '--group', '*', '--strategy', 'from_mapping'],
        ...['--mapping', place.mapping, '--from-snapshot', SNAPSHOT],
      ],
    },
  ],
  'offsets reset': [{ argv: place => ['offsets', 'reset', '--dry-run', ...cluster(place), ...fromBackup(place)] }],
  'offsets snapshot': { readsNothing: 'it writes the committed offsets of a cluster' },
  'offsets snapshots': [{ argv: place => ['offsets', 'snapshots', '--path', place.location] }],
  'offsets rollback': [
    { argv: place => ['offsets', 'rollback', '--dry-run', '--snapshot-id', SNAPSHOT, ...cluster(place)] },
  ],
  'offsets verify': [{ argv: place => ['offsets', 'verify', '--snapshot-id', SNAPSHOT, ...cluster(place)], exits: 3 }],
  'offsets delete': [
    {
      argv: place => ['offsets', 'delete', '--yes', '--snapshot-id', SNAPSHOT, '--path', place.location],
      changes: true,
    },
  ],
  'key new': { readsNothing: 'it makes a key' },
  'key list': [{ argv: place => ['key', 'list', '--path', place.location, '--backup-id', place.backupId], exits: 1 }],
  'key rewrap': [
    {
      argv: place => [
        ...['key', 'rewrap', '--path', place.location, '--backup-id', place.backupId],
        ...['--key-file', place.keyFile, '--recipient-file', place.keyFile],
      ],
      changes: true,
      exits: 1,
    },
  ],
  operator: { readsNothing: 'it reads Kubernetes resources and starts Jobs' },
  crds: { readsNothing: 'it prints definitions' },
  'kubectl describe': { readsNothing: 'it reads resources of an API server' },
  'kubectl logs': { readsNothing: 'it reads resources of an API server' },
  'kubectl status': { readsNothing: 'it reads resources of an API server' },
  'kubectl trigger': { readsNothing: 'it reads resources of an API server' },
  completion: [
    { argv: place => ['completion', 'names', '--', 'describe', '--path', place.location, ''] },
    {
      argv: place => [
        ...['completion', 'names', '--', 'cat', '--path', place.location],
        ...['--backup-id', place.backupId, '--topic', ''],
      ],
    },
  ],
}
