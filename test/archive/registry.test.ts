import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commitGeneration, renewManifestCopy } from '../../src/archive/commit.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { parseManifest } from '../../src/archive/manifest.ts'
import { readRegistry } from '../../src/archive/read-registry.ts'
import type { RegistrySection } from '../../src/archive/registry-section.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { writeRegistry } from '../../src/archive/write-registry.ts'
import type { RegistrySnapshot } from '../../src/registry/model.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { draftManifest, never } from './sample-archive.ts'

const folder = 'b1/schema-registry/'
const text = '{"type":"record","name":"R","fields":[{"name":"n","type":"long","default":9223372036854775807}]}\n  '

const rich = snapshotOf(
  [
    versionOf('orders-value', 1, 5, { schema: text, isDeleted: true }),
    versionOf('orders-value', 3, 7, {
      refs: ['common@2'],
      metadata: { tags: { a: ['PII'] }, properties: { owner: 'me', big: 1e300, exact: 2 ** 63 } },
      ruleSet: { domainRules: [{ name: 'r', kind: 'CONDITION' }] },
      guid: 'b5a3c9a0-0000-0000-0000-000000000001',
    }),
    versionOf('common', 2, 6, { isPulledIn: true, schemaType: 'JSON', schema: '\ufeff{"$id":"x"}' }),
    versionOf('google/any.proto', 1, 8, { schemaType: 'PROTOBUF', schema: 'syntax = "proto3"; // 😀 é \u2028' }),
    versionOf(':.eu:orders-value', 1, 5),
    versionOf('../x', 1, 9, { schema: '"\ud800"' }),
    versionOf('', 1, 10),
  ].sort((a, b) => (a.subject < b.subject ? -1 : a.subject > b.subject ? 1 : a.version - b.version)),
  {
    contexts: ['.', '.eu'],
    subjects: {
      'orders-value': { compatibility: 'FULL', mode: 'READONLY', config: { normalize: true, alias: 'x' } },
    },
    contextSettings: new Map([['.eu', { compatibility: 'NONE', mode: null, config: null }]]),
    maxIds: new Map([
      ['.', 17],
      ['.eu', 5],
    ]),
    skippedDeleted: 2,
    warnings: ['something'],
  },
)

async function store(
  storage: MemoryStorage,
  snapshot: RegistrySnapshot,
  { generation = 1, run = 'run1', previous }: { generation?: number; run?: string; previous?: RegistrySection } = {},
): Promise<RegistrySection> {
  const section = await writeRegistry(storage, snapshot, { backupId: 'b1', generation, run, previous }, never)
  const manifest = draftManifest([], { generation, run, schema_registry: section })
  const { manifest: committed } = await commitGeneration(
    storage,
    { manifest, freshSegments: new Map(), attempt: 1 },
    never,
  )
  await renewManifestCopy(storage, committed, never)
  return section
}

const manifestIn = (storage: MemoryStorage, generation = 1) => {
  const key = `b1/manifests/0000000${generation}.json`
  return parseManifest(storage.objects.get(key) ?? assert.fail(), key)
}

const filesIn = (storage: MemoryStorage) =>
  [...storage.objects.keys()].filter(key => key.startsWith(folder)).map(key => key.slice(folder.length))

describe('a registry in an archive', () => {
  test('is read back exactly as it was (edge 16, 17, 31)', async () => {
    const storage = openMemoryStorage()
    await store(storage, rich)
    assert.deepEqual(await readRegistry(storage, manifestIn(storage), never), rich)
  })

  test('lies under the names of the format, with the texts of schemas as they are', async () => {
    const storage = openMemoryStorage()
    await store(storage, rich)
    assert.deepEqual(filesIn(storage).sort(), [
      '_schemas.json',
      'config/global.json',
      'subjects/%/metadata.json',
      'subjects/%/v1.avsc',
      'subjects/%2e.%2fx/metadata.json',
      'subjects/%2e.%2fx/v1.avsc',
      'subjects/%3a.eu%3aorders-value/metadata.json',
      'subjects/%3a.eu%3aorders-value/v1.avsc',
      'subjects/common/metadata.json',
      'subjects/common/v2.json',
      'subjects/google%2fany.proto/metadata.json',
      'subjects/google%2fany.proto/v1.proto',
      'subjects/orders-value/metadata.json',
      'subjects/orders-value/v1.avsc',
      'subjects/orders-value/v3.avsc',
    ])
    assert.equal(storage.objects.get(`${folder}subjects/orders-value/v1.avsc`)?.toString(), text)
  })

  test('is in the manifest with its subjects, versions and ids, those of other contexts apart (edge 33)', async () => {
    const storage = openMemoryStorage()
    const section = await store(storage, rich)
    assert.deepEqual(manifestIn(storage).schema_registry, section)
    const { schema_registry_version, backup_timestamp, id_mapping } = section
    assert.deepEqual([schema_registry_version, backup_timestamp], ['8.0.0', '2026-11-15T10:00:00.000Z'])
    const orders = section.subjects.find(({ name }) => name === 'orders-value')
    assert.deepEqual([orders?.schema_type, orders?.compatibility], ['AVRO', 'FULL'])
    assert.deepEqual(
      orders?.versions.map(({ version, id, schema_file }) => ({ version, id, schema_file })),
      [
        { version: 1, id: 5, schema_file: 'subjects/orders-value/v1.avsc' },
        { version: 3, id: 7, schema_file: 'subjects/orders-value/v3.avsc' },
      ],
    )
    assert.equal(id_mapping['5'], 'subjects/orders-value/v1.avsc')
    assert.equal(id_mapping[':.eu:5'], 'subjects/%3a.eu%3aorders-value/v1.avsc')
    assert.deepEqual(Object.keys(id_mapping).sort(), ['10', '5', '6', '7', '8', '9', ':.eu:5'])
  })

  test('is the same on a file system, whatever its subjects are called (edge 14, 15)', async () => {
    const path = await mkdtemp(join(tmpdir(), 'registry-'))
    const storage = openStorage({ backend: 'filesystem', path })
    try {
      const names = ['../x', 'Orders', 'orders', 'a/b', '..', '.', 'a b%+?#', 'ü'.repeat(300), 'x'.repeat(300), '']
      const snapshot = snapshotOf(names.sort().map((name, at) => versionOf(name, 1, at + 1)))
      const place = { backupId: 'b1', generation: 1, run: 'run1', previous: undefined }
      const schema_registry = await writeRegistry(storage, snapshot, place, never)
      assert.deepEqual(await readRegistry(storage, { backup_id: 'b1', schema_registry }, never), snapshot)
    } finally {
      await storage.close()
      await rm(path, { recursive: true })
    }
  })

  test('that is empty, or has only deleted subjects, is one too (edge 42)', async () => {
    for (const snapshot of [snapshotOf([]), snapshotOf([versionOf('gone', 1, 1, { isDeleted: true })])]) {
      const storage = openMemoryStorage()
      await store(storage, snapshot)
      assert.deepEqual(await readRegistry(storage, manifestIn(storage), never), snapshot)
    }
  })

  test('is none where the backup has none', async () => {
    assert.equal(await readRegistry(openMemoryStorage(), { backup_id: 'b1' }, never), undefined)
  })
})

describe('a later generation', () => {
  const first = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])

  test('writes nothing where nothing changed', async () => {
    const storage = openMemoryStorage()
    const previous = await store(storage, first)
    const before = filesIn(storage)
    const later = { ...first, takenAt: '2026-11-16T10:00:00.000Z' }
    const section = await store(storage, later, { generation: 2, run: 'run2', previous })
    assert.deepEqual(filesIn(storage), before)
    assert.deepEqual(section, { ...previous, backup_timestamp: later.takenAt })
  })

  test('gives what changed a new name, and leaves the old generation as it was', async () => {
    const storage = openMemoryStorage()
    const previous = await store(storage, first)
    const before = filesIn(storage)
    const second = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 3), versionOf('b', 1, 2, { schema: '"int"' })], {
      subjects: { c: { compatibility: 'NONE' } },
    })
    await store(storage, second, { generation: 2, run: 'run2', previous })
    assert.deepEqual(
      filesIn(storage)
        .filter(file => !before.includes(file))
        .sort(),
      ['subjects/a/metadata.g2.json', 'subjects/a/v2.avsc', 'subjects/b/v1.g2.avsc', 'subjects/c/metadata.json'],
    )
    assert.deepEqual(await readRegistry(storage, manifestIn(storage, 1), never), first)
    assert.deepEqual(await readRegistry(storage, manifestIn(storage, 2), never), second)
  })

  test('is not held up by what a run has left behind that died before its commit', async () => {
    const storage = openMemoryStorage()
    const place = { backupId: 'b1', generation: 1, run: 'dead', previous: undefined }
    await writeRegistry(storage, first, place, never)
    const changed = snapshotOf([versionOf('a', 1, 1, { schema: '"int"' }), versionOf('b', 1, 2)])
    await store(storage, changed)
    assert.ok(filesIn(storage).includes('subjects/a/v1.g1.avsc'))
    const again = snapshotOf([versionOf('a', 1, 1, { schema: '"long"' }), versionOf('b', 1, 2)])
    const section = await writeRegistry(storage, again, { ...place, run: 'run3' }, never)
    assert.ok(filesIn(storage).includes('subjects/a/v1.g1.run3.avsc'))
    assert.deepEqual(await readRegistry(storage, { backup_id: 'b1', schema_registry: section }, never), again)
    assert.deepEqual(await readRegistry(storage, manifestIn(storage), never), changed)
  })
})

describe('verify of a registry', () => {
  const verify = (storage: MemoryStorage, deep: boolean) =>
    verifyBackup(storage, 'b1', { deep, onProgress: () => undefined }, never)

  test('passes one that is whole, and counts its objects', async () => {
    const storage = openMemoryStorage()
    await store(storage, rich)
    for (const deep of [false, true]) {
      const { ok, problems, objects } = await verify(storage, deep)
      assert.deepEqual([problems, ok, objects], [[], true, 1 + filesIn(storage).length])
    }
  })

  for (const file of [
    '_schemas.json',
    'config/global.json',
    'subjects/orders-value/metadata.json',
    'subjects/orders-value/v1.avsc',
  ]) {
    const key = `${folder}${file}`

    test(`finds that ${file} is missing or torn, without reading texts`, async () => {
      const storage = openMemoryStorage()
      await store(storage, rich)
      const whole = storage.objects.get(key) ?? assert.fail()
      storage.objects.delete(key)
      assert.deepEqual((await verify(storage, false)).problems, [{ key, problem: 'the object is missing' }])
      storage.objects.set(key, whole.subarray(0, 10))
      const problem = `it has 10 bytes instead of ${whole.length}`
      assert.deepEqual((await verify(storage, false)).problems, [{ key, problem }])
      await assert.rejects(readRegistry(storage, manifestIn(storage), never), { code: 'ARCHIVE_DAMAGED' })
    })

    test(`finds a changed byte of ${file}`, async () => {
      const storage = openMemoryStorage()
      await store(storage, rich)
      const bytes = storage.objects.get(key) ?? assert.fail()
      bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 1
      const problems = [{ key, problem: 'it is not the object that the manifest recorded' }]
      assert.deepEqual((await verify(storage, true)).problems, problems)
      assert.deepEqual((await verify(storage, false)).problems, file.endsWith('.avsc') ? [] : problems)
    })
  }
})

describe('describe of a registry', () => {
  test('counts subjects and versions, and has the newest live id of each subject (edge 9)', async () => {
    const storage = openMemoryStorage()
    const versions = [
      versionOf('a', 1, 4),
      versionOf('a', 2, 9),
      versionOf('a', 3, 7, { isDeleted: true }),
      versionOf('gone', 1, 2, { isDeleted: true }),
    ]
    await store(storage, snapshotOf(versions, { subjects: { bare: {} } }))
    const { schema_registry } = await describeBackup(storage, 'b1', never)
    assert.deepEqual(schema_registry, {
      enabled: true,
      subjects_count: 3,
      schemas_count: 4,
      subjects: [
        { name: 'a', versions: 3, latest_id: 9 },
        { name: 'bare', versions: 0, latest_id: null },
        { name: 'gone', versions: 1, latest_id: 2 },
      ],
    })
  })
})
