import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const DAY_MS = 86_400_000n
const now = BigInt(new JumpingClock().now())
const aged = (days: bigint) => [encodeRun(0n, 4, { baseTimestamp: now - days * DAY_MS })]
const configs = { 'retention.ms': `${7n * DAY_MS}` }
const fail = { retention: 'fail' } as const
const LATER = /its oldest record is 30 days old; its retention of 604800000 ms will delete the older ones soon/

/** A run that ends then; it fills one partition at a time. */
async function completeFirstPartition(target: FakeTarget, changes: Partial<RestoreOptions> = {}) {
  const job = { ...fail, memoryBudgetBytes: 1, ...changes }
  let produced = 0
  target.before = ({ key }) => (key === API.produce && ++produced > 1 ? 'hang-up' : undefined)
  await assert.rejects(target.restore(job))
  target.before = () => undefined
  return job
}

describe('a topic of which one partition is older than its retention', () => {
  const orders = () => [fakeTopic('orders', [aged(1n), aged(30n)], { configs })]

  test('is restored by shards, one of which has only that partition', () =>
    withFakeTarget(orders(), async target => {
      assert.match((await target.prepare(2, fail)).warnings.join(), LATER)
      for (const one of ['0/2', '1/2']) assert.equal((await target.shard(one, fail)).totals.records, 4)
      assert.equal((await target.finish(fail)).isDone, true)
    }))

  test('is completed by a run that finds the others filled', () =>
    withFakeTarget(orders(), async target => {
      const job = await completeFirstPartition(target)
      const { isDone, warnings } = await target.restore(job)
      assert.equal(isDone, true)
      assert.match(warnings.join(), LATER)
    }))
})

describe('a topic that becomes older than its retention while it is restored', () => {
  const orders = () => [fakeTopic('orders', [aged(6n), aged(5n)], { configs })]
  const DELETED = {
    code: 'RESTORE_REFUSED',
    message: /orders: its newest record is 8 days old; .* would delete all of it at once/,
  }
  const hold = { retention: 'hold' } as const

  test('is refused by each shard, whose own partitions are not all of it', () =>
    withFakeTarget(orders(), async target => {
      await target.prepare(2, fail)
      target.fake.clock.pass(Number(3n * DAY_MS))
      for (const one of ['0/2', '1/2']) await assert.rejects(target.shard(one, fail), DELETED)
      for (const one of ['0/2', '1/2']) assert.equal((await target.shard(one, hold)).totals.records, 4)
      assert.equal((await target.finish(hold)).isDone, true)
    }))

  test('is refused by a run that continues with its last partition', () =>
    withFakeTarget(orders(), async target => {
      const job = await completeFirstPartition(target)
      target.fake.clock.pass(Number(3n * DAY_MS))
      await assert.rejects(target.restore(job), DELETED)
      assert.equal((await target.restore({ ...job, ...hold })).isDone, true)
    }))

  test('is refused by a run that continues when only another topic is left to write', () =>
    withFakeTarget(
      [fakeTopic('audit', [aged(6n)], { configs }), fakeTopic('zoo', [aged(0n)], { configs })],
      async target => {
        const job = await completeFirstPartition(target)
        target.fake.clock.pass(Number(3n * DAY_MS))
        const message = /audit: its newest record is 9 days old; .* would delete all of it at once/
        await assert.rejects(target.restore(job), { code: 'RESTORE_REFUSED', message })
        assert.equal((await target.restore({ ...job, ...hold })).isDone, true)
      },
    ))

  test('is refused by a run that continues when what is left has no record of the window', () =>
    withFakeTarget(
      [fakeTopic('orders', [aged(6n), aged(1n)], { configs }), fakeTopic('zoo', [aged(6n)])],
      async target => {
        const timeWindow = { end: now - 5n * DAY_MS }
        const job = { ...(await completeFirstPartition(target, { timeWindow })), timeWindow }
        target.fake.clock.pass(Number(3n * DAY_MS))
        const message = /orders: its newest record is 9 days old; .* would delete all of it at once/
        await assert.rejects(target.restore(job), { code: 'RESTORE_REFUSED', message })
      },
    ))

  test('does not get its retention when its shards are done and only finished later', () =>
    withFakeTarget(orders(), async target => {
      await target.prepare(2, fail)
      for (const one of ['0/2', '1/2']) await target.shard(one, fail)
      target.fake.clock.pass(Number(3n * DAY_MS))
      await assert.rejects(target.finish(fail), DELETED)
      assert.equal(target.topic('orders')?.configs['retention.ms'], '-1')
      assert.equal((await target.finish({ retention: 'apply' })).isDone, true)
      assert.equal(target.topic('orders')?.configs['retention.ms'], `${7n * DAY_MS}`)
    }))
})

test('a shard warns of records that retention will delete soon', () =>
  withFakeTarget([fakeTopic('orders', [aged(1n), aged(6n)], { configs })], async target => {
    assert.deepEqual((await target.prepare(2, fail)).warnings, [])
    target.fake.clock.pass(Number(3n * DAY_MS))
    const { warnings } = await target.shard('1/2', fail)
    assert.match(warnings.join(), /its oldest record is 9 days old; .* will delete the older ones soon/)
  }))

test('a topic that is older than its retention is refused before its shards begin', () =>
  withFakeTarget([fakeTopic('orders', [aged(29n), aged(30n)], { configs })], async target => {
    const message = /its newest record is 29 days old; .* would delete all of it at once/
    await assert.rejects(target.prepare(2, fail), { code: 'RESTORE_REFUSED', message })
    assert.equal(target.topic('orders'), undefined)
  }))
