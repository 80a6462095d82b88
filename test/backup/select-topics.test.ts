import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Selected, selectTopics } from '../../src/backup/select-topics.ts'

const topics = ['orders', 'orders-dlq', 'payments', '__consumer_offsets', '_schemas', 'kafkasql-journal'].map(name => ({
  name,
  internal: name.startsWith('__'),
}))

const table: [sentence: string, include: string[], exclude: string[], expected: Partial<Selected>][] = [
  [
    'a star takes all but internal topics and those of schema registries, in order',
    ['*'],
    [],
    { names: ['orders', 'orders-dlq', 'payments'], leftOut: ['_schemas', 'kafkasql-journal'] },
  ],
  ['the topic of a registry is taken when it is named', ['_schemas'], [], { names: ['_schemas'] }],
  [
    'the topic of a registry is taken when it is named next to a pattern',
    ['_*', '_schemas'],
    [],
    { names: ['_schemas'] },
  ],
  [
    'a pattern that matches only the topic of a registry takes nothing and is not idle',
    ['_*'],
    [],
    { names: [], leftOut: ['_schemas'] },
  ],
  [
    'the topic of a registry that is excluded is not reported',
    ['*'],
    ['_schemas', 'kafkasql-*', 'pay*'],
    { names: ['orders', 'orders-dlq'] },
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
    ['_*', 'kafkasql-*', 'pay*'],
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
    assert.deepEqual(selected, { missing: [], idlePatterns: [], leftOut: [], ...expected })
  })
}
