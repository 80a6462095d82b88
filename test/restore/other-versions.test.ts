import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const changes = { offsetHeaders: true, memoryBudgetBytes: 1 }
const source = () => [fakeTopic('orders', [[encodeRun(0n, 4)], [encodeRun(0n, 7)]])]
const whole = [[[0, 4]], [[0, 7]]]
const logs = (target: FakeTarget) => [target.log('orders'), target.log('orders', 1)]
const versions = (target: FakeTarget) => [...target.notes.values()].map(({ metadata }) => JSON.parse(metadata).w)

/** A run of version 1 that ends when it has written so many partitions, of which it writes one at a time. */
async function stopAfter(count: number, target: FakeTarget, more: object = changes, version = '1'): Promise<void> {
  const isEnough = () => logs(target).filter(log => log.length > 0).length === count
  target.before = ({ key }) => (key === API.produce && isEnough() ? 'hang-up' : undefined)
  await assert.rejects(target.restore(more, { version }), error => hasCode(error, 'KAFKA_DISCONNECTED'))
  target.before = () => undefined
}

/** What a run leaves that was killed before it noted what it had written. */
function forgetWritten({ notes }: FakeTarget): void {
  for (const note of notes.values()) {
    note.offset = 0n
    note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), q: 0, o: '0' })
  }
}

async function refusalOf(run: Promise<unknown>): Promise<string> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(hasCode(error, 'RESTORE_REFUSED'))
  return `${error.message} ${error.help}`
}

const refusal =
  /^topic orders: version 1 of kafka-backup has begun to fill it \(orders\/0\), and this is version 2: with restore\.offset_headers .*run the same command with version 1 to complete this restore; or /

describe('a restore that changes records, continued by another version', () => {
  test('is refused before the first write, and completed by the version that began it', () =>
    withFakeTarget(source(), async target => {
      await stopAfter(1, target)
      const before = logs(target)
      assert.match(await refusalOf(target.restore(changes, { version: '2' })), refusal)
      assert.match(await refusalOf(target.prepare(2, changes, '2')), refusal)
      assert.deepEqual(logs(target), before)
      assert.equal((await target.restore(changes, { version: '1' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))

  test('is refused where the earlier run was killed before it noted what it had written', () =>
    withFakeTarget(source(), async target => {
      await stopAfter(1, target)
      forgetWritten(target)
      assert.match(await refusalOf(target.restore(changes, { version: '2' })), refusal)
      assert.equal((await target.restore(changes, { version: '1' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))

  test('is not advised to delete a topic that others may write to', () =>
    withFakeTarget(source(), async target => {
      const append = { ...changes, existingTopics: 'append' as const }
      await stopAfter(1, target, append)
      const surveyed = await refusalOf(target.restore(append, { version: '2' }))
      forgetWritten(target)
      const found = await refusalOf(target.restore(append, { version: '2' }))
      for (const advice of [surveyed, found]) {
        assert.match(advice, /restore with this version under another name/)
        assert.doesNotMatch(advice, /deleted/)
      }
    }))

  test('begins where the earlier one has written nothing, and belongs to the version that writes first', () =>
    withFakeTarget(source(), async target => {
      await stopAfter(0, target)
      assert.deepEqual(versions(target), ['1', '1'])
      await stopAfter(1, target, changes, '2')
      assert.deepEqual(versions(target), ['2', '2'])
      forgetWritten(target)
      assert.match(
        await refusalOf(target.restore(changes, { version: '1' })),
        /^topic orders: version 2 .* version 1: /,
      )
      assert.equal((await target.restore(changes, { version: '2' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))

  test('is completed by it where all records are written: only settings and the end are left', () =>
    withFakeTarget(source(), async target => {
      target.before = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
      await assert.rejects(target.restore(changes, { version: '1' }), error => hasCode(error, 'KAFKA_DISCONNECTED'))
      target.before = () => undefined
      assert.equal((await target.restore(changes, { version: '2' })).isDone, true)
      assert.deepEqual(logs(target), whole)
      assert.equal((await target.restore(changes, { version: '2' })).wasComplete, true)
    }))

  test('leaves partitions as they are that shards of the earlier one have filled', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 4)], [encodeRun(0n, 7)]])], async target => {
      await target.prepare(1, changes, '1')
      await target.shard('0/1', changes)
      // As if it had not selected the last records, which the newer one does.
      for (const note of target.notes.values()) {
        note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), o: '2' })
      }
      assert.equal((await target.restore(changes, { version: '2' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))

  test('continues with notes that have no version', () =>
    withFakeTarget(source(), async target => {
      await stopAfter(1, target)
      for (const note of target.notes.values()) {
        note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), w: undefined })
      }
      assert.equal((await target.restore(changes, { version: '2' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))

  test('fills a topic that was deleted after another version had completed the restore', () =>
    withFakeTarget([...source(), fakeTopic('audit', [[encodeRun(0n, 2)]])], async target => {
      await target.restore(changes, { version: '1' })
      assert.equal((await target.restore(changes, { version: '2' })).wasComplete, true)
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'orders')
      assert.equal((await target.restore(changes, { version: '2' })).isDone, true)
      assert.deepEqual(logs(target), whole)
    }))
})

test('a restore that writes what the backup holds is continued by any version, and notes none', () =>
  withFakeTarget(source(), async target => {
    const plain = { memoryBudgetBytes: 1 }
    await stopAfter(1, target, plain)
    assert.deepEqual(versions(target), [undefined, undefined])
    assert.equal((await target.restore(plain, { version: '2' })).isDone, true)
    assert.deepEqual(logs(target), whole)
  }))

for (const [name, setting, change] of [
  ['a time window', 'a time window', { timeWindow: { start: 1n } }],
  ['keys that place records', 'restore.repartition: by_key', { repartition: 'by_key' }],
] as const) {
  test(`a restore with ${name} is bound to its version`, () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 4)], [encodeRun(0n, 7)]])], async target => {
      await stopAfter(1, target, { ...change, memoryBudgetBytes: 1 })
      const again = target.restore({ ...change, memoryBudgetBytes: 1 }, { version: '2' })
      assert.ok((await refusalOf(again)).includes(`this is version 2: with ${setting} `))
    }))
}
