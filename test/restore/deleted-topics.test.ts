import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakePartition, fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const two = () => [fakeTopic('audit', [[encodeRun(0n, 4)]]), fakeTopic('orders', [[encodeRun(0n, 7)]])]

function deleteTopics({ fake: { state } }: FakeTarget): void {
  state.topics = []
}

/** Deletes topics and creates them empty. */
function recreate({ fake: { state } }: FakeTarget, ...names: string[]): void {
  state.topics = state.topics.map(topic => (names.includes(topic.name) ? fakeTopic(topic.name, [[]]) : topic))
}

async function assertRestored(target: FakeTarget, changes?: Partial<RestoreOptions>): Promise<void> {
  assert.equal((await target.restore(changes)).wasComplete, false)
  assert.deepEqual([target.log('audit'), target.log('orders')], [[[0, 4]], [[0, 7]]])
  assert.equal((await target.restore(changes)).wasComplete, true)
}

/** What a refused restore advises. */
async function adviceOf(run: Promise<unknown>, code: 'RESTORE_REFUSED' | 'RESTORE_CONFLICT'): Promise<string> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(hasCode(error, code))
  return `${error.message} ${error.help}`
}

describe('a restore whose topics were all deleted, while its progress is still on the target', () => {
  test('starts again after it was complete', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      deleteTopics(target)
      await assertRestored(target)
    }))

  test('starts again after it was interrupted', () =>
    withFakeTarget(two(), async target => {
      target.before = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
      await assert.rejects(target.restore(), error => hasCode(error, 'KAFKA_DISCONNECTED'))
      target.before = () => undefined
      deleteTopics(target)
      await assertRestored(target)
    }))

  test('starts again with shards', () =>
    withFakeTarget(two(), async target => {
      for (const isDeleted of [false, true]) {
        if (isDeleted) deleteTopics(target)
        assert.equal((await target.prepare(2)).wasPrepared, false)
        for (const shard of ['0/2', '1/2']) await target.shard(shard)
        assert.equal((await target.finish()).wasComplete, false)
        assert.deepEqual([target.log('audit'), target.log('orders')], [[[0, 4]], [[0, 7]]])
      }
    }))

  test('starts again with fewer topics, and is complete then', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      deleteTopics(target)
      const fewer = { topics: { include: ['audit'], exclude: [] }, verify: true }
      assert.equal((await target.restore(fewer)).wasComplete, false)
      const { wasComplete, verification } = await target.restore(fewer)
      assert.deepEqual([wasComplete, verification?.ok, target.topic('orders')], [true, true, undefined])
    }))

  test('starts again when the advice for topics that were created again is followed', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      recreate(target, 'audit', 'orders')
      assert.match(await adviceOf(target.restore(), 'RESTORE_REFUSED'), /delete the topic, and run the same command/)
      deleteTopics(target)
      await assertRestored(target)
    }))

  test('starts again when the advice for topics that were created again in the middle of it is followed', () =>
    withFakeTarget(two(), async target => {
      target.before = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
      await assert.rejects(target.restore(), error => hasCode(error, 'KAFKA_DISCONNECTED'))
      target.before = () => undefined
      for (const note of target.notes.values()) {
        note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), d: 0 })
      }
      recreate(target, 'audit', 'orders')
      assert.match(await adviceOf(target.restore(), 'RESTORE_CONFLICT'), /Delete the topic, and run the same command/)
      deleteTopics(target)
      await assertRestored(target)
    }))

  describe('with existing_topics: append', () => {
    const append = { existingTopics: 'append' } as const

    test('starts again', () =>
      withFakeTarget(two(), async target => {
        await target.restore(append)
        deleteTopics(target)
        await assertRestored(target, append)
      }))

    test('restores under another name, as advised', () =>
      withFakeTarget(two(), async target => {
        await target.restore(append)
        recreate(target, 'audit', 'orders')
        const advice = await adviceOf(target.restore(append), 'RESTORE_REFUSED')
        assert.match(
          advice,
          /select only it in restore.topics, set another name for it in restore.topic_mapping, and another restore.restore_id/,
        )
        const topicMapping = new Map([
          ['audit', 'audit-2'],
          ['orders', 'orders-2'],
        ])
        await target.restore({ ...append, topicMapping, restoreId: 'r2' })
        assert.deepEqual([target.log('audit-2'), target.log('orders-2')], [[[0, 4]], [[0, 7]]])
      }))

    test('appends all records again after its progress was deleted, as advised', () =>
      withFakeTarget(two(), async target => {
        await target.restore(append)
        recreate(target, 'audit', 'orders')
        const advice = await adviceOf(target.restore(append), 'RESTORE_REFUSED')
        const group = / --delete --group (__kafka-backup\.restore\.\S+?)[);. ]/.exec(advice)?.[1] ?? ''
        target.groups.get(group)?.clear()
        await assertRestored(target, append)
      }))
  })
})

describe('a complete restore, one of whose topics was deleted', () => {
  const steps: [string, (target: FakeTarget, changes: Partial<RestoreOptions>) => Promise<RestoreReport>][] = [
    ['one process', (target, changes) => target.restore(changes)],
    [
      'shards',
      async (target, changes) => {
        await target.prepare(2, changes)
        for (const shard of ['0/2', '1/2']) await target.shard(shard, changes)
        return target.finish(changes)
      },
    ],
  ]
  for (const [how, again] of steps) {
    test(`leaves the others alone that are in use by now (${how})`, () =>
      withFakeTarget(two(), async target => {
        await target.restore()
        target.append('audit', encodeRun(0n, 2))
        const settings = target.topic('audit')?.configs ?? {}
        // As a topic has them that is being filled.
        Object.assign(settings, { 'retention.ms': '-1', 'message.timestamp.type': 'CreateTime' })
        const chosen = { ...settings }
        target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'orders')
        const { isDone, verification } = await again(target, { verify: true })
        assert.deepEqual([isDone, verification?.ok], [true, true])
        assert.deepEqual([target.log('orders'), target.topic('orders')?.configs], [[[0, 7]], {}])
        assert.deepEqual(target.topic('audit')?.configs, chosen)
        assert.equal((await target.restore()).wasComplete, true)
      }))
  }

  test('leaves partitions aside that were added to the others, which are in use by now', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      target.topic('audit')?.partitions.push(fakePartition([encodeRun(0n, 3)]))
      assert.equal((await target.restore({ verify: true })).verification?.ok, true)
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'orders')
      assert.equal((await target.restore({ verify: true })).verification?.ok, true)
    }))

  test('is completed although retention has removed records of the others, which are reported', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      const partition = target.topic('audit')?.partitions[0]
      assert.ok(partition)
      Object.assign(partition, { batches: [], logStart: partition.highWatermark })
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'orders')
      const { isDone, verification } = await target.restore({ verify: true })
      assert.equal(isDone, true)
      const differing = verification?.topics.filter(({ partitions }) =>
        partitions.some(one => one.differences.length > 0),
      )
      assert.deepEqual([verification?.ok, differing?.map(one => one.target)], [false, ['audit']])
      assert.equal((await target.restore()).wasComplete, true)
    }))

  test('does not take them for unfinished after a run that failed', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      target.append('audit', encodeRun(0n, 2))
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'orders')
      target.before = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
      await assert.rejects(target.restore(), error => hasCode(error, 'KAFKA_DISCONNECTED'))
      target.before = () => undefined
      assert.equal((await target.restore({ verify: true })).isDone, true)
    }))
})
