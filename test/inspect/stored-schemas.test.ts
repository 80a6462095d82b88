import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestState, readGeneration } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { StoredSchemas } from '../../src/inspect/stored-schemas.ts'
import { backupSchemas } from '../../src/registry/backup-schemas.ts'
import { manifest } from '../cli/fake-actions.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const LATER = { takenAt: '2027-01-01T00:00:00.000Z' }
const recordOf = (name: string, field: string, type = 'int') =>
  JSON.stringify({ type: 'record', name, fields: [{ name: field, type }] })
const common = (field: string) => versionOf('common', 1, 1, { schema: recordOf('Common', field) })
const referring = { references: [{ name: 'Common', subject: 'common', version: 1 }] }
const uses = versionOf('uses', 1, 5, { schema: recordOf('Uses', 'c', 'Common'), ...referring })
const money = versionOf('money', 1, 2, { schema: recordOf('Money', 'cents') })

/** Decodes the number 42 with schemas of a generation that carries those of the one before, while the next one has read the registry again. */
async function decoderBetween(first: RegistrySnapshot, next: RegistrySnapshot) {
  const storage = openMemoryStorage()
  let runs = 0
  const backUp = (snapshot: RegistrySnapshot) =>
    backupSchemas(
      manifest.backup_id,
      {
        ...{ storage, clock: new JumpingClock(), newRun: () => `run${++runs}`, toolVersion: '0' },
        readRegistry: async () => snapshot,
        onProgress: () => undefined,
      },
      never,
    )
  await backUp(first)
  const { schema_registry } = (await newestState(storage, manifest.backup_id, never)).manifest ?? assert.fail()
  assert.ok(schema_registry)
  const carried = { generation: 2, schema_registry, carried_sections: ['schema_registry' as const] }
  const { format: _, format_version: __, ...second } = { ...manifest, ...carried }
  await commitGeneration(storage, { manifest: second, freshSegments: new Map(), attempt: 1 }, never)
  await backUp(next)
  const decoder = new SchemaDecoder(
    new StoredSchemas(storage, await readGeneration(storage, manifest.backup_id, 2, never)),
  )
  return async (id: number) => {
    const record = { key: null, value: Buffer.from([0, 0, 0, 0, id, 84]), headers: [] }
    await decoder.prepare(record, ['value'], never)
    const decoded = decoder.decode(record, 'value')
    return decoded.kind === 'decoded' ? decoded.value : decoded.kind === 'raw' ? decoded.reason : decoded.kind
  }
}

test('a schema that was registered after schemas were read is taken from the next reading', async () => {
  const decode = await decoderBetween(snapshotOf([common('x')]), snapshotOf([common('x'), money], LATER))
  assert.deepEqual(await decode(2), { cents: 42 })
})

test('schemas of a registry that was replaced decode no record, and replace no reference of schemas before', async () => {
  const next = snapshotOf([common('OTHER'), { ...money, ...referring }], LATER)
  const decode = await decoderBetween(snapshotOf([common('x'), uses]), next)
  assert.deepEqual(await decode(1), { x: 42 })
  assert.equal(await decode(2), 'the backup has no schema ID 2')
  assert.deepEqual(await decode(5), { c: { x: 42 } })
})
