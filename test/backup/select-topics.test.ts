import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Selected, selectTopics } from '../../src/backup/select-topics.ts'

const topics = ['orders', 'orders-dlq', 'payments', '__consumer_offsets', '_schemas'].map(name => ({
  name,
  internal: name.startsWith('__'),
}))

const table: [sentence: string, include: string[], exclude: string[], expected: Partial<Selected>][] = [
  [
    'a star takes all but the internal ones, in order',
    ['*'],
    [],
    { names: ['_schemas', 'orders', 'orders-dlq', 'payments'] },
  ],
  ['a name takes that topic', ['payments'], [], { names: ['payments'] }],
  ['an internal topic is taken when it is named', ['__consumer_offsets'], [], { names: ['__consumer_offsets'] }],
  [
    'an internal topic is passed over by a pattern that would match it',
    ['__*'],
    [],
    { names: [], idlePatterns: ['__*'] },
  ],
  ['exclude wins over a pattern', ['orders*'], ['*-dlq'], { names: ['orders'] }],
  ['exclude wins over a name', ['orders', 'payments'], ['orders'], { names: ['payments'] }],
  [
    'a topic that several entries match is taken once',
    ['orders', 'ord*', '*'],
    ['_*', 'pay*'],
    { names: ['orders', 'orders-dlq'] },
  ],
  ['a name that is no topic is missing', ['orders', 'nothing'], [], { names: ['orders'], missing: ['nothing'] }],
  ['a missing name that is excluded is not missed', ['nothing'], ['no*'], { names: [], missing: [] }],
  ['a pattern without any topic is idle', ['x*', 'orders'], [], { names: ['orders'], idlePatterns: ['x*'] }],
  [
    'a pattern whose topics are all excluded is not idle',
    ['pay*', 'orders'],
    ['payments'],
    { names: ['orders'], idlePatterns: [] },
  ],
]

for (const [sentence, include, exclude, expected] of table) {
  test(sentence, () => {
    const selected = selectTopics({ include, exclude }, topics)
    assert.deepEqual(selected, { missing: [], idlePatterns: [], ...expected })
  })
}
