import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { parsePathCondition } from '../../src/inspect/json-path.ts'
import { restoreFilter } from '../../src/inspect/restore-filter.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { carrySchemas } from './carried-schemas.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'

const never = new AbortController().signal
const schema = '{"type":"record","name":"Order","fields":[{"name":"status","type":"string"}]}'
const known = [versionOf('orders-value', 1, 5, { schema })]
const later = (takenAt: string) => snapshotOf([...known, versionOf('orders-value', 2, 6, { schema })], { takenAt })
/** Four characters of text, as Avro writes them. */
const order = (id: number) => ({ key: Buffer.from(`${id}`), value: framed(id, '\bopen') })
const orders = () =>
  fakeTopic(
    'orders',
    [0, 1].map(() => [5, 6, 5].map((id, at) => encodeBatch({ baseOffset: BigInt(at), records: [order(id)] }))),
  )
/** By a filter that leaves out what it cannot decode; each run opens it again. */
const open = () => ({
  filter: restoreFilter({
    ...{ keys: [], keyPrefixes: [], headers: [], texts: [], notDecoded: 'skip' as const },
    paths: [parsePathCondition('status=open')],
  }),
})

/** The keys of the restored records, by partition. */
const keysOf = (target: FakeTarget) =>
  target.topic('orders')?.partitions.map(({ batches }) =>
    batches
      .flatMap(batch => [...walkBatches(batch, 0, batch.length)].flatMap(header => decodeRecords(batch, header)))
      .map(({ key }) => `${key}`)
      .join(),
  )

/** A generation that was committed before the registry was read again: schema 6 is not in it. */
async function withCarried(work: (target: FakeTarget, storage: Storage, generation: number) => Promise<void>) {
  const storage = openMemoryStorage()
  const run = async (target: FakeTarget) => work(target, storage, await carrySchemas(storage))
  await withFakeTarget([orders()], run, storage, snapshotOf(known))
}
const readAgain = (storage: Storage, hour = 13) =>
  backUpTopics(storage, [orders()], later(`2026-11-16T${hour}:00:00.000Z`))

describe('a filter that decodes with the schemas of a backup', () => {
  test('selects the same records in all shards, although the backup has read newer schemas meanwhile', () =>
    withCarried(async (target, storage) => {
      await target.prepare(2, open())
      await target.shard('0/2', open())
      await readAgain(storage)
      await target.shard('1/2', open())
      await target.finish(open())
      assert.deepEqual(keysOf(target), ['5,5', '5,5'])
      assert.match(target.warned.join(), /restore\.filter: .* schemas that were registered since are missing/)
    }))

  test('neither loses nor repeats a record in a run that continues, although the backup has read newer schemas meanwhile', () =>
    withCarried(async (target, storage) => {
      let isWritten = false
      target.before = ({ key }) => {
        if (key === API.produce) isWritten = true
        return key === API.offsetCommit && isWritten ? 'hang-up' : undefined
      }
      await assert.rejects(target.restore(open()))
      target.before = () => undefined
      await readAgain(storage)
      await target.restore(open())
      assert.deepEqual(keysOf(target), ['5,5', '5,5'])
    }))

  test('keeps to the later schemas with which the restore began, and refuses to continue without them', () =>
    withCarried(async (target, storage, generation) => {
      await readAgain(storage)
      const { generation: last } = await openBackup(storage, 'b1', never)
      const job = () => ({ ...open(), generation })
      await target.prepare(2, job())
      await target.shard('0/2', job())
      await readAgain(storage, 14)
      for (let one = generation + 1; one <= last; one++) await storage.remove(manifestKey('b1', one), never)
      await assert.rejects(target.shard('1/2', job()), {
        code: 'RESTORE_REFUSED',
        message: /began with the schemas that were read at 2026-11-16T13/,
      })
      assert.deepEqual(keysOf(target), ['5,6,5', ''])
    }))
})
