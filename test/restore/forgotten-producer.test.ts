import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findForgetting } from '../../src/restore/forgotten-producer.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { kafka21, kafka28 } from '../fakes/kafka-releases.ts'

const never = new AbortController().signal
const nowMs = Date.parse('2026-01-31T00:00:00Z')
const DAY = 86_400_000
const aged = (days: number) =>
  new Map([['orders', { oldest: BigInt(nowMs - days * DAY), newest: null, largestBytes: 1 }]])
const lasting = (days: number) =>
  new Map([['transactional.id.expiration.ms', { value: `${days * DAY}`, source: 'default' as const }]])

test('a restore of old records to brokers that refuse a forgotten producer warns before the first write', async () => {
  const fake = await startFakeCluster([])
  try {
    const found = async (versions: typeof kafka21, days: number, defaults = new Map()) => {
      fake.state.versions = () => versions
      const cluster = await fake.open()
      const target = await cluster.metadata({ topics: null }, never)
      return findForgetting(cluster, { target, extents: aged(days), defaults, nowMs }, never)
    }
    const [finding, ...others] = await found(kafka21, 8)
    assert.deepEqual(others, [])
    assert.equal(finding?.severity, 'warning')
    assert.match(finding?.problem ?? '', /^its brokers are older than Kafka 2\.5: .* records older than 168h/)
    assert.deepEqual(await found(kafka21, 6), [])
    assert.deepEqual(await found(kafka21, 8, lasting(10)), [])
    assert.equal((await found(kafka21, 11, lasting(10))).length, 1)
    assert.deepEqual(await found(kafka28, 8), [])
  } finally {
    await fake.close()
  }
})
