import { sealJson } from '../../src/archive/seal.ts'
import type { HostileItem } from './corpus.ts'
import { deepObject } from './corpus-documents.ts'
import type { Forgery } from './forgery.ts'
import { SNAPSHOT } from './honest-archive.ts'

function journalOf(changes: object): Buffer {
  const head = { format: 'kafka-backup-registry-journal', format_version: 1, created_at: '' }
  const lists = { emptyContexts: [], createdSubjects: [], registered: [], fillers: [] }
  return sealJson({ ...head, settings: [], ...lists, ...changes })
}

function shardOf(changes: object): Buffer {
  const head = { format: 'kafka-backup-shard', format_version: 1, tool_version: '1', backup_id: 'plain', generation: 3 }
  const rest = {
    shard: 0,
    shards: 1,
    run: 'x',
    complete: true,
    created_at: '',
    cluster: { id: 'cluster-a', brokers: 1 },
  }
  return sealJson({
    ...head,
    ...rest,
    selection: { include: ['*'], exclude: [] },
    topics: [],
    segments: {},
    warnings: [],
    ...changes,
  })
}

/** What runs leave next to a backup: journals, shards, leases, marks and snapshots. */
export const state: readonly HostileItem[] = [
  ...[
    ['that is damaged', Buffer.from('{')],
    [
      'with foreign settings',
      journalOf({
        settings: [
          {
            scope: { kind: 'subject', subject: '../x\n' },
            compatibility: 'x',
            mode: 'y',
            config: { __proto__: null, a: 1 },
          },
        ],
      }),
    ],
    ['with a million subjects', journalOf({ registered: Array(100_000).fill('x'.repeat(10)) })],
    ['of great depth', Buffer.from(deepObject)],
  ].map(([what, bytes]) => ({
    name: `journals ${String(what)}`,
    change: (archive: Forgery) => {
      // The folder is named after the address of the registry; of which it is one stands nowhere else.
      for (const name of archive.journals) archive.put(`plain/restores/${name}/2026.json`, bytes as Buffer)
    },
    isAccepted: true as const,
  })),
  ...[
    ['of another backup', shardOf({ backup_id: 'other' })],
    ['that names foreign segments', shardOf({ segments: { 'x/0': [{ key: '../../outside/secret' }] } })],
    ['that counts to infinity', shardOf({ shards: 2 ** 50, shard: 2 ** 49 })],
    ['that is damaged', Buffer.from('{')],
  ].map(([what, bytes]) => ({
    name: `a shard ${String(what)}`,
    change: (archive: Forgery) => archive.put('plain/shards/00000003/shard-0-of-1.x-1.json', bytes as Buffer),
    isAccepted: true as const,
  })),
  { name: 'a lease that is damaged', change: archive => archive.put('plain/leases/x.json', '{'), isAccepted: true },
  {
    name: 'a lease of great depth',
    change: archive => archive.put('plain/leases/x.json', deepObject),
    isAccepted: true,
  },
  {
    name: 'a lease larger than any',
    change: archive => archive.put('plain/leases/x.json', Buffer.alloc(2 << 20, ' ')),
    isAccepted: true,
  },
  {
    name: 'a file of keys larger than any',
    change: archive => archive.put('plain/keys/00000001.json', Buffer.alloc(17 << 20, ' ')),
    isAccepted: 'or refused',
  },
  {
    name: 'a writer with the last number',
    change: archive => archive.put(`plain/leases/writer-${'9'.repeat(40)}.json`, '{}'),
    isAccepted: true,
  },
  { name: 'a mark of a prune that is damaged', change: archive => archive.put('plain/manifests/pruned.json', '\0') },
  {
    name: 'a snapshot with another name',
    change: archive =>
      archive.reseal(`offset-snapshots/${SNAPSHOT}.json`, tree => {
        tree.snapshot_id = 'x'
      }),
    isAccepted: true,
  },
  {
    name: 'a snapshot whose name leads elsewhere',
    change: archive =>
      archive.put('offset-snapshots/..%2fx\n.json', archive.bytes(`offset-snapshots/${SNAPSHOT}.json`)),
    isAccepted: true,
  },
  {
    name: 'a snapshot with a group twice',
    change: archive =>
      archive.reseal(`offset-snapshots/${SNAPSHOT}.json`, tree => void tree.groups.push(tree.groups[0])),
    isAccepted: true,
  },
]
