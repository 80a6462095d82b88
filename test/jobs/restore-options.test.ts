import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { hasCode } from '../../src/errors.ts'
import { dryRunRestoreJob, restoreOptions, runRestoreJob } from '../../src/jobs/restore.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'

function jobWith(restore: string) {
  const text = `mode: restore
backup_id: orders
target: { bootstrap_servers: [127.0.0.1:1] }
storage: { backend: filesystem, path: /nowhere }
restore: ${restore}
`
  return parseJob(text, { source: 'restore.yaml', env: {}, mode: 'restore' })
}

test('a restore from a folder that is not there says so, and makes none', async () => {
  const fake = await startFakeCluster([])
  try {
    const path = join(tmpdir(), `not-there-${process.pid}`)
    const job = jobWith('{}')
    const target = { ...job.target, bootstrapServers: fake.brokers.map(({ address }) => address) }
    const lost = { ...job, target, storage: { backend: 'filesystem' as const, path } }
    const isTold = (error: unknown) => hasCode(error, 'STORAGE_NOT_FOUND') && error.message.endsWith(path)
    const { signal } = new AbortController()
    await assert.rejects(runRestoreJob(lost, { onProgress: () => undefined }, signal), isTold)
    await assert.rejects(dryRunRestoreJob(lost, signal), isTold)
    assert.equal(existsSync(path), false)
  } finally {
    await fake.close()
  }
})

describe('the options of a restore', () => {
  test('are the defaults where the job says nothing', () => {
    assert.deepEqual(restoreOptions(jobWith('{}')), {
      backupId: 'orders',
      topics: { include: ['*'], exclude: [] },
      partitions: new Map(),
      offsetRanges: new Map(),
      timeWindow: {},
      topicMapping: new Map(),
      partitionCount: new Map(),
      partitionMapping: new Map(),
      repartition: 'keep',
      createTopics: true,
      topicConfig: new Map(),
      existingTopics: 'fail',
      retention: 'fail',
      offsetHeaders: false,
      verify: false,
      order: [],
      commitIntervalMs: 5000,
      batchBytes: 1_048_576,
      memoryBudgetBytes: 100_663_296,
      connectionsPerBroker: 4,
    })
  })

  test('are all that the job says', () => {
    const job = jobWith(`
  generation: 12
  topics: { include: [orders], exclude: [audit] }
  partitions: { orders: [0, 2] }
  offset_ranges: { orders/0: { start: 10, end: 20 } }
  time_window_start: 2026-01-31T00:00:00Z
  time_window_end: 2026-02-01T00:00:00Z
  topic_mapping: { orders: orders-2 }
  partition_count: { orders: 12 }
  partition_mapping: { orders: { 0: 1, 2: 0 } }
  create_topics: true
  replication_factor: 2
  topic_config: { retention.ms: -1 }
  existing_topics: append
  retention: hold
  offset_headers: true
  verify: true
  restore_id: again
  order: [orders]
  commit_interval: 7s
  batch_bytes: 2MiB
  rate_limit: 1MiB
  memory_budget: 64MiB
  connections_per_broker: 3`)
    assert.deepEqual(restoreOptions(job), {
      backupId: 'orders',
      generation: 12,
      topics: { include: ['orders'], exclude: ['audit'] },
      partitions: new Map([['orders', [0, 2]]]),
      offsetRanges: new Map([['orders/0', { start: 10n, end: 20n }]]),
      timeWindow: { start: 1_769_817_600_000n, end: 1_769_904_000_000n },
      topicMapping: new Map([['orders', 'orders-2']]),
      partitionCount: new Map([['orders', 12]]),
      partitionMapping: new Map([
        [
          'orders',
          new Map([
            [0, 1],
            [2, 0],
          ]),
        ],
      ]),
      repartition: 'keep',
      createTopics: true,
      replicationFactor: 2,
      topicConfig: new Map([['retention.ms', '-1']]),
      existingTopics: 'append',
      retention: 'hold',
      offsetHeaders: true,
      verify: true,
      restoreId: 'again',
      order: ['orders'],
      commitIntervalMs: 7000,
      batchBytes: 2_097_152,
      bytesPerSecond: 1_048_576,
      memoryBudgetBytes: 67_108_864,
      connectionsPerBroker: 3,
    })
  })

  test('take a window that is open at one end', () => {
    const { timeWindow } = restoreOptions(jobWith('{ time_window_end: 2026-02-01T00:00:00Z }'))
    assert.deepEqual(timeWindow, { end: 1_769_904_000_000n })
  })

  test('take keys for what decides about partitions', () => {
    const options = restoreOptions(jobWith('{ repartition: by_key, partition_count: { orders: 2 } }'))
    assert.deepEqual([options.repartition, options.partitionCount.get('orders')], ['by_key', 2])
  })
})
