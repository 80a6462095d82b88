import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listGenerations, newestState } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { shardsPrefix } from '../../src/archive/layout.ts'
import { readRegistry } from '../../src/archive/read-registry.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { hasCode } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { backupSchemas } from '../../src/registry/backup-schemas.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { manifest } from '../cli/fake-actions.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const one = snapshotOf([versionOf('a', 1, 1)])
const two = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2)])

let runs = 0
function backUp(storage: Storage, snapshot: RegistrySnapshot, onProgress = (_: ProgressEvent) => {}) {
  const newRun = () => `run${++runs}`
  const readRegistry = async () => snapshot
  const parts = { storage, clock: new JumpingClock(), newRun, readRegistry, toolVersion: '0', onProgress }
  return backupSchemas('orders', parts, never)
}

async function newest(storage: Storage) {
  return (await newestState(storage, 'orders', never)).manifest ?? assert.fail('nothing is committed')
}

/** A generation of a data backup. */
async function commitData(storage: MemoryStorage, changes: Partial<typeof manifest> = {}) {
  const { format: _, format_version: __, ...rest } = { ...manifest, generation: 1, ...changes }
  await commitGeneration(storage, { manifest: rest, freshSegments: new Map(), attempt: 1 }, never)
}

test('a first backup of schemas has no topics, and is whole', async () => {
  const storage = openMemoryStorage()
  const events: ProgressEvent[] = []
  const report = await backUp(storage, two, event => events.push(event))
  const { durationMs: _, ...told } = report
  assert.deepEqual(told, {
    backupId: 'orders',
    generation: 1,
    isChanged: true,
    subjects: 1,
    versions: 2,
    topics: 0,
    warnings: [],
  })
  const made = await newest(storage)
  assert.deepEqual([made.topics, made.cluster, made.complete], [[], { id: null, brokers: 0 }, true])
  assert.deepEqual((await readRegistry(storage, made, never))?.versions, two.versions)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['schemas_read', 'committed'],
  )
  const { problems } = await verifyBackup(storage, 'orders', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(problems, [])
  assert.ok(storage.objects.has('orders/manifest.json'))
})

test('a registry that has not changed makes no generation, and writes nothing', async () => {
  const storage = openMemoryStorage()
  await backUp(storage, one)
  const before = [...storage.objects.keys()]
  const report = await backUp(storage, { ...one, takenAt: '2027-01-01T00:00:00.000Z' })
  assert.deepEqual([report.isChanged, report.generation], [false, 1])
  assert.deepEqual([...storage.objects.keys()], before)
  assert.equal((await backUp(storage, two)).generation, 2)
})

test('after a backup of data no topic, cluster, selection or state is lost', async () => {
  const storage = openMemoryStorage()
  await commitData(storage, { complete: false })
  const report = await backUp(storage, one)
  assert.deepEqual([report.generation, report.topics], [2, 1])
  const { topics, cluster, selection, complete } = await newest(storage)
  assert.deepEqual([topics, cluster, selection], [manifest.topics, manifest.cluster, manifest.selection])
  assert.equal(complete, false)
})

test('nor are the positions of groups and the access rules', async () => {
  const storage = openMemoryStorage()
  const off = { state: 'off' } as const
  const object = { key: 'orders/kafka/access-1.r.json', size: 1, blake3: '0'.repeat(64) }
  const access = { taken_at: 't', ...object, acls: { state: 'taken', count: 3 } as const, quotas: off, users: off }
  await commitData(storage, { consumer_groups: off, access })
  await backUp(storage, one)
  const kept = await newest(storage)
  assert.deepEqual([kept.consumer_groups, kept.access], [off, access])
})

test('warnings about topics stay, those about schemas are those of the newest reading', async () => {
  const storage = openMemoryStorage()
  await commitData(storage, { warnings: ['orders/0 has an open transaction'] })
  await backUp(storage, { ...one, warnings: ['old'] })
  const report = await backUp(storage, { ...two, warnings: ['new'] })
  assert.deepEqual(report.warnings, ['new'])
  assert.deepEqual((await newest(storage)).warnings, ['orders/0 has an open transaction', 'new'])
})

test('a registry that has not changed makes a generation where the newest one carries older schemas', async () => {
  const storage = openMemoryStorage()
  await backUp(storage, one)
  const { schema_registry } = await newest(storage)
  assert.ok(schema_registry)
  const carried_sections = ['schema_registry', 'access'] as ['schema_registry', 'access']
  await commitData(storage, { generation: 2, schema_registry, carried_sections, topic_settings_at: 'then' })
  const report = await backUp(storage, { ...one, takenAt: '2027-01-01T00:00:00.000Z' })
  assert.deepEqual([report.isChanged, report.generation], [false, 3])
  const made = await newest(storage)
  assert.equal(made.schema_registry?.backup_timestamp, '2027-01-01T00:00:00.000Z')
  assert.deepEqual([made.carried_sections, made.topic_settings_at], [['access'], 'then'])
  assert.equal((await backUp(storage, one)).generation, 3)
})

test('shards that wait to be committed are not made worthless', async () => {
  const storage = openMemoryStorage()
  await commitData(storage)
  const key = `${shardsPrefix('orders', 2)}shard-0-of-2.x.json`
  storage.objects.set(key, Buffer.from('{}'))
  await assert.rejects(
    backUp(storage, one),
    error => hasCode(error, 'WRITER_CONFLICT') && error.message.startsWith(key) && /backup --commit/.test(error.help),
  )
  assert.deepEqual(await listGenerations(storage, 'orders', never), [1])
})

test('another writer that was faster is not overwritten', async () => {
  const storage = openMemoryStorage()
  const readRegistry = async () => {
    await commitData(storage)
    return one
  }
  const clock = new JumpingClock()
  const parts = { storage, clock, newRun: () => 'mine', readRegistry, toolVersion: '0', onProgress: () => undefined }
  await assert.rejects(backupSchemas('orders', parts, never), error => hasCode(error, 'WRITER_CONFLICT'))
  assert.equal((await newest(storage)).run, manifest.run)
})
