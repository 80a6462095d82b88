import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakePartition, fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'

const two = () => [fakeTopic('audit', [[encodeRun(0n, 4)]]), fakeTopic('orders', [[encodeRun(0n, 7)]])]
const stages = (notes: ReadonlyMap<string, { metadata: string }>) =>
  Object.fromEntries([...notes].map(([key, { metadata }]) => [key, JSON.parse(metadata).d]))

describe('a restore as a whole', () => {
  test('fills what it makes, and is complete then', () =>
    withFakeTarget(two(), async target => {
      assert.equal((await target.restore()).wasComplete, false)
      assert.deepEqual([target.log('audit'), target.log('orders')], [[[0, 4]], [[0, 7]]])
      assert.deepEqual(stages(target.notes), { 'audit/0': 2, 'orders/0': 2 })
      assert.equal((await target.restore()).wasComplete, true)
    }))

  test('of which one topic was deleted since fills that one again, and leaves those in use alone', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      target.append('orders', encodeRun(0n, 3, { producerId: 9n }))
      const { state } = target.fake
      state.topics = state.topics.filter(({ name }) => name !== 'audit')
      target.notes.delete('audit/0')
      const { topics } = await target.restore()
      assert.deepEqual(
        topics.map(({ target: name, records }) => [name, records]),
        [
          ['audit', 4],
          ['orders', 0],
        ],
      )
      assert.deepEqual(target.log('audit'), [[0, 4]])
      assert.equal(target.log('orders').length, 2)
      assert.deepEqual(stages(target.notes), { 'audit/0': 2, 'orders/0': 2 })
    }))

  describe('is refused where a topic that it had filled was created again, and its notes are still there', () => {
    const recreate = (target: FakeTarget, ...names: string[]) => {
      const { state } = target.fake
      state.topics = state.topics.map(topic => (names.includes(topic.name) ? fakeTopic(topic.name, [[]]) : topic))
    }
    const lost = (error: unknown) => {
      assert.ok(hasCode(error, 'RESTORE_REFUSED'))
      assert.match(
        error.message,
        /^topic audit: this restore had filled audit\/0 up to offset 4, and it ends at offset 0/,
      )
      assert.match(error.help ?? '', /delete the topic/)
      return true
    }

    test('after the restore was complete', () =>
      withFakeTarget(two(), async target => {
        await target.restore()
        recreate(target, 'audit')
        await assert.rejects(target.restore(), lost)
        assert.deepEqual(target.log('audit'), [])
      }))

    test('while another topic is filled again', () =>
      withFakeTarget(two(), async target => {
        await target.restore()
        recreate(target, 'audit')
        const { state } = target.fake
        state.topics = state.topics.filter(({ name }) => name !== 'orders')
        target.notes.delete('orders/0')
        await assert.rejects(target.restore(), lost)
        assert.equal(target.topic('orders'), undefined)
      }))
  })

  test('is not done where a partition that the backup does not have gets records meanwhile', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
      target.before = ({ key }) => {
        const partitions = target.topic('orders')?.partitions
        if (key === API.produce && partitions?.length === 1) partitions.push(fakePartition([encodeRun(0n, 2)]))
        return undefined
      }
      const { isDone, verification } = await target.restore({ verify: true })
      assert.deepEqual([isDone, verification?.ok, verification?.totals.differences], [false, false, 2])
      assert.deepEqual(stages(target.notes), { 'orders/0': 1 })
    }))

  test('gives a topic its settings also where the target has refused to hold one of them back', () => {
    const configs = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      target.refused.add('compression.type')
      target.before = ({ key }) => (key === API.incrementalAlterConfigs ? 'hang-up' : undefined)
      await assert.rejects(target.restore(), error => hasCode(error, 'KAFKA_DISCONNECTED'))
      target.before = () => undefined
      await target.restore()
      assert.deepEqual(target.topic('orders')?.configs, configs)
    })
  })

  test('does not undo what somebody has set on a topic while it was filled', () => {
    const configs = { 'cleanup.policy': 'compact', 'retention.ms': '1000' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      target.before = ({ key }) => {
        const own = target.topic('orders')?.configs
        if (key === API.produce && own) own['retention.ms'] = '5000'
        return undefined
      }
      await target.restore()
      assert.deepEqual(target.topic('orders')?.configs, { 'cleanup.policy': 'compact', 'retention.ms': '5000' })
    })
  })

  test('that is complete says that the backup has newer generations by now', async () => {
    const storage = openMemoryStorage()
    await withFakeTarget(
      two(),
      async target => {
        await target.restore()
        assert.deepEqual((await target.restore()).warnings, [])
        await backUpTopics(storage, [fakeTopic('orders', [[encodeRun(0n, 7), encodeRun(7n, 2)]])])
        const { wasComplete, generation, warnings } = await target.restore()
        assert.deepEqual([wasComplete, generation, warnings.length], [true, 1, 1])
        assert.match(warnings[0] ?? '', /generation 1, .*there are newer ones/)
      },
      storage,
    )
  })

  test('tells which settings the target did not take in the end, also while it runs', () => {
    const configs = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      target.before = ({ key }) => {
        if (key === API.produce) target.refused.add('cleanup.policy')
        return undefined
      }
      const { warnings } = await target.restore()
      assert.match(warnings[0] ?? '', /^topic orders: 1 partition may hold keys that were deleted at the source/)
      assert.match(warnings.slice(1).join(), /^orders: a setting was refused: .*cleanup.policy: compact/)
      assert.deepEqual(target.warned, warnings)
      assert.deepEqual(target.topic('orders')?.configs, {
        'cleanup.policy': 'delete',
        'message.timestamp.type': 'LogAppendTime',
      })
    })
  })

  test('is not done before it was allowed to set its topics up', () => {
    const configs = { 'cleanup.policy': 'compact', 'retention.ms': '1000' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      target.isGuarded = true
      await assert.rejects(target.restore(), {
        code: 'KAFKA_DENIED',
        message: /^the records are there, without their settings: configuring topic orders: .*TOPIC_AUTHORIZATION/,
      })
      assert.deepEqual(stages(target.notes), { 'orders/0': 1 })
      target.isGuarded = false
      const { topics } = await target.restore()
      assert.equal(topics[0]?.records, 0)
      assert.deepEqual(target.topic('orders')?.configs, configs)
    })
  })

  test('goes on while its progress cannot be noted for a while', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
      let refusals = 25
      const hold = Promise.withResolvers<undefined>()
      target.before = ({ key, nth }) => {
        if (key === API.produce) return hold.promise
        if (key !== API.offsetCommit || nth === 0) return undefined
        if (refusals-- > 0) return 'hang-up'
        hold.resolve(undefined)
        return undefined
      }
      await target.restore()
      assert.deepEqual(target.log('orders'), [[0, 7]])
      assert.deepEqual(stages(target.notes), { 'orders/0': 2 })
    }))

  test('fills topics in the order of the job, the others after them, and reports a name that matches none', () =>
    withFakeTarget(
      ['audit', 'billing', 'orders', 'payments'].map(name => fakeTopic(name, [[encodeRun(0n, 2)]])),
      async target => {
        const begun: string[] = []
        target.onEvent = event => {
          if (event.type === 'begun') begun.push(event.topic)
        }
        // One partition at a time.
        const settings = { order: ['payments', 'o*', 'order'], memoryBudgetBytes: 1 }
        const { warnings, topics } = await target.restore(settings)
        assert.deepEqual(begun, ['payments', 'orders', 'audit', 'billing'])
        assert.deepEqual(warnings, ['restore.order: order matches no topic of this restore'])
        assert.deepEqual(
          topics.map(({ source }) => source),
          ['audit', 'billing', 'orders', 'payments'],
        )
        assert.equal((await target.restore({ ...settings, order: [] })).wasComplete, true, 'it is the same restore')
      },
    ))

  test('is refused where the backup has no such generation', () =>
    withFakeTarget(two(), target =>
      assert.rejects(target.restore({ generation: 9 }), {
        code: 'RESTORE_REFUSED',
        message: 'the backup b1 has no generation 9; its newest is 1',
      }),
    ))
})

describe('a restore with a probe', () => {
  const CLUSTER_AUTHORIZATION_FAILED = 31
  const deleted = (errorCode: number) => {
    const writer = new Writer().int32(0)
    const topic = (code: number) => writer.string(null).uuid('0'.repeat(32)).int16(code).string(null).noTags()
    return writer.array([errorCode], topic).noTags()
  }

  test('warns of what it could not measure, and continues', () =>
    withFakeTarget(two(), async target => {
      target.before = ({ key }) => (key === API.deleteTopics ? deleted(CLUSTER_AUTHORIZATION_FAILED) : undefined)
      const probe = { scope: 'target' as const, requestTimeoutMs: 1000, onStep: () => undefined }
      const { warnings } = await target.restore({}, { probe })
      assert.match(warnings.join(), /the target could not be measured: .*__kafka-backup\.probe\./)
      assert.deepEqual(target.warned, warnings)
      assert.deepEqual(target.log('orders'), [[0, 7]])
    }))

  test('names a topic of the probe that it could not delete, at once and in its warnings', () =>
    withFakeTarget(two(), async target => {
      let requests = 0
      target.before = ({ key }) =>
        key === API.deleteTopics ? deleted(requests++ === 0 ? 0 : CLUSTER_AUTHORIZATION_FAILED) : undefined
      const steps: string[] = []
      const probe = {
        scope: 'target' as const,
        requestTimeoutMs: 1000,
        onStep: (step: string) => void steps.push(step),
      }
      const { warnings } = await target.restore({}, { probe })
      const left = /^the topic __kafka-backup\.probe\.[0-9a-f]{16} could not be deleted; delete it: /
      assert.match(warnings.find(text => left.test(text)) ?? '', left)
      assert.match(steps.at(-1) ?? '', left)
    }))
})
