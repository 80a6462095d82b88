import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { planRollback } from '../../src/offsets/plan-rollback.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import { formatScript } from '../../src/offsets/script.ts'
import { takeSnapshot } from '../../src/offsets/take-snapshot.ts'
import { type FakeOffsets, fakeOffsets, memoryBook, plainLog } from './fake-offsets.ts'

const never = new AbortController().signal
const latest = { strategy: 'latest', selection: { groups: ['queue'], topics: ['orders'], partitions: [] } } as const

function cluster(): FakeOffsets {
  const fake = fakeOffsets({ orders: [plainLog(10), plainLog(10)] })
  fake.put('queue', { 'orders/0': 1 }, { type: 'share' })
  for (const one of fake.groups.get('queue')?.positions.values() ?? [])
    Object.assign(one, { metadata: '', leaderEpoch: -1 })
  return fake
}

test('a reset sets start offsets of a share group and tells before what is delivered again; a rollback leads back', async () => {
  const fake = cluster()
  const parts = { port: fake, book: memoryBook().book }
  const plan = await planOffsets(latest, fake, never)
  assert.deepEqual(
    plan.groups[0]?.positions.map(({ note }) => note),
    Array(2).fill('records from here on are delivered again, also acknowledged ones'),
  )
  const { snapshotId, groups } = await runPlan(plan, parts, never)
  assert.deepEqual([groups[0]?.outcome, fake.at('queue')], ['done', { 'orders/0': 10, 'orders/1': 10 }])
  const snapshot = await parts.book.read(snapshotId ?? '', never)
  const back = await runPlan(await planRollback(snapshot, [], fake, never), parts, never)
  assert.deepEqual([back.groups[0]?.outcome, fake.at('queue')], ['done', { 'orders/0': 1 }])
})

test('a share group that was deleted is created again as a share group', async () => {
  const fake = cluster()
  const parts = { port: fake, book: memoryBook().book }
  const snapshot = await takeSnapshot(['queue'], parts, never)
  fake.groups.delete('queue')
  const { groups } = await runPlan(await planRollback(snapshot, [], fake, never), parts, never)
  assert.deepEqual(
    [groups[0]?.outcome, fake.groups.get('queue')?.type, fake.at('queue')],
    ['done', 'share', { 'orders/0': 1 }],
  )
})

test('start offsets are not set for a group of another type, which is named with both types', async () => {
  const fake = cluster()
  const snapshot = await takeSnapshot(['queue'], { port: fake, book: memoryBook().book }, never)
  fake.put('queue', {})
  const [rollback] = (await planRollback(snapshot, [], fake, never)).groups
  const message = `group queue is a classic group on this cluster and a share group in the snapshot ${snapshot.snapshot_id}`
  assert.deepEqual([rollback?.error?.code, rollback?.error?.message], ['OFFSETS_REFUSED', message])
  const origin = { name: 'the snapshot', clusterId: 'cluster-a', groups: snapshot.groups }
  const [reset] = (await planOffsets({ ...latest, strategy: 'from_backup', origin }, fake, never)).groups
  assert.match(reset?.error?.message ?? '', /is a classic group on this cluster and a share group in the snapshot/)
})

test('a script leaves a share group out, because no tool of Kafka sets a start offset', async () => {
  const script = formatScript(await planOffsets(latest, cluster(), never), {
    bootstrapServers: ['a:1'],
    isSecure: false,
  })
  assert.match(script, /# group queue is left out: it is a share group, .*kafka-backup offsets reset/)
  assert.doesNotMatch(script, /--group queue/)
})
