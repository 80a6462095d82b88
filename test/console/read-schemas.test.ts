import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeRegistry } from '../../src/archive/write-registry.ts'
import type { OpenedBackup } from '../../src/console/archive-reader.ts'
import { showReferences } from '../../src/console/pages/reference-graph.ts'
import { referencesOf } from '../../src/console/read-schemas.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, never } from '../archive/sample-archive.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

/** The graph of the first of these schemas. */
async function graphOf(references: Record<string, string[]>, wrap = (storage: Storage) => storage) {
  const storage = openMemoryStorage()
  const versions = Object.entries(references).map(([subject, refs], at) => versionOf(subject, 1, at + 1, { refs }))
  const place = { backupId: 'b1', generation: 1, run: 'run1', previous: undefined }
  const schema_registry = await writeRegistry(storage, snapshotOf(versions), place, never)
  const backup = {
    ...{ place: { at: 0, backupId: 'b1' }, newest: 1, location: { name: 'memory', storage: wrap(storage) } },
    manifest: draftManifest([], { schema_registry }),
  } as unknown as OpenedBackup
  const graph = await referencesOf(backup, versions[0] ?? assert.fail(), never)
  return { graph, page: String(showReferences(graph, backup.place)) }
}

test('the graph of references has each version once, also in a circle, and names what is missing', async () => {
  const { graph, page } = await graphOf({ a: ['b@1', 'c@1'], b: ['c@1'], c: ['a@1', 'gone@7'] })
  assert.deepEqual(
    graph.nodes.map(({ subject, level }) => [subject, level]),
    [
      ['a', 0],
      ['b', 1],
      ['c', 1],
    ],
  )
  assert.equal(graph.isCut, false)
  assert.match(page, /c version 1 refers to a version 1, gone version 7/)
  assert.equal(page.match(/class="edge"/g)?.length, 4)
})

test('a reference that a schema repeats is one line of the graph', async () => {
  const { page } = await graphOf({ a: Array(1000).fill('b@1'), b: [] })
  assert.equal(page.match(/class="edge"/g)?.length, 1)
})

test('a graph of many references ends, and says so', async () => {
  const names = Array.from({ length: 60 }, (_, at) => `s${at}`)
  const all = Object.fromEntries(names.map(name => [name, [] as string[]]))
  const { graph, page } = await graphOf({ root: names.map(name => `${name}@1`), ...all })
  assert.deepEqual([graph.nodes.length, graph.isCut], [40, true])
  assert.match(page, /There are more references: the graph ends after 40 versions/)
  const { s0: _, ...few } = all
  const whole = await graphOf({
    root: Object.keys(few)
      .slice(0, 39)
      .map(name => `${name}@1`),
    ...few,
  })
  assert.deepEqual([whole.graph.nodes.length, whole.graph.isCut], [40, false])
})

test('a storage that fails while references are read is no missing reference', async () => {
  const failing = (storage: Storage): Storage =>
    Object.create(storage, {
      read: { value: () => Promise.reject(new KafkaBackupError('STORAGE_UNAVAILABLE', 'no answer')) },
    })
  await assert.rejects(graphOf({ a: ['b@1'], b: [] }, failing), { code: 'STORAGE_UNAVAILABLE' })
})
