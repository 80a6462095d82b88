import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { withFakeTarget } from './fake-target.ts'

const DAY_MS = 86_400_000n
const now = BigInt(new JumpingClock().now())
const aged = (days: bigint) => [encodeRun(0n, 4, { baseTimestamp: now - days * DAY_MS })]
const configs = { 'retention.ms': `${7n * DAY_MS}` }
const fail = { retention: 'fail' } as const
const LATER = /its oldest record is 30 days old; its retention of 604800000 ms will delete the older ones soon/

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
      // One partition at a time, so that the first one is complete when the run ends.
      const job = { ...fail, memoryBudgetBytes: 1 }
      let produced = 0
      target.before = ({ key }) => (key === API.produce && ++produced > 1 ? 'hang-up' : undefined)
      await assert.rejects(target.restore(job))
      target.before = () => undefined
      const { isDone, warnings } = await target.restore(job)
      assert.equal(isDone, true)
      assert.match(warnings.join(), LATER)
    }))
})

test('a topic that is older than its retention is refused before its shards begin', () =>
  withFakeTarget([fakeTopic('orders', [aged(29n), aged(30n)], { configs })], async target => {
    const message = /its newest record is 29 days old; .* would delete all of it at once/
    await assert.rejects(target.prepare(2, fail), { code: 'RESTORE_REFUSED', message })
    assert.equal(target.topic('orders'), undefined)
  }))
