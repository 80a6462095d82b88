import { sealJson } from '../../src/archive/seal.ts'
import type { HostileItem } from './corpus.ts'
import type { Forgery, Tree } from './forgery.ts'

const depth = 50_000
const deep = '['.repeat(depth) + ']'.repeat(depth)
export const deepObject = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const kinds: readonly [what: string, pattern: RegExp, isAccepted?: true][] = [
  ['manifest', /^plain\/manifests\/00000002/],
  ['index', /^plain\/kafka\/orders\/0\/index-2/],
  ['groups file', /^plain\/kafka\/groups-2/],
  ['settings of the registry', /generations\/[^/]+\/_schemas.json$/],
  ['global level', /generations\/[^/]+\/config\/global.json$/],
  ['metadata of a subject', /generations\/.*\/orders-value\/metadata.json$/],
  ['snapshot', /^offset-snapshots\//, true],
  ['list of copies', /^plain\/schema-registry\/current.json$/, true],
]

const broken: readonly [what: string, text: string][] = [
  ['nothing', ''],
  ['deep arrays', deep],
  ['deep objects', deepObject],
  ['a number', '1e999'],
  ['null', 'null'],
  ['text that is not UTF-8', '\ufffd{"a'],
  ['an array', '[]'],
]

/** An object that the manifests vouch for, with any bytes. */
function putAny(archive: Forgery, pattern: RegExp, body: string): void {
  const key = archive.find(pattern)
  if (/manifests|snapshots|current/.test(key)) archive.put(key, body)
  else archive.namedBytes(key, Buffer.from(body))
}

const proto = (tree: Tree): Tree => {
  Object.defineProperty(tree, '__proto__', {
    value: { polluted: true, complete: false },
    enumerable: true,
    configurable: true,
  })
  return tree
}

const references = (list: [string, number][]) => (archive: Forgery) =>
  archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => {
    tree.versions[0].references = list.map(([subject, version]) => ({ name: subject, subject, version }))
  })

/** As a backup with `hide_names` has it that was decrypted by a copy: nothing but the documents tells the topic. */
function hideFolder(archive: Forgery, topic: string, folder: string): void {
  const from = `plain/kafka/${topic}/`
  for (const [key, bytes] of [...archive.objects].filter(([key]) => key.startsWith(from))) {
    archive.objects.delete(key)
    archive.objects.set(key.replace(from, `plain/kafka/${folder}/`), bytes)
  }
  const moved = (value: Tree): Tree =>
    JSON.parse(JSON.stringify(value).replaceAll(`"${from}`, `"plain/kafka/${folder}/`))
  for (const generation of [1, 2]) archive.manifest(moved, generation)
  for (const key of [...archive.objects.keys()].filter(one => one.includes(`/${folder}/`) && one.includes('index-'))) {
    archive.namedBytes(key, Buffer.from(JSON.stringify(moved(archive.tree(key)))))
  }
}

export const documents: readonly HostileItem[] = [
  ...kinds.flatMap(([what, pattern, isAccepted]) =>
    broken.map(([how, text]) => ({
      name: `a ${what} of ${how}`,
      change: (archive: Forgery) => putAny(archive, pattern, text),
      ...(isAccepted && { isAccepted }),
    })),
  ),
  {
    name: 'a manifest with a field twice',
    change: archive => archive.manifestText(text => `${text},\n "complete": false, "backup_id": "other"`),
  },
  { name: 'a manifest with __proto__', change: archive => archive.manifest(proto) },
  {
    name: 'a topic with __proto__ for its settings',
    change: archive => archive.manifest(tree => void proto(tree.topics[0].configs)),
    isAccepted: true,
  },
  { name: 'an index with __proto__', change: archive => archive.index(proto) },
  {
    name: 'an id mapping with __proto__',
    change: archive => archive.manifest(tree => void proto(tree.schema_registry.id_mapping)),
    isAccepted: 'or refused',
  },
  {
    name: 'settings of a subject with __proto__',
    change: archive =>
      archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => {
        tree.config = proto({ alias: 'x' })
      }),
    isAccepted: true,
  },
  {
    name: 'settings of a subject of great depth',
    change: archive =>
      archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => {
        tree.config = { deep: JSON.parse('['.repeat(2000) + ']'.repeat(2000)) }
      }),
  },
  {
    name: 'a manifest of a later format',
    change: archive =>
      archive.manifest(tree => {
        tree.format_version = 2
      }),
  },
  {
    name: 'a manifest of format zero',
    change: archive =>
      archive.manifest(tree => {
        tree.format_version = 0
      }),
  },
  {
    name: 'a manifest with an unknown field',
    change: archive =>
      archive.manifest(tree => {
        tree.extra = 1
      }),
  },
  { name: 'a schema that refers to itself', change: references([['orders-value', 1]]), isAccepted: true },
  {
    name: 'schemas that refer to each other',
    change: references([
      ['orders-value', 2],
      ['address', 1],
    ]),
    isAccepted: true,
  },
  { name: 'a schema that refers to none', change: references([['gone', 7]]), isAccepted: true },
  { name: 'a schema that refers to version -1', change: references([['address', -1]]), isAccepted: true },
  {
    name: 'subjects that refer to one another in a circle',
    change: archive => {
      references([['address', 1]])(archive)
      archive.named(/generations\/.*\/address\/metadata.json$/, tree => {
        tree.versions[0].references = [{ name: 'orders-value', subject: 'orders-value', version: 1 }]
      })
    },
    isAccepted: true,
  },
  {
    name: 'an Avro schema of great depth',
    change: archive => {
      const text = `${'{"type":"array","items":'.repeat(20_000)}"int"${'}'.repeat(20_000)}`
      archive.namedBytes(archive.find(/generations\/.*\/orders-value\/v1.avsc$/), Buffer.from(text))
    },
    isAccepted: true,
  },
  {
    name: 'a schema that is a self-referencing record',
    change: archive => {
      const text = '{"type":"record","name":"a","fields":[{"name":"a","type":"a"}]}'
      for (const version of [1, 2])
        archive.namedBytes(archive.find(new RegExp(`generations/.*/orders-value/v${version}.avsc$`)), Buffer.from(text))
    },
    isAccepted: true,
  },
  {
    name: 'a subject twice',
    change: archive =>
      archive.manifest(tree => void tree.schema_registry.subjects.push(tree.schema_registry.subjects[1])),
  },
  {
    name: 'no subjects at all',
    change: archive =>
      archive.manifest(tree => {
        tree.schema_registry.subjects = []
      }),
    isAccepted: 'or refused',
  },
  {
    name: 'an older manifest in the place of the newest',
    change: archive => archive.put('plain/manifests/00000002.json', archive.bytes('plain/manifests/00000001.json')),
  },
  {
    name: 'an older state under a newer number',
    change: archive => {
      const { checksum: _, ...tree } = archive.tree('plain/manifests/00000001.json')
      archive.objects.set('plain/manifests/00000003.json', sealJson({ ...tree, generation: 3 }))
    },
    isAccepted: true,
  },
  {
    name: 'a manifest of another backup',
    change: archive => archive.put('plain/manifests/00000002.json', archive.bytes('other/manifests/00000001.json')),
  },
  {
    name: 'a manifest beyond all numbers',
    change: archive =>
      archive.put(`plain/manifests/${'9'.repeat(30)}.json`, archive.bytes('plain/manifests/00000002.json')),
  },
  {
    name: 'a manifest of generation zero',
    change: archive => archive.put('plain/manifests/00000000.json', archive.bytes('plain/manifests/00000001.json')),
    isAccepted: true,
  },
  {
    name: 'one generation under two names',
    change: archive => archive.put('plain/manifests/2.json', archive.bytes('plain/manifests/00000001.json')),
    isAccepted: true,
  },
  {
    name: 'two current incarnations of one topic',
    change: archive => archive.manifest(tree => void tree.topics.push({ ...tree.topics[0], id: 'f'.repeat(32) })),
  },
  {
    name: 'incarnations with one id and one number',
    change: archive =>
      archive.manifest(tree => void tree.topics.push({ ...tree.topics[0], state: 'replaced', replaced_at: '' })),
  },
  {
    name: 'a replaced incarnation alone',
    change: archive =>
      archive.manifest(tree => {
        tree.topics[0].state = 'replaced'
      }),
    isAccepted: true,
  },
  {
    name: 'a topic of Kafka itself that says it is not',
    change: archive =>
      archive.manifest(tree => {
        tree.topics[0].name = '__consumer_offsets'
      }),
  },
  {
    name: 'a topic twice',
    change: archive => archive.manifest(tree => void tree.topics.push(tree.topics[0])),
  },
  {
    name: 'a topic twice, absent and current',
    change: archive =>
      archive.manifest(tree => void tree.topics.push({ ...tree.topics[0], state: 'absent', id: 'e'.repeat(32) })),
  },
  {
    name: 'a topic without data twice',
    change: archive =>
      archive.manifest(tree => {
        const empty = { ...tree.topics[0], name: 'empty', partitions: [] }
        tree.topics.push({ ...empty, id: 'a'.repeat(32) }, { ...empty, id: 'b'.repeat(32) })
      }),
  },
  {
    name: 'topics that have each other’s names',
    change: archive =>
      archive.manifest(tree => {
        const [one, other] = tree.topics
        ;[one.name, other.name] = [other.name, one.name]
      }),
  },
  {
    name: 'a topic renamed in its manifest',
    change: archive =>
      archive.manifest(tree => {
        tree.topics[1].name = 'renamed'
      }),
  },
  {
    name: 'a topic renamed in its manifest and its indexes',
    change: archive => {
      for (const index of [/^plain\/kafka\/orders\/0\/index-2/, /^plain\/kafka\/orders\/1\/index-1/])
        archive.named(index, tree => {
          tree.topic = 'renamed'
        })
      archive.manifest(tree => {
        tree.topics[1].name = 'renamed'
      })
    },
  },
  {
    name: 'an index that names another topic than its manifest',
    change: archive =>
      archive.index(tree => {
        tree.topic = 'audit'
      }),
  },
  {
    name: 'a topic renamed whose folders look like hidden names',
    change: archive => {
      hideFolder(archive, 'orders', 'f'.repeat(32))
      archive.manifest(tree => {
        tree.topics[1].name = 'renamed'
      })
    },
  },
  {
    name: 'a version of a subject twice',
    change: archive => {
      archive.manifest(tree => {
        const subject = tree.schema_registry.subjects.find((one: Tree) => one.name === 'orders-value')
        subject.versions.push(subject.versions[0])
      })
    },
  },
  {
    name: 'a group twice',
    change: archive => {
      archive.named(/^plain\/kafka\/groups-2/, tree => void tree.groups.push(tree.groups[0]))
      archive.manifest(tree => {
        tree.consumer_groups.groups = 2
      })
    },
  },
  {
    name: 'a committed offset of a group twice',
    change: archive =>
      archive.named(
        /^plain\/kafka\/groups-2/,
        tree => void tree.groups[0].positions.push({ ...tree.groups[0].positions[0], offset: 0 }),
      ),
  },
]
