import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { saysNothingNew } from '../../src/backup/draft-manifest.ts'

const now = Date.parse('2026-11-17T00:10:00.000Z')
const topic = { name: 'orders', id: 'id', state: 'current' as const, internal: false, replication_factor: 1 }
const newest: Manifest = {
  format: 'kafka-backup',
  format_version: 2,
  tool_version: '0.1.0',
  backup_id: 'b',
  generation: 4,
  run: 'r',
  complete: true,
  created_at: '2026-11-17T00:00:00.000Z',
  started_at: '2026-11-17T00:00:00.000Z',
  cluster: { id: 'c', brokers: 1 },
  selection: { include: ['orders'], exclude: [] },
  warnings: [],
  topics: [{ ...topic, configs: { a: '1', b: '2' }, partitions: [emptyPartition(0, 5n)] }],
}

function reversed<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).toReversed()) as T
}

test('the order of fields is not news', () => {
  const quiet = { quietMs: 3_600_000, nowMs: now }
  const [one] = newest.topics
  assert.ok(one)
  const others = { configs: reversed(one.configs ?? {}), partitions: one.partitions.map(reversed) }
  assert.equal(saysNothingNew({ ...newest, topics: [reversed({ ...one, ...others })] }, newest, quiet), true)
  assert.equal(saysNothingNew({ ...newest, topics: [{ ...one, configs: { a: '1', b: '3' } }] }, newest, quiet), false)
})
