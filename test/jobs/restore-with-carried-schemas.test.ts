import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { carrySchemas } from '../restore/carried-schemas.ts'
import { backUpTopics } from '../restore/fake-target.ts'
import { type SchemaTarget, withSchemaTarget } from './schema-target.ts'

const never = new AbortController().signal
const orders = () =>
  fakeTopic(
    'orders',
    [0, 1].map(partition => [encodeBatch({ records: [{ value: framed(5, `v${partition}`) }] })]),
  )
const first = [versionOf('orders-value', 1, 5), versionOf('orders-value', 2, 6)]
const schemas = snapshotOf(first)
const taken = snapshotOf([versionOf('others', 1, 100)])

/** A later snapshot with one schema more. */
const addSnapshot = (storage: Storage, version = 3) => {
  const versions = [...first, versionOf('orders-value', version, 4 + version)]
  return backUpTopics(storage, [orders()], snapshotOf(versions, { takenAt: `2026-11-16T1${version}:00:00.000Z` }))
}

const withCarried = (work: (target: SchemaTarget, generation: number) => Promise<void>) =>
  withSchemaTarget({ topics: [orders()], schemas }, taken, async target => {
    await work(target, await carrySchemas(target.storage))
  })

const countVersions = ({ registry }: SchemaTarget) => registry.versions('orders-value', 'live').length

describe('a restore of a generation that carries the schemas of another', () => {
  test('keeps to the schemas that its preparation chose, although the backup has a later snapshot by now', () =>
    withCarried(async (target, carried) => {
      await target.prepare(2)
      await target.shard('0/2')
      await addSnapshot(target.storage)
      await target.shard('1/2')
      const { isDone, generation, schemas: report } = await target.finish()
      assert.deepEqual([isDone, generation, report?.versions.register], [true, carried, 0])
      assert.equal((await target.compare()).ok, true)
      assert.equal(countVersions(target), 2)
    }))

  test('keeps to the later snapshot with which it began, although there is one more', () =>
    withCarried(async (target, generation) => {
      await addSnapshot(target.storage, 3)
      const ofGeneration = { generation }
      await target.prepare(2, {}, ofGeneration)
      assert.equal(countVersions(target), 3)
      await addSnapshot(target.storage, 4)
      for (const one of ['0/2', '1/2']) await target.shard(one, {}, ofGeneration)
      assert.equal((await target.finish({}, ofGeneration)).isDone, true)
      assert.equal(countVersions(target), 3)
    }))

  test('refuses to continue where the schemas with which it began are gone', () =>
    withCarried(async (target, generation) => {
      await addSnapshot(target.storage, 3)
      const { generation: last } = await openBackup(target.storage, 'b1', never)
      await addSnapshot(target.storage, 4)
      const ofGeneration = { generation }
      await target.prepare(2, {}, ofGeneration)
      for (let later = generation + 1; later <= last; later++) {
        await target.storage.remove(manifestKey('b1', later), never)
      }
      const gone = { code: 'RESTORE_REFUSED', message: /began with the schemas that were read at 2026-11-16T13/ }
      await assert.rejects(target.shard('0/2', {}, ofGeneration), gone)
      await assert.rejects(target.finish({}, ofGeneration), gone)
    }))

  test('continues with its schemas also where one process was killed before it had noted its end', () =>
    withCarried(async target => {
      await target.run()
      for (const [key, { offset, metadata }] of target.kafka.notes) {
        target.kafka.notes.set(key, { offset, metadata: JSON.stringify({ ...JSON.parse(metadata), d: 0 }) })
      }
      await addSnapshot(target.storage)
      assert.equal((await target.run()).isDone, true)
      assert.equal((await target.compare()).ok, true)
      assert.equal(countVersions(target), 2)
    }))
})
