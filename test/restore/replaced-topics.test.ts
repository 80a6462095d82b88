import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { restoreGroup } from '../../src/restore/progress.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const two = () => [fakeTopic('audit', [[encodeRun(0n, 4)]]), fakeTopic('orders', [[encodeRun(0n, 7)]])]

/** Deletes topics and creates them with other IDs, filled by another producer up to where they were. */
function replace(target: FakeTarget, ...names: string[]): void {
  const { state } = target.fake
  for (const [i, { name, partitions, configs }] of state.topics.entries()) {
    if (!names.includes(name)) continue
    const logs = partitions.map(({ highWatermark: end }) => (end > 0n ? [encodeRun(0n, Number(end))] : []))
    state.topics[i] = fakeTopic(name, logs, { configs, id: 'f'.repeat(32) })
  }
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
  assert.ok(hasCode(error, code), String(error))
  return `${error.message} ${error.help}`
}

describe('a restore, a topic of which has another ID and as many records', () => {
  const hangUpAtEnd: FakeTarget['before'] = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
  const interrupt = async (target: FakeTarget, changes?: Partial<RestoreOptions>) => {
    target.before = hangUpAtEnd
    await assert.rejects(target.restore(changes), error => hasCode(error, 'KAFKA_DISCONNECTED'))
    target.before = () => undefined
    for (const note of target.notes.values()) {
      note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), d: 0 })
    }
  }
  const problem = /^topic audit: it was deleted and created again after this restore had begun to fill it/

  for (const existingTopics of ['fail', 'append'] as const) {
    for (const state of ['complete', 'interrupted'] as const) {
      test(`is refused after it was ${state} (existing_topics: ${existingTopics})`, () =>
        withFakeTarget(two(), async target => {
          if (state === 'complete') await target.restore({ existingTopics })
          else await interrupt(target, { existingTopics })
          replace(target, 'audit')
          const before = target.log('audit')
          const advice = await adviceOf(target.restore({ existingTopics }), 'RESTORE_REFUSED')
          assert.match(advice, problem)
          assert.match(advice, existingTopics === 'append' ? /restore this topic alone/ : /delete the topic/)
          assert.deepEqual(target.log('audit'), before)
          if (existingTopics === 'append') return
          target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'audit')
          await assertRestored(target)
        }))
    }

    test(`ends where that happens while it writes (existing_topics: ${existingTopics})`, () =>
      withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 3)], [encodeRun(0n, 5)]])], async target => {
        // One partition at a time: the second begins at 0 in either topic.
        const changes = { existingTopics, memoryBudgetBytes: 1 }
        target.before = ({ key }) => {
          const isHalf = target.log('orders').length + target.log('orders', 1).length === 1
          if (key === API.produce && isHalf) replace(target, 'orders')
          return undefined
        }
        const advice = await adviceOf(target.restore(changes), 'RESTORE_CONFLICT')
        assert.match(advice, /^topic orders was deleted and created again after this restore had begun to fill it/)
        target.before = () => undefined
        assert.match(await adviceOf(target.restore(changes), 'RESTORE_REFUSED'), /^topic orders: it was deleted/)
      }))
  }

  test('is refused for shards and their preparation, too', () =>
    withFakeTarget(two(), async target => {
      await target.prepare(2)
      await target.shard('0/2')
      replace(target, 'audit', 'orders')
      for (const step of [() => target.prepare(2), () => target.shard('1/2')]) {
        assert.match(await adviceOf(step(), 'RESTORE_REFUSED'), /it was deleted and created again/)
      }
    }))

  test('is refused where the topic is replaced after the survey', () =>
    withFakeTarget(two(), async target => {
      await interrupt(target)
      target.before = ({ key }) => {
        if (key === API.initProducerId) replace(target, 'audit')
        return undefined
      }
      const advice = await adviceOf(target.restore(), 'RESTORE_CONFLICT')
      assert.match(advice, /^topic audit was deleted and created again/)
    }))

  for (const [existingTopics, remedy] of [
    ['append', 'restore.topic_mapping'],
    ['fail', ' To restore it, run the same command again'],
  ] as const) {
    test(`ends where a topic is deleted when its records are written, and says so (existing_topics: ${existingTopics})`, () =>
      withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 3)]])], async target => {
        target.before = ({ key }) => {
          if (key === API.metadata && target.log('orders').length > 0) target.fake.state.topics = []
          return undefined
        }
        const advice = await adviceOf(target.restore({ existingTopics }), 'RESTORE_CONFLICT')
        assert.match(advice, /^topic orders was deleted after this restore had begun to fill it: /)
        assert.ok(advice.includes(remedy), advice)
        target.before = () => undefined
        if (existingTopics === 'fail') assert.equal((await target.restore()).isDone, true)
      }))
  }

  test('ends where a topic is deleted while its records are written, and says so', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 3)]])], async target => {
      target.before = ({ key }) => {
        if (key !== API.produce) return undefined
        target.fake.state.topics = []
        return 'hang-up'
      }
      const advice = await adviceOf(target.restore(), 'RESTORE_CONFLICT')
      assert.match(advice, /^topic orders was deleted after this restore had begun to fill it: /)
    }))

  test('continues with notes that have no ID, also where brokers give none, and notes an ID when it learns one', () =>
    withFakeTarget(two(), async target => {
      await interrupt(target)
      const idOf = (key: string) => JSON.parse(target.notes.get(key)?.metadata ?? '{}').t
      const { id } = target.topic('audit') ?? {}
      assert.equal(idOf('audit/0'), id)
      for (const note of target.notes.values()) {
        note.metadata = JSON.stringify({ ...JSON.parse(note.metadata), t: undefined })
      }
      for (const topic of target.fake.state.topics) topic.id = '0'.repeat(32)
      target.isGuarded = true
      await assert.rejects(target.restore(), error => hasCode(error, 'KAFKA_DENIED'))
      assert.equal(idOf('audit/0'), undefined)
      target.isGuarded = false
      for (const topic of target.fake.state.topics) if (id !== undefined) topic.id = id
      assert.equal((await target.restore()).isDone, true)
      assert.equal(idOf('audit/0'), id)
      for (const topic of target.fake.state.topics) topic.id = '0'.repeat(32)
      assert.equal((await target.restore()).wasComplete, true)
    }))

  test('accepts one that was empty, where it is complete and another topic is to be filled again', () =>
    withFakeTarget([...two(), fakeTopic('empty', [[]])], async target => {
      await target.restore()
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'audit')
      replace(target, 'empty')
      await assertRestored(target)
      assert.equal(JSON.parse(target.notes.get('empty/0')?.metadata ?? '{}').t, 'f'.repeat(32))
    }))

  test('leaves the progress of another restore aside that has filled the deleted one', () =>
    withFakeTarget(two(), async target => {
      await interrupt(target, { existingTopics: 'append' })
      target.groups.set(restoreGroup('earlier'), new Map(target.notes))
      target.notes.clear()
      for (const { configs } of target.fake.state.topics) for (const name of Object.keys(configs)) delete configs[name]
      const again = () => target.restore({ existingTopics: 'append' })
      assert.match(await adviceOf(again(), 'RESTORE_REFUSED'), /restore earlier of this backup is not complete/)
      replace(target, 'audit', 'orders')
      assert.equal((await again()).isDone, true)
    }))
})
