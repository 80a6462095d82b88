import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planRestore } from '../../src/restore/plan.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { withFakeTarget } from './fake-target.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, sampleTopic } from './samples.ts'

const compacted = { configs: { 'cleanup.policy': 'compact' } }
const keyed = (key: string) => encodeBatch({ records: [{ key: Buffer.from(key) }] })
const schema = keyed('{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}')
const noop = keyed('{"keytype":"NOOP","magic":0}')
const store = (name: string, batches = [schema]) => fakeTopic(name, [batches], compacted)
/** As a version that did not leave topics of registries out has backed them up. */
const backup = () => [
  fakeTopic('orders', [[encodeRun(0n, 3)]]),
  store('_schemas'),
  store('platform_schemas'),
  fakeTopic('connect-configs', [[keyed('connector-a')]], compacted),
]
const only = (...include: string[]) => ({ topics: { include, exclude: [] } })

describe('the topics of schema registries in a backup', () => {
  for (const pattern of ['*', '*@2099-01-01T00:00:00Z']) {
    test(`are not restored by ${pattern}, which is reported`, () =>
      withFakeTarget(backup(), async target => {
        const { topics: restored, warnings } = await target.restore(only(pattern))
        assert.deepEqual(
          restored.map(({ source }) => source),
          ['connect-configs', 'orders'],
        )
        const leftOut = warnings.flatMap(one => /^topic (\S+) is not restored: a schema registry/.exec(one)?.[1] ?? [])
        assert.deepEqual(leftOut, ['_schemas', 'platform_schemas'])
        assert.equal(target.topic('_schemas'), undefined)
      }))
  }

  test('are not reported where they are excluded', () =>
    withFakeTarget(backup(), async target => {
      const exclude = ['_schemas', 'platform_*']
      const { warnings } = await target.restore({ topics: { include: ['*'], exclude } })
      assert.doesNotMatch(warnings.join(), /schema registry/)
    }))

  test('are restored where they are named and the target has none', () =>
    withFakeTarget(backup(), async target => {
      const { warnings } = await target.restore(only('orders', '_schemas', 'platform_schemas'))
      assert.doesNotMatch(warnings.join(), /schema registry/)
      assert.deepEqual([target.log('_schemas'), target.log('platform_schemas')], [[[0, 1]], [[0, 1]]])
    }))

  test('are the reason where nothing else matches', () => {
    const manifest = manifestOf([sampleTopic('_schemas', 1), sampleTopic('orders', 1)])
    assert.throws(() => planRestore(manifest, plainOptions(only('_*'))), {
      code: 'RESTORE_REFUSED',
      message: /no topic of the backup matches .*topic _schemas is not restored: a schema registry stored/,
    })
  })
})

describe('the topic of a registry that uses the target', () => {
  const refusal = {
    code: 'RESTORE_REFUSED',
    message: /a schema registry of the target stores its data there, and more records would corrupt it/,
  }
  const hasNoBadAdvice = (error: unknown) => {
    const { message, help = '' } = error as Error & { help?: string }
    assert.match(message, refusal.message)
    assert.doesNotMatch(`${message} ${help}`, /delete it|existing_topics|append/)
    assert.match(help, /^Nothing was written\./)
    return true
  }

  for (const existingTopics of ['fail', 'append'] as const) {
    test(`is never written to, by its name or by its keys, with existing_topics: ${existingTopics}`, () =>
      withFakeTarget(backup(), async target => {
        target.fake.state.topics.push(store('_schemas', [noop]), store('platform_schemas', [noop]))
        for (const name of ['_schemas', 'platform_schemas']) {
          await assert.rejects(target.restore({ ...only(name), existingTopics }), hasNoBadAdvice)
        }
        assert.deepEqual([target.log('_schemas'), target.log('platform_schemas')], [[[-1, 1]], [[-1, 1]]])
      }))
  }

  test('is not written to by another topic that is mapped to its name', () =>
    withFakeTarget(backup(), async target => {
      target.fake.state.topics.push(store('_schemas', [noop]))
      const topicMapping = new Map([['connect-configs', '_schemas']])
      const mapped = { ...only('connect-configs'), topicMapping, existingTopics: 'append' as const }
      await assert.rejects(target.restore(mapped), hasNoBadAdvice)
    }))

  test('can be restored under another name', () =>
    withFakeTarget(backup(), async target => {
      target.fake.state.topics.push(store('_schemas', [noop]))
      await target.restore({ ...only('_schemas'), topicMapping: new Map([['_schemas', 'old_schemas']]) })
      assert.deepEqual(target.log('old_schemas'), [[0, 1]])
    }))
})
