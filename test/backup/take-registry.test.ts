import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../../src/archive/manifest.ts'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import type { Prepared } from '../../src/backup/round.ts'
import { takeRegistry } from '../../src/backup/take-sections.ts'
import { draftManifest, never } from '../archive/sample-archive.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

test('a registry that holds nothing any more is stored as it is, and that is told', async () => {
  const storage = openMemoryStorage()
  const take = (snapshot: RegistrySnapshot, previous: Manifest | undefined) => {
    const prepared = { plan: { warnings: [] }, previous } as unknown as Prepared
    const parts = { storage, newRun: () => 'run', readRegistry: async () => snapshot, onProgress: () => undefined }
    return takeRegistry(prepared, 'b1', parts, never)
  }
  const first = await take(snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2)]), undefined)
  const manifest = { ...draftManifest([], { generation: 4 }), schema_registry: first.registry } as Manifest
  assert.deepEqual(first.plan.warnings, [])
  assert.deepEqual((await take(snapshotOf([versionOf('b', 1, 3)]), manifest)).plan.warnings, [])
  const { registry, plan } = await take(snapshotOf([]), manifest)
  assert.deepEqual(registry?.subjects, [])
  assert.deepEqual(plan.warnings, [
    'the schema registry no longer has any schemas; generation 4 has 2 versions of 1 subjects, and can still be restored',
  ])
})
