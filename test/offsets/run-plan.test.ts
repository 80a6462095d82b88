import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { verifySnapshot } from '../../src/offsets/compare-snapshot.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { planRollback } from '../../src/offsets/plan-rollback.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import { takeSnapshot } from '../../src/offsets/take-snapshot.ts'
import { type FakeOffsets, fakeOffsets, memoryBook, plainLog } from './fake-offsets.ts'

const never = new AbortController().signal
const latest = (groups: string[], topics: string[] = []) =>
  ({ strategy: 'latest', selection: { groups, topics, partitions: [] } }) as const

function cluster(groups = 1): FakeOffsets {
  const fake = fakeOffsets({ orders: [plainLog(10), plainLog(10)] })
  for (let i = 0; i < groups; i++) fake.put(`g${i}`, { 'orders/0': 1 })
  return fake
}

test('positions are kept, then set, then read back', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const plan = await planOffsets(latest(['g0'], ['orders']), fake, never)
  const told: string[] = []
  const onSnapshot = (id: string) => told.push(`${id} ${JSON.stringify(fake.at('g0'))}`)
  const report = await runPlan(plan, { port: fake, book, onSnapshot }, never)
  assert.deepEqual(
    report.groups.map(({ outcome }) => outcome),
    ['done'],
  )
  assert.deepEqual(told, [`${report.snapshotId} {"orders/0":1}`], 'before anything is changed')
  assert.deepEqual(fake.at('g0'), { 'orders/0': 10, 'orders/1': 10 })
  assert.deepEqual(fake.calls, ['read 1', 'commit g0', 'read 1'])
  const kept = await book.read(report.snapshotId ?? '', never)
  assert.equal(kept.reason, 'reset')
  assert.deepEqual(kept.groups[0]?.positions, [
    { topic: 'orders', partition: 0, offset: 1n, leader_epoch: 4, metadata: 'mine' },
  ])
  assert.deepEqual(kept.groups[0]?.absent, [{ topic: 'orders', partition: 1 }])
})

test('a rollback leads back exactly, and can be undone in the same way', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const before = structuredClone(fake.groups.get('g0')?.positions)
  const parts = { port: fake, book }
  const reset = await runPlan(await planOffsets(latest(['g0'], ['orders']), fake, never), parts, never)
  const first = await book.read(reset.snapshotId ?? '', never)
  const back = await runPlan(await planRollback(first, [], fake, never), parts, never)
  assert.deepEqual(fake.groups.get('g0')?.positions, before, 'with metadata and epoch, and no position more')
  assert.equal((await verifySnapshot(first, true, fake, never)).ok, true)
  const own = await book.read(back.snapshotId ?? '', never)
  assert.equal(own.reason, 'rollback')
  await runPlan(await planRollback(own, [], fake, never), parts, never)
  assert.deepEqual(fake.at('g0'), { 'orders/0': 10, 'orders/1': 10 })
  const nothing = await runPlan(await planRollback(own, [], fake, never), parts, never)
  assert.deepEqual([nothing.snapshotId, nothing.groups[0]?.outcome], [null, 'unchanged'])
})

test('an attempt after one that was killed keeps its snapshot, also if nothing is left to change', async () => {
  const fake = cluster(3)
  const { book } = memoryBook()
  const request = latest(['g*'], ['orders'])
  const parts = { port: fake, book, snapshotAs: 'run-1' }
  const killed = new AbortController()
  fake.onChange = group => {
    if (group !== 'g1') return
    killed.abort(new Error('killed'))
    throw new Error('killed')
  }
  await assert.rejects(runPlan(await planOffsets(request, fake, never), parts, killed.signal))
  assert.deepEqual([fake.at('g0'), fake.at('g1')], [{ 'orders/0': 10, 'orders/1': 10 }, { 'orders/0': 1 }])
  fake.onChange = () => undefined
  const told: string[] = []
  const onSnapshot = (id: string) => told.push(id)
  const again = await runPlan(await planOffsets(request, fake, never), { ...parts, onSnapshot }, never)
  const third = await runPlan(await planOffsets(request, fake, never), { ...parts, onSnapshot }, never)
  assert.deepEqual([again.snapshotId, third.snapshotId, told], ['run-1', 'run-1', ['run-1', 'run-1']])
  assert.equal((await book.list(never)).length, 1)
  await runPlan(await planRollback(await book.read('run-1', never), [], fake, never), { port: fake, book }, never)
  assert.deepEqual(
    ['g0', 'g1', 'g2'].map(group => fake.at(group)),
    [{ 'orders/0': 1 }, { 'orders/0': 1 }, { 'orders/0': 1 }],
  )
})

test('an attempt keeps what the snapshot of the one before lacks in another snapshot', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const parts = { port: fake, book, snapshotAs: 'run-1' }
  await runPlan(await planOffsets(latest(['g*'], ['orders']), fake, never), parts, never)
  fake.put('g1', { 'orders/0': 7 })
  const told: string[] = []
  const onSnapshot = (id: string) => told.push(id)
  const again = await runPlan(
    await planOffsets(latest(['g*'], ['orders']), fake, never),
    { ...parts, onSnapshot },
    never,
  )
  assert.deepEqual([again.snapshotId, told.length, told[1]], ['run-1', 2, 'run-1'])
  const other = await book.read(told[0] ?? '', never)
  assert.equal(other.groups.find(({ group }) => group === 'g1')?.positions[0]?.offset, 7n)
  fake.clusterName = 'cluster-b'
  const elsewhere = await planOffsets({ ...latest(['g*'], ['orders']), strategy: 'earliest' }, fake, never)
  await assert.rejects(runPlan(elsewhere, parts, never), { code: 'OFFSETS_REFUSED' })
})

test('an ID that is used again for another reset does not lose the offsets from before it', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const parts = { port: fake, book, snapshotAs: 'run-1' }
  await runPlan(await planOffsets(latest(['g0']), fake, never), parts, never)
  fake.put('g0', { 'orders/0': 6 })
  const told: string[] = []
  const again = await runPlan(
    await planOffsets({ ...latest(['g0']), strategy: 'earliest' }, fake, never),
    { ...parts, onSnapshot: id => told.push(id) },
    never,
  )
  assert.deepEqual([again.snapshotId, told.length, fake.at('g0')], ['run-1', 2, { 'orders/0': 0 }])
  const other = await book.read(told[0] ?? '', never)
  assert.equal(other.groups[0]?.positions[0]?.offset, 6n)
})

test('groups that are set and cannot be read back at all are named, each as failed', async () => {
  const fake = cluster(2)
  const { book } = memoryBook()
  const plan = await planOffsets(latest(['g*']), fake, never)
  fake.readPositions = async () => {
    throw new KafkaBackupError('KAFKA_UNREACHABLE', 'no broker answers')
  }
  const report = await runPlan(plan, { port: fake, book }, never)
  assert.deepEqual(
    report.groups.map(({ outcome, error }) => [outcome, error?.message]),
    ['g0', 'g1'].map(group => ['failed', `group ${group} was set, but cannot be read back: no broker answers`]),
  )
  assert.notEqual(report.snapshotId, null)
})

test('a rollback is for the cluster of the snapshot, and for groups that were read then', async () => {
  const fake = cluster(2)
  fake.put('g1', {}, { unreadable: new KafkaBackupError('KAFKA_DENIED', 'not yours') })
  const { book } = memoryBook()
  const snapshot = await takeSnapshot([], { port: fake, book }, never)
  assert.equal(snapshot.groups[1]?.error, 'not yours')
  fake.put('g1', { 'orders/0': 3 })
  fake.put('g0', { 'orders/0': 9 })
  const report = await runPlan(await planRollback(snapshot, [], fake, never), { port: fake, book }, never)
  assert.deepEqual(
    report.groups.map(({ outcome }) => outcome),
    ['done', 'failed'],
  )
  assert.deepEqual([fake.at('g0'), fake.at('g1')], [{ 'orders/0': 1 }, { 'orders/0': 3 }])
  fake.clusterName = 'cluster-b'
  await assert.rejects(planRollback(snapshot, [], fake, never), {
    code: 'OFFSETS_REFUSED',
    message: /cluster-a.*cluster-b/,
  })
})

test('a rollback to a topic that is gone sets what it can, and says the rest', async () => {
  const fake = cluster()
  fake.topics.set('audit', [plainLog(5)])
  fake.put('g0', { 'orders/0': 1, 'audit/0': 2 })
  const { book } = memoryBook()
  const snapshot = await takeSnapshot(['g0'], { port: fake, book }, never)
  fake.put('g0', { 'orders/0': 8 })
  fake.topics.delete('audit')
  const report = await runPlan(await planRollback(snapshot, [], fake, never), { port: fake, book }, never)
  assert.equal(report.groups[0]?.outcome, 'partly')
  const problems = report.groups[0]?.planned.positions.map(({ problem }) => problem)
  assert.deepEqual(problems, ['the topic does not exist on this cluster', undefined])
  assert.deepEqual(fake.at('g0'), { 'orders/0': 1 })
})

test('groups with members are refused by name before anything is written', async () => {
  const fake = cluster(3)
  fake.put('g1', { 'orders/0': 1 }, { members: 2 })
  const { book, storage } = memoryBook()
  const plan = await planOffsets(latest(['g*']), fake, never)
  await assert.rejects(runPlan(plan, { port: fake, book }, never), {
    code: 'GROUP_ACTIVE',
    message: 'consumer groups with active members: g1 (Stable, 2 members)',
  })
  assert.equal(storage.objects.size, 0)
  assert.deepEqual(fake.at('g0'), { 'orders/0': 1 })
})

test('one group of 200 that fails, and one that became active after the plan, are told; the others are set', async () => {
  const fake = cluster(200)
  const { book } = memoryBook()
  const plan = await planOffsets(latest(['g*']), fake, never)
  fake.onChange = group => {
    if (group === 'g77') throw new KafkaBackupError('KAFKA_DENIED', 'g77 is not yours')
  }
  fake.put('g150', { 'orders/0': 1 }, { members: 1 })
  const report = await runPlan(plan, { port: fake, book }, never)
  const failed = report.groups.filter(({ outcome }) => outcome === 'failed')
  assert.deepEqual(
    failed.map(({ planned, error }) => [planned.now.group, error?.code, error?.message]),
    [
      [
        'g150',
        'GROUP_ACTIVE',
        'consumers joined group g150 after the plan was made, so not all of its offsets were set',
      ],
      ['g77', 'KAFKA_DENIED', 'g77 is not yours'],
    ],
  )
  assert.equal(report.groups.filter(({ outcome }) => outcome === 'done').length, 198)
  fake.onChange = () => undefined
  fake.put('g150', { 'orders/0': 1 })
  const again = await runPlan(await planOffsets(latest(['g*']), fake, never), { port: fake, book }, never)
  const count = (outcome: string) => again.groups.filter(one => one.outcome === outcome).length
  assert.deepEqual([count('done'), count('unchanged')], [2, 198], 'run again, it does what is left')
})

test('a run that dies between the snapshot and the commits leaves the way back, and can be run again', async () => {
  const fake = cluster(2)
  const { book } = memoryBook()
  const plan = await planOffsets(latest(['g*']), fake, never)
  const dying = new AbortController()
  const onSnapshot = () => dying.abort(new Error('killed'))
  fake.onChange = () => dying.signal.throwIfAborted()
  await assert.rejects(runPlan(plan, { port: fake, book, onSnapshot }, dying.signal), { message: 'killed' })
  assert.deepEqual([fake.at('g0'), fake.at('g1')], [{ 'orders/0': 1 }, { 'orders/0': 1 }])
  const [left] = await book.list(never)
  assert.equal(left?.snapshot?.groups.length, 2)
  fake.onChange = () => undefined
  const again = await runPlan(await planOffsets(latest(['g*']), fake, never), { port: fake, book }, never)
  assert.ok(again.groups.every(({ outcome }) => outcome === 'done'))
  assert.equal((await book.list(never)).length, 2)
})

test('nothing is set where the snapshot cannot be written', async () => {
  const fake = cluster()
  const { book, storage } = memoryBook()
  storage.create = async () => {
    throw new KafkaBackupError('STORAGE_FULL', 'no room')
  }
  const plan = await planOffsets(latest(['g0']), fake, never)
  await assert.rejects(runPlan(plan, { port: fake, book }, never), { code: 'STORAGE_FULL' })
  assert.deepEqual(fake.at('g0'), { 'orders/0': 1 })
})

test('what is read back and is not what was set is a failure', async () => {
  const fake = cluster(2)
  const { book } = memoryBook()
  const plan = await planOffsets(latest(['g*']), fake, never)
  const { commit } = fake
  fake.commit = async (one, positions, signal) => (one.group === 'g1' ? undefined : commit(one, positions, signal))
  const report = await runPlan(plan, { port: fake, book }, never)
  assert.deepEqual(
    report.groups.map(({ outcome, error }) => [outcome, error?.code]),
    [
      ['done', undefined],
      ['failed', 'OFFSETS_DIFFER'],
    ],
  )
  assert.match(report.groups[1]?.error?.message ?? '', /g1 was set to 10 on orders\/0, but 1 was read back/)
})

test('metadata that are not those that were set are a failure, and other metadata alone are a change', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const snapshot = await takeSnapshot(['g0'], { port: fake, book }, never)
  const [one] = fake.groups.get('g0')?.positions.values() ?? []
  if (one) one.metadata = 'other'
  const { commit } = fake
  fake.commit = async () => undefined
  const lost = await runPlan(await planRollback(snapshot, [], fake, never), { port: fake, book }, never)
  assert.deepEqual([lost.groups[0]?.outcome, lost.groups[0]?.error?.code], ['failed', 'OFFSETS_DIFFER'])
  fake.commit = commit
  const position = { topic: 'orders', partition: 0, offset: 1n, metadata: 'of the backup' }
  const origin = { name: 'b', clusterId: 'cluster-a', groups: [{ group: 'g0', positions: [position] }] }
  const { selection } = latest(['g0'])
  const plan = await planOffsets({ strategy: 'from_backup', origin, selection }, fake, never)
  const report = await runPlan(plan, { port: fake, book }, never)
  assert.equal(report.groups[0]?.outcome, 'done')
  assert.equal(fake.groups.get('g0')?.positions.get('orders/0')?.metadata, 'of the backup')
})

test('a group whose consumers come back when a part is set is not told as one of which nothing was', async () => {
  const fake = cluster()
  const { book } = memoryBook()
  const reset = await runPlan(await planOffsets(latest(['g0'], ['orders']), fake, never), { port: fake, book }, never)
  const back = await planRollback(await book.read(reset.snapshotId ?? '', never), [], fake, never)
  const { commit } = fake
  fake.commit = async (one, positions, signal) => {
    await commit(one, positions, signal)
    fake.put(one.group, fake.at(one.group), { members: 1 })
  }
  const { groups } = await runPlan(back, { port: fake, book }, never)
  assert.deepEqual(fake.at('g0'), { 'orders/0': 1, 'orders/1': 10 })
  assert.equal(groups[0]?.outcome, 'failed')
  assert.match(groups[0]?.error?.message ?? '', /so not all of its offsets were set$/)
})
