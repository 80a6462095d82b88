import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { contextOf, modeFor, type RewriteOptions } from '../../src/restore/restore-options.ts'
import { withIds } from '../../src/restore/schema-step.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { plainOptions } from './plain-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const modes = (changes: Partial<RewriteOptions> = {}, name = 'orders', internal = false) => {
  const options = rewriteOptions(changes)
  return [modeFor(options, { name, internal }, 'key'), modeFor(options, { name, internal }, 'value')]
}

describe('what a job says of a topic', () => {
  test('is to ask its records, where it says nothing or names a pattern', () => {
    assert.deepEqual(modes(), ['ask', 'ask'])
    assert.deepEqual(modes({ topics: { include: ['ord*'], exclude: ['x*'] } }), ['ask', 'ask'])
  })

  test('is decided where it names the topic', () => {
    assert.deepEqual(modes({ topics: { include: ['*', 'orders'], exclude: [] } }), ['always', 'always'])
    assert.deepEqual(modes({ topics: { include: ['*'], exclude: ['ord*'] } }), ['never', 'never'])
    assert.deepEqual(modes({ topics: { include: ['orders'], exclude: ['orders'] } }), ['never', 'never'])
    assert.deepEqual(modes({ topics: { include: ['pay*'], exclude: [] } }), ['never', 'never'])
  })

  test('is decided by part, of all topics or of one', () => {
    assert.deepEqual(modes({ parts: ['value'] }), ['never', 'ask'])
    assert.deepEqual(modes({ parts: ['value'], topics: { include: ['orders'], exclude: [] } }), ['never', 'always'])
    assert.deepEqual(modes({ topicParts: new Map([['orders', ['key'] as const]]) }), ['always', 'never'])
    assert.deepEqual(modes({ topicParts: new Map([['orders', []]]) }), ['never', 'never'])
  })

  test('does not matter for topics of Kafka and of the registry itself', () => {
    const topics = { include: ['__consumer_offsets', '_schemas'], exclude: [] }
    assert.deepEqual(modes({ topics }, '__consumer_offsets', true), ['never', 'never'])
    assert.deepEqual(modes({ topics }, '_schemas'), ['never', 'never'])
  })
})

test('the context of a topic is that of its name, of the first pattern, or the default one', () => {
  const options = rewriteOptions({
    topicContexts: new Map([
      ['eu-*', '.eu'],
      ['eu-x*', '.x'],
      ['eu-orders', '.own'],
    ]),
  })
  assert.deepEqual(
    ['eu-orders', 'eu-xy', 'us'].map(topic => contextOf(options, topic)),
    ['.own', '.eu', '.'],
  )
})

test('an ID that the backup left out has a reason, unless the target has a schema for it', () => {
  const leftOut = [4, 5].map(id => ({ subject: ':.eu:orders-value', version: id, id }))
  const backup = { ...snapshotOf([versionOf(':.eu:orders-value', 6, 6)]), leftOut }
  const idMap = createIdMap([5, 6].map(id => ({ context: '.eu', source: id, target: id })))
  const survey = { plan: { unmappedIds: new Map() } } as unknown as Parameters<typeof withIds>[1]['survey']
  const { rewrite } = withIds(plainOptions({ rewrite: rewriteOptions() }), { backup, survey }, idMap)
  assert.deepEqual([[...(rewrite?.reasons.keys() ?? [])], rewrite?.leftOut], [[':.eu:4'], [leftOut[0]]])
  assert.match(
    rewrite?.reasons.get(':.eu:4') ?? '',
    /^version 4 of subject :\.eu:orders-value was left out of the backup/,
  )
})
