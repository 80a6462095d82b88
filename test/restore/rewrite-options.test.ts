import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contextOf, type RewriteOptions, wishFor } from '../../src/restore/rewrite-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const wishes = (changes: Partial<RewriteOptions> = {}, name = 'orders', internal = false) => {
  const options = rewriteOptions(changes)
  return [wishFor(options, { name, internal }, 'key'), wishFor(options, { name, internal }, 'value')]
}

describe('what a job says of a topic', () => {
  test('is to ask its records, where it says nothing or names a pattern', () => {
    assert.deepEqual(wishes(), ['ask', 'ask'])
    assert.deepEqual(wishes({ topics: { include: ['ord*'], exclude: ['x*'] } }), ['ask', 'ask'])
  })

  test('is decided where it names the topic', () => {
    assert.deepEqual(wishes({ topics: { include: ['*', 'orders'], exclude: [] } }), ['always', 'always'])
    assert.deepEqual(wishes({ topics: { include: ['*'], exclude: ['ord*'] } }), ['never', 'never'])
    assert.deepEqual(wishes({ topics: { include: ['orders'], exclude: ['orders'] } }), ['never', 'never'])
    assert.deepEqual(wishes({ topics: { include: ['pay*'], exclude: [] } }), ['never', 'never'])
  })

  test('is decided by part, of all topics or of one', () => {
    assert.deepEqual(wishes({ parts: ['value'] }), ['never', 'ask'])
    assert.deepEqual(wishes({ parts: ['value'], topics: { include: ['orders'], exclude: [] } }), ['never', 'always'])
    assert.deepEqual(wishes({ topicParts: new Map([['orders', ['key'] as const]]) }), ['always', 'never'])
    assert.deepEqual(wishes({ topicParts: new Map([['orders', []]]) }), ['never', 'never'])
  })

  test('does not matter for topics of Kafka and of the registry itself', () => {
    const topics = { include: ['__consumer_offsets', '_schemas'], exclude: [] }
    assert.deepEqual(wishes({ topics }, '__consumer_offsets', true), ['never', 'never'])
    assert.deepEqual(wishes({ topics }, '_schemas'), ['never', 'never'])
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
