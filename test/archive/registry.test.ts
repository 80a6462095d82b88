import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commitGeneration } from '../../src/archive/commit.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { type Manifest, parseManifest } from '../../src/archive/manifest.ts'
import { renewCopies, renewRegistryCopies } from '../../src/archive/newest-copies.ts'
import { readRegistry } from '../../src/archive/read-registry.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { levelInForce } from '../../src/archive/registry-model.ts'
import { type RegistrySection, registryFilesOf } from '../../src/archive/registry-section.ts'
import { sealJson } from '../../src/archive/seal.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { writeRegistry } from '../../src/archive/write-registry.ts'
import { KafkaBackupError } from '../../src/errors.ts'
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
    leftOut: [{ subject: ':.eu:orders-value', version: 2, id: 7 }],
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
  assert.deepEqual(await renewCopies(storage, committed, never), [])
  return section
}

const manifestIn = (storage: MemoryStorage, generation = 1) => {
  const key = `b1/manifests/0000000${generation}.json`
  return parseManifest(storage.objects.get(key) ?? assert.fail(), key)
}

/** Every file under its plain name has the content that the manifest vouches for, and there is no other. */
function assertCurrent(storage: MemoryStorage, { schema_registry }: Pick<Manifest, 'schema_registry'>): void {
  const files = registryFilesOf(schema_registry ?? assert.fail())
  const paths = files.map(({ file }) => file.replace(/^generations\/[^/]+\//, ''))
  assert.deepEqual(currentIn(storage), paths.toSorted())
  for (const [at, { file }] of files.entries()) {
    const current = storage.objects.get(`${folder}${paths[at]}`)?.toString()
    assert.equal(current, storage.objects.get(`${folder}${file}`)?.toString(), file)
  }
}

/** The files under plain names. */
const currentIn = (storage: MemoryStorage) =>
  filesIn(storage)
    .filter(file => !file.startsWith('generations/') && file !== 'current.json')
    .sort()

const storedIn = (storage: MemoryStorage) => filesIn(storage).filter(file => file.startsWith('generations/'))

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
    assert.deepEqual(currentIn(storage), [
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
    assertCurrent(storage, manifestIn(storage))
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
        { version: 1, id: 5, schema_file: 'generations/1.run1/subjects/orders-value/v1.avsc' },
        { version: 3, id: 7, schema_file: 'generations/1.run1/subjects/orders-value/v3.avsc' },
      ],
    )
    assert.equal(id_mapping['5'], 'generations/1.run1/subjects/orders-value/v1.avsc')
    assert.equal(id_mapping[':.eu:5'], 'generations/1.run1/subjects/%3a.eu%3aorders-value/v1.avsc')
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
    const before = storedIn(storage)
    const second = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 3), versionOf('b', 1, 2, { schema: '"int"' })], {
      subjects: { c: { compatibility: 'NONE' } },
    })
    await store(storage, second, { generation: 2, run: 'run2', previous })
    assert.deepEqual(
      storedIn(storage)
        .filter(file => !before.includes(file))
        .sort(),
      ['a/metadata.json', 'a/v2.avsc', 'b/v1.avsc', 'c/metadata.json'].map(
        path => `generations/2.run2/subjects/${path}`,
      ),
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
    const again = snapshotOf([versionOf('a', 1, 1, { schema: '"long"' }), versionOf('b', 1, 2)])
    const section = await writeRegistry(storage, again, { ...place, run: 'run3' }, never)
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
      const { ok, problems, warnings, objects } = await verify(storage, deep)
      assert.deepEqual([problems, warnings, ok, objects], [[], [], true, 1 + storedIn(storage).length])
    }
  })

  for (const file of [
    '_schemas.json',
    'config/global.json',
    'subjects/orders-value/metadata.json',
    'subjects/orders-value/v1.avsc',
  ]) {
    const key = `${folder}generations/1.run1/${file}`

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

const fileNamed = (storage: MemoryStorage, path: string) => storage.objects.get(`${folder}${path}`)?.toString()

describe('the files under plain names', () => {
  const at = (generation: number, previous: RegistrySection) => ({ generation, run: `run${generation}`, previous })

  test('always have the current content, also of a version that was deleted and registered again', async () => {
    const storage = openMemoryStorage()
    const first = await store(storage, snapshotOf([versionOf('Orders.Created', 1, 1), versionOf('b', 1, 2)]))
    const changed = snapshotOf([versionOf('Orders.Created', 1, 3, { schema: '"int"' }), versionOf('b', 1, 2)], {
      subjects: { b: { compatibility: 'NONE' } },
      global: { compatibility: 'FULL', mode: 'READWRITE', config: null },
      maxIds: new Map([['.', 3]]),
    })
    const second = await store(storage, changed, at(2, first))
    assertCurrent(storage, { schema_registry: second })
    assert.equal(fileNamed(storage, 'subjects/Orders.Created/v1.avsc'), '"int"')
    assert.match(fileNamed(storage, 'subjects/b/metadata.json') ?? '', /"compatibility": "NONE"/)
    assert.match(fileNamed(storage, 'config/global.json') ?? '', /"compatibility": "FULL"/)
    assert.match(fileNamed(storage, '_schemas.json') ?? '', /"\.": 3/)
    for (const generation of [1, 2]) assert.ok(await readRegistry(storage, manifestIn(storage, generation), never))
  })

  test('go with the subject or version that the registry no longer has', async () => {
    const storage = openMemoryStorage()
    const first = await store(storage, snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2), versionOf('b', 1, 3)]))
    const second = await store(storage, snapshotOf([versionOf('a', 2, 2)]), at(2, first))
    assertCurrent(storage, { schema_registry: second })
    assert.deepEqual(currentIn(storage).slice(2), ['subjects/a/metadata.json', 'subjects/a/v2.avsc'])
  })

  test('are written only where they changed', async () => {
    const storage = openMemoryStorage()
    const first = await store(storage, snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)]))
    const calls: string[] = []
    const watched = {
      ...storage,
      replace: (key: string, body: Uint8Array, signal: AbortSignal) => {
        calls.push(key)
        return storage.replace(key, body, signal)
      },
    }
    assert.equal(await renewRegistryCopies(watched, manifestIn(storage), never), undefined)
    assert.equal(calls.length, 0)
    const next = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2), versionOf('b', 2, 3)])
    const place = { backupId: 'b1', generation: 2, run: 'run2', previous: first }
    const schema_registry = await writeRegistry(storage, next, place, never)
    await renewRegistryCopies(watched, { backup_id: 'b1', generation: 2, schema_registry }, never)
    const written = [...new Set(calls)].map(key => key.slice(folder.length)).sort()
    assert.deepEqual(written, ['current.json', 'subjects/b/metadata.json', 'subjects/b/v2.avsc'])
  })

  test('that a run could not replace are a warning, and the next run replaces them', async () => {
    const storage = openMemoryStorage()
    const first = await store(storage, snapshotOf([versionOf('a', 1, 1)]))
    const changed = snapshotOf([versionOf('a', 1, 1, { schema: '"int"' }), versionOf('b', 1, 2)])
    const place = { backupId: 'b1', generation: 2, run: 'run2', previous: first }
    const manifest = {
      backup_id: 'b1',
      generation: 2,
      schema_registry: await writeRegistry(storage, changed, place, never),
    }
    const locked = {
      ...storage,
      replace: async (key: string, body: Uint8Array, signal: AbortSignal) => {
        if (storage.objects.has(key)) throw new KafkaBackupError('STORAGE_DENIED', `${key} is locked`)
        await storage.replace(key, body, signal)
      },
    }
    const warning = await renewRegistryCopies(locked, manifest, never)
    assert.match(
      warning ?? '',
      /^the files under plain names in b1\/schema-registry\/ are not those of generation 2, which is complete: b1\/schema-registry\/\S+ is locked, and \d more$/,
    )
    assert.equal(fileNamed(storage, 'subjects/b/v1.avsc'), versionOf('b', 1, 2).schema)
    assert.notEqual(fileNamed(storage, 'subjects/a/v1.avsc'), '"int"')
    assert.equal(await renewRegistryCopies(storage, manifest, never), undefined)
    assertCurrent(storage, manifest)
  })

  test('are right after a run that died at any point of renewing them, also when the registry went back to its old state', async () => {
    for (let nth = 1; nth <= 12; nth++) {
      const storage = openMemoryStorage()
      const [old, changed] = ['"long"', '"int"'].map(schema => snapshotOf([versionOf('a', 1, 1, { schema })]))
      const first = await store(storage, old ?? assert.fail())
      const place = { backupId: 'b1', generation: 2, run: 'run2', previous: first }
      const section = await writeRegistry(storage, changed ?? assert.fail(), place, never)
      let left = nth
      const dying = {
        ...storage,
        replace: async (key: string, body: Uint8Array, signal: AbortSignal) => {
          if (--left < 0) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'dead')
          await storage.replace(key, body, signal)
        },
      }
      await renewRegistryCopies(dying, { backup_id: 'b1', generation: 2, schema_registry: section }, never)
      for (const schema_registry of [first, section, first]) {
        assert.equal(
          await renewRegistryCopies(storage, { backup_id: 'b1', generation: 3, schema_registry }, never),
          undefined,
        )
        assertCurrent(storage, { schema_registry })
      }
    }
  })

  test('are written again, and others removed, where current.json is lost or damaged', async () => {
    for (const damage of [undefined, Buffer.from('{}')]) {
      const storage = openMemoryStorage()
      await store(storage, snapshotOf([versionOf('a', 1, 1)]))
      storage.objects.set(`${folder}subjects/a/v1.avsc`, Buffer.from('changed'))
      storage.objects.set(`${folder}subjects/gone/v1.avsc`, Buffer.from('old'))
      if (damage) storage.objects.set(`${folder}current.json`, damage)
      else storage.objects.delete(`${folder}current.json`)
      assert.equal(await renewRegistryCopies(storage, manifestIn(storage), never), undefined)
      assertCurrent(storage, manifestIn(storage))
    }
  })

  test('are the only ones that are removed, whatever current.json names', async () => {
    const storage = openMemoryStorage()
    await store(storage, snapshotOf([versionOf('a', 1, 1)]))
    const named = [
      'generations/1.run1/subjects/a/v1.avsc',
      '../manifests/00000001.json',
      'notes.txt',
      'subjects/b/v1.avsc',
    ]
    const files = Object.fromEntries(named.map(path => [path, '0'.repeat(64)]))
    storage.objects.set(`${folder}subjects/b/v1.avsc`, Buffer.from('old'))
    storage.objects.set(`${folder}notes.txt`, Buffer.from('mine'))
    const document = { format: 'kafka-backup-registry-copies', format_version: 1, files }
    storage.objects.set(`${folder}current.json`, sealJson(document))
    assert.equal(await renewRegistryCopies(storage, manifestIn(storage), never), undefined)
    assert.equal(fileNamed(storage, 'notes.txt'), 'mine')
    storage.objects.delete(`${folder}notes.txt`)
    assertCurrent(storage, manifestIn(storage))
    assert.ok(await readRegistry(storage, manifestIn(storage), never))
  })

  test('that are missing or differ are a warning of verify, and no damage', async () => {
    const storage = openMemoryStorage()
    await store(storage, rich)
    const verify = (deep: boolean) => verifyBackup(storage, 'b1', { deep, onProgress: () => undefined }, never)
    const file = `${folder}subjects/orders-value/v1.avsc`
    const whole = storage.objects.get(file) ?? assert.fail()
    storage.objects.set(file, Buffer.from(whole.toString().replace('"n"', '"m"')))
    assert.deepEqual((await verify(false)).warnings, [])
    const { ok, warnings } = await verify(true)
    const remedy =
      'restores do not read it. To write it again, delete b1/schema-registry/current.json and run the backup again'
    assert.deepEqual([ok, warnings], [true, [`the content of ${file} is not that of generation 1; ${remedy}`]])
    storage.objects.delete(file)
    storage.objects.delete(`${folder}_schemas.json`)
    assert.match(
      (await verify(false)).warnings[0] ?? '',
      /^the content of b1\/schema-registry\/_schemas\.json and 1 more is not that of generation 1/,
    )
  })
})

describe('the level of a subject', () => {
  test('is the one in force, with where it is set', async () => {
    const storage = openMemoryStorage()
    const names = ['own', 'inherits', ':.eu:own', ':.eu:inherits', ':.us:inherits']
    const snapshot = snapshotOf(
      names.sort().map((name, at) => versionOf(name, 1, at + 1)),
      {
        contexts: ['.', '.eu', '.us'],
        subjects: { own: { compatibility: 'FULL' }, ':.eu:own': { compatibility: 'FORWARD' } },
        contextSettings: new Map([['.eu', { compatibility: 'NONE', mode: null, config: null }]]),
        global: { compatibility: 'BACKWARD', mode: 'READWRITE', config: null },
      },
    )
    const { subjects } = await store(storage, snapshot)
    assert.deepEqual(
      Object.fromEntries(subjects.map(one => [one.name, [one.compatibility, one.compatibility_source]])),
      {
        ':.eu:inherits': ['NONE', 'context'],
        ':.eu:own': ['FORWARD', 'subject'],
        ':.us:inherits': [null, 'default'],
        inherits: ['BACKWARD', 'global'],
        own: ['FULL', 'subject'],
      },
    )
    assert.deepEqual(await readRegistry(storage, manifestIn(storage), never), snapshot)
  })

  test('of a context without one is that of all contexts', () => {
    const contextSettings = new Map([['.__GLOBAL', { compatibility: 'FULL', mode: null, config: null }]])
    const snapshot = snapshotOf([versionOf(':.us:a', 1, 1)], { contexts: ['.', '.us'], contextSettings })
    assert.deepEqual(levelInForce(snapshot, ':.us:a'), { level: 'FULL', source: 'global' })
  })
})

test('the version of a registry that does not report one is "unknown"', async () => {
  const section = await store(openMemoryStorage(), { ...snapshotOf([versionOf('a', 1, 1)]), registryVersion: null })
  assert.equal(section.schema_registry_version, 'unknown')
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
    const { schema_registry } = await describeBackup(storage, 'b1', {}, never)
    assert.deepEqual(schema_registry, {
      enabled: true,
      taken_at: '2026-11-15T10:00:00.000Z',
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

test('a name that no reader would accept is not written', async () => {
  const storage = openMemoryStorage()
  const hostile = snapshotOf([versionOf('x'.repeat(32_768), 1, 1)])
  await assert.rejects(store(storage, hostile), { code: 'REGISTRY_PROTOCOL', message: /a name of 32768 characters/ })
  assert.equal(storage.objects.size, 0)
})
