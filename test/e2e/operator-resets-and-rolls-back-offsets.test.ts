import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { isFull } from '../full.ts'
import { useOperatorWorld } from './operator-world.ts'
import { openCluster } from './raw-produce.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const firstTime = 1_700_000_000_000

describe('the operator resets and rolls back offsets', () => {
  const kafka = useKafka()
  const world = useOperatorWorld()
  let cluster: Cluster
  let shared: { kafkaCluster: object; storage: object }

  before(async () => {
    cluster = await openCluster(kafka.server)
    await kafka.driver.createTopic('events', { partitions: 3 })
    await kafka.driver.seedBulk('events', { count: 300, partitions: 3, valueBytes: 50, startTimestamp: firstTime })
    const { storage } = await world.stage.volume('snapshots')
    shared = { kafkaCluster: { bootstrapServers: kafka.server.bootstrapServers }, storage }
  })
  after(() => cluster?.close())

  const commit = (group: string, at: readonly bigint[]) =>
    commitGroupOffsets(
      cluster,
      group,
      at.map((offset, partition) => ({ topic: 'events', partition, offset, leaderEpoch: -1, metadata: '' })),
      never,
    )
  const positions = async (group: string) =>
    (await fetchGroupOffsets(cluster, group, 'all', never))
      .sort((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset))

  const later = { timestamp: new Date(firstTime + 30).toISOString() }
  const strategies: [name: string, spec: Record<string, unknown>, expected: number[]][] = [
    ['offset', { offset: 42 }, [42, 42, 42]],
    ['timestamp', later, [10, 10, 10]],
  ]
  // Like the others, but without a field.
  if (isFull) strategies.push(['earliest', {}, [0, 0, 0]], ['latest', {}, [100, 100, 100]])
  for (const [strategy, spec, expected] of strategies) {
    test(`resets to ${strategy}, and rolls back`, async () => {
      const groups = [`${strategy}-a`, `${strategy}-b`]
      for (const group of groups) await commit(group, [5n, 6n, 7n])
      const reset = { ...shared, groups, topics: ['events'], strategy, ...spec }
      const { status } = await world.run('offset_reset', `to-${strategy}`, reset)
      for (const group of groups) assert.deepEqual(await positions(group), expected)
      assert.ok(status.snapshotId, 'the way back is named')
      assert.equal(status.history?.[0]?.groups, 2)
      const labels = { reset_name: `to-${strategy}`, namespace: world.stage.namespace, strategy, outcome: 'success' }
      await world.operator.untilSample('kafka_backup_offset_resets_total', labels, 1)
      await world.operator.untilSample('kafka_backup_offset_reset_groups_total', labels, 2)
      await world.operator.untilSample('kafka_backup_offset_reset_duration_seconds_count', labels, 1)
      await world.run('offset_rollback', `from-${strategy}`, { ...shared, resetRef: { name: `to-${strategy}` } })
      for (const group of groups) assert.deepEqual(await positions(group), [5, 6, 7])
    })
  }

  test('a rollback waits for the reset that it refers to', async () => {
    const { stage } = world
    await commit('later', [1n, 2n, 3n])
    const back = await stage.apply('offset_rollback', 'before-it', { ...shared, resetRef: { name: 'to-come' } })
    const waiting = await stage.until(back, 'waiting', ({ message = '' }) => message.includes('to-come'))
    assert.equal(waiting.phase, 'Pending')
    await world.run('offset_reset', 'to-come', { ...shared, groups: ['later'], strategy: 'latest' })
    await stage.untilPhase(back, 'Completed')
    assert.deepEqual(await positions('later'), [1, 2, 3])
  })

  test('a dry run changes nothing', async () => {
    await commit('dry', [1n, 2n, 3n])
    await world.run('offset_reset', 'dry', { ...shared, groups: ['dry'], strategy: 'latest', dryRun: true })
    assert.deepEqual(await positions('dry'), [1, 2, 3])
  })

  test('takes a snapshot, and rolls back to it', async () => {
    await commit('kept', [1n, 2n, 3n])
    const taken = { ...shared, operation: 'snapshot' as const, groups: ['kept'] }
    const { snapshotId = '' } = (await world.run('offset_rollback', 'take', taken)).status
    assert.ok(snapshotId)
    await commit('kept', [9n, 9n, 9n])
    await world.run('offset_rollback', 'go-back', { ...shared, snapshotId })
    assert.deepEqual(await positions('kept'), [1, 2, 3])
  })

  test('names a group with members, and fails without a retry', async () => {
    await kafka.driver.holdGroup({ group: 'busy', topics: ['events'] })
    try {
      const spec = { ...shared, groups: ['busy'], strategy: 'latest' }
      const { ref, status } = await world.run('offset_reset', 'busy', spec, 'Failed')
      assert.equal(status.reason, 'GROUP_ACTIVE')
      assert.match(status.message ?? '', /busy/)
      assert.equal((await world.stage.pods(ref)).length <= 1, true)
      const labels = { reset_name: 'busy', outcome: 'failure', strategy: 'latest' }
      await world.operator.untilSample('kafka_backup_offset_resets_total', labels, 1)
    } finally {
      await kafka.driver.releaseGroup('busy')
    }
  })
})
