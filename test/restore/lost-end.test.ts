import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakePartition, fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const PARTITIONS = 40
const OTHER = 9n
const changes = { existingTopics: 'append', memoryBudgetBytes: 1 } as const
/** Of somebody else. */
const others = (count: number, baseOffset = 0n) => encodeRun(baseOffset, count, { producerId: OTHER })
const logOf = (target: FakeTarget, partition: number) =>
  target.topic('orders')?.partitions[partition] ?? assert.fail('no such partition')

/** A restore that has appended seven records behind three of others to all partitions but the last one. */
function withInterrupted(work: (target: FakeTarget) => Promise<void>): Promise<void> {
  const all = <T>(of: () => T) => Array.from({ length: PARTITIONS }, of)
  const source = fakeTopic(
    'orders',
    all(() => [encodeRun(0n, 7)]),
  )
  return withFakeTarget([source], async target => {
    target.fake.state.topics.push(
      fakeTopic(
        'orders',
        all(() => [others(3)]),
      ),
    )
    const isAtLast = () => target.log('orders', PARTITIONS - 2).length === 2
    target.before = ({ key }) => (key === API.produce && isAtLast() ? 'hang-up' : undefined)
    await assert.rejects(target.restore(changes), error => hasCode(error, 'KAFKA_DISCONNECTED'))
    target.before = () => undefined
    await work(target)
  })
}

function replaceLog(target: FakeTarget, partition: number, ...batches: Buffer[]): void {
  Object.assign(logOf(target, partition), fakePartition(batches))
}

async function conflictOf(run: Promise<unknown>): Promise<string> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(hasCode(error, 'RESTORE_CONFLICT'))
  assert.deepEqual(error.details.topic, 'orders')
  return `${error.message} ${error.help}`
}

describe('a restore into a topic that others write to, continued', () => {
  test('writes what is left, after few requests to each broker', () =>
    withInterrupted(async target => {
      let reads = 0
      target.before = ({ key }) => {
        if (key === API.fetch) reads++
        return undefined
      }
      assert.equal((await target.restore(changes)).isDone, true)
      assert.deepEqual(target.log('orders', PARTITIONS - 1).length, 2)
      assert.ok(reads < PARTITIONS / 2, `${reads} reads`)
    }))

  test('ends where a partition has lost its end, and others have written there since', () =>
    withInterrupted(async target => {
      replaceLog(target, 5, others(3), others(8, 3n))
      const message = await conflictOf(target.restore(changes))
      const lost =
        'the target has lost records of this restore: it was filled up to 10, and at offset 3 there is a batch of another producer'
      assert.ok(message.startsWith(`orders/5: ${lost}`), message)
      assert.match(message, /restore\.topic_mapping/)
      assert.equal(target.log('orders', PARTITIONS - 1).length, 1)
    }))

  test('ends where the record at that place is another one of the same restore', () =>
    withInterrupted(async target => {
      const producerId = logOf(target, 5).batches[1]?.readBigInt64BE(43)
      assert.ok(producerId !== undefined)
      replaceLog(target, 5, others(5), encodeRun(5n, 5, { producerId }))
      assert.match(await conflictOf(target.restore(changes)), /^orders\/5: .* and at offset 5 there is sequence 0/)
    }))

  test('fills a partition in which retention has removed all that was there when its turn had not come', () =>
    withInterrupted(async target => {
      replaceLog(target, PARTITIONS - 1, others(4, 5n))
      assert.equal((await target.restore(changes)).isDone, true)
      assert.equal(target.log('orders', PARTITIONS - 1).length, 2)
      assert.equal((await target.restore({ ...changes, verify: true })).verification?.ok, true)
    }))

  test('ends where retention has removed what came behind its last noted record', () =>
    withInterrupted(async target => {
      replaceLog(target, 5, others(4, 12n))
      assert.match(
        await conflictOf(target.restore(changes)),
        /^orders\/5: .* it starts at offset 12, and what came after 10 is/,
      )
    }))

  test('continues where retention or compaction has removed the last record', () =>
    withInterrupted(async target => {
      Object.assign(logOf(target, 5), { batches: [], logStart: 10n, highWatermark: 10n, lastStable: 10n })
      replaceLog(target, 6, others(3), others(2, 12n))
      assert.equal((await target.restore(changes)).isDone, true)
      assert.equal(target.log('orders', PARTITIONS - 1).length, 2)
    }))
})

test('a restore into a topic that others write to, which had written everything, is refused where that was lost', () =>
  withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
    target.fake.state.topics.push(fakeTopic('orders', [[others(3)]]))
    await target.restore(changes)
    for (const note of target.notes.values()) note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), d: 1 })
    replaceLog(target, 0, others(3), others(8, 3n))
    await assert.rejects(target.restore(changes), {
      code: 'RESTORE_REFUSED',
      message:
        /^topic orders: this restore had filled orders\/0 up to offset 10, and at offset 3 there is a batch of another producer now: the target has lost records/,
    })
  }))

test('a restore into a topic that others write to ends where that happens while it writes', () => {
  const large = [0n, 1n, 2n].map(offset => encodeRun(offset, 1, { valueBytes: 1000 }))
  return withFakeTarget([fakeTopic('orders', [large])], async target => {
    target.fake.state.topics.push(fakeTopic('orders', [[others(3)]]))
    target.before = request => {
      if (request.key !== API.produce || target.log('orders').length !== 2) return undefined
      replaceLog(target, 0, others(3), others(9, 3n))
      return 'hang-up'
    }
    const message = await conflictOf(target.restore({ ...changes, batchBytes: 1000 }))
    assert.match(message, /^orders\/0: the target has lost records of this restore: it was filled up to 4/)
  })
})
