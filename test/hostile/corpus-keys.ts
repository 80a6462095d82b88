import { hashOf } from '../../src/archive/hash.ts'
import type { HostileItem } from './corpus.ts'
import type { Tree } from './forgery.ts'

const elsewhere = [
  '../outside/secret',
  'plain/kafka/orders/0/../../../../outside/secret',
  '/etc/passwd',
  'plain/kafka//orders/0/x',
  'plain/kafka/orders/0/..\\..\\outside',
  'plain/kafka/orders/0/index-2.a\0b.json',
  'plain/kafka/orders/0/index-2.a\nb.json',
  'file:///etc/passwd',
  '',
  '.',
  `plain/${'x/'.repeat(600)}y`,
]

const otherClasses = [
  'plain/manifests/pruned.json',
  'plain/manifests/00000001.json',
  'plain/keys/00000001.json',
  'plain/leases/x.json',
  'other/manifests/00000001.json',
  'other/kafka/orders/0/index-1.x.json',
  'offset-snapshots/20260101t000000z-00000000.json',
]

const partitionOf = (tree: Tree) => tree.topics[1].partitions[0]
const named = (key: string) => JSON.stringify(key.length > 60 ? `${key.slice(0, 20)}…` : key)

const references: readonly [what: string, set: (tree: Tree, key: string) => void][] = [
  ['an index', (tree, key) => Object.assign(partitionOf(tree).indexes[0], { key })],
  ['the groups', (tree, key) => Object.assign(tree.consumer_groups, { key })],
  ['the access rules', (tree, key) => Object.assign(tree, { access: accessAt(key) })],
  ['the registry settings', (tree, key) => Object.assign(tree.schema_registry.settings, { file: key })],
  ['a schema', (tree, key) => Object.assign(tree.schema_registry.subjects[1].versions[0], { schema_file: key })],
  ['a reread', (tree, key) => Object.assign(partitionOf(tree), { reread: rereadAt(partitionOf(tree), key) })],
  ['kept groups', (tree, key) => Object.assign(tree.topics[1], { consumer_groups: { ...tree.consumer_groups, key } })],
]

function accessAt(key: string): Tree {
  const off = { state: 'off' }
  const blake3 = hashOf(Buffer.alloc(0))
  return { taken_at: '2026-01-01T00:00:00.000Z', key, size: 0, blake3, acls: off, quotas: off, users: off }
}

function rereadAt({ reread: _, ...partition }: Tree, key: string): Tree {
  return { ...partition, indexes: [{ ...partition.indexes[0], key }] }
}

/** Each reference meets every way out, and every object of another class that there is. */
export const keys: readonly HostileItem[] = [
  ...references.flatMap(([what, set], at) => pick(what, set, elsewhere, at, 3)),
  ...references.flatMap(([what, set], at) => pick(what, set, otherClasses, at, 2)),
  ...[...elsewhere, ...otherClasses].map(
    key =>
      ({
        name: `a segment is at ${named(key)}`,
        change: archive => archive.index(tree => void Object.assign(tree.segments[0], { key })),
      }) satisfies HostileItem,
  ),
  {
    name: 'an index of another partition',
    change: archive =>
      archive.manifest(tree => {
        partitionOf(tree).indexes = tree.topics[1].partitions[1].indexes
      }),
  },
  {
    name: 'an index of another backup, with its key',
    change: archive =>
      archive.index(tree => {
        tree.segments = archive.tree(archive.find(/^other\/kafka\/orders\/0\/index/)).segments
      }),
  },
  {
    name: 'two partitions that claim one segment',
    change: archive =>
      archive.named(/^plain\/kafka\/orders\/1\/index/, tree => {
        tree.segments = archive.tree(archive.find(/^plain\/kafka\/orders\/0\/index-1/)).segments
      }),
  },
  {
    name: 'one segment listed twice',
    change: archive => archive.index(tree => void tree.segments.push(tree.segments[0])),
  },
  {
    name: 'one index named twice',
    change: archive => archive.manifest(tree => void partitionOf(tree).indexes.push(partitionOf(tree).indexes[0])),
  },
]

function pick(
  what: string,
  set: (tree: Tree, key: string) => void,
  all: readonly string[],
  start: number,
  count: number,
): HostileItem[] {
  return Array.from({ length: count }, (_, at) => all[(start * count + at) % all.length] ?? '').map(key => ({
    name: `${what} at ${named(key)}`,
    change: archive => archive.manifest(tree => void set(tree, key)),
  }))
}
