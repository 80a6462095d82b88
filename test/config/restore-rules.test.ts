import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorsOf, minimalRestore, parseRestore } from './job-texts.ts'

const job = (...lines: string[]) => `${minimalRestore}restore:\n${lines.map(line => `  ${line}\n`).join('')}`

const PATH_FORM =
  'it is a path alone, or a path, one of = != < <= > >=, and a value, such as customer.id=42 or items[*].sku=A1'

const refused: Record<string, [lines: string[], errors: string[]]> = {
  'a filter whose conditions cannot be read, each with its line': [
    ['filter:', '  headers: [trace, "=x"]', '  where:', '    - a=1', '    - "=1"', '    - a>b', '  texts: [""]'],
    [
      'filter.headers.1: "=x" has no name before the equals sign; allowed: the name of a header, or name=value [line 10]',
      `filter.where.1: "=1" begins with no name; ${PATH_FORM}; allowed: a condition such as customer.id=42 [line 13]`,
      `filter.where.2: "a>b" compares with "b", not a number; ${PATH_FORM}; allowed: a condition such as customer.id=42 [line 14]`,
      'filter.texts.0: "" is empty; allowed: a text that is not empty [line 15]',
    ],
  ],
  'a filter without a condition': [
    ['filter: {keys: [], not_decoded: skip}'],
    ['filter: has no condition: give keys, key_prefixes, headers, texts or where, or leave it out [line 9]'],
  ],
  'two topics onto one': [
    ['topic_mapping: {a: x, b: y, c: x}'],
    ['topic_mapping.c: goes to the same topic as a [line 9]'],
  ],
  'a topic onto one that is restored under its own name': [
    ['topics: {include: [a, b]}', 'topic_mapping: {a: b}'],
    ['topic_mapping.a: goes to a topic of restore.topics.include that keeps its own name [line 10]'],
  ],
  'what is said of a topic that is not included': [
    [
      'topics: {include: ["a*"]}',
      'topic_mapping: {b: c}',
      'partitions: {b: [0]}',
      'offset_ranges: {b/0: {start: 1}}',
      'partition_count: {b: 3}',
      'partition_mapping: {b: {0: 1}}',
    ],
    [
      'topic_mapping.b: has no effect: restore.topics leaves b out [line 10]',
      'partitions.b: has no effect: restore.topics leaves b out [line 11]',
      'offset_ranges.b/0: has no effect: restore.topics leaves b out [line 12]',
      'partition_count.b: has no effect: restore.topics leaves b out [line 13]',
      'partition_mapping.b: has no effect: restore.topics leaves b out [line 14]',
    ],
  ],
  'what is said of a topic that is excluded': [
    ['topics: {exclude: ["*.tmp"]}', 'topic_mapping: {a.tmp: b}'],
    ['topic_mapping."a.tmp": has no effect: restore.topics leaves a.tmp out [line 10]'],
  ],
  'what is said of a partition that is left out': [
    ['partitions: {a: [0]}', 'offset_ranges: {a/1: {start: 1}}', 'partition_mapping: {a: {2: 0}}'],
    [
      'offset_ranges.a/1: has no effect: restore.partitions leaves the partition out [line 10]',
      'partition_mapping.a.2: has no effect: restore.partitions leaves the partition out [line 11]',
    ],
  ],
  'a partition mapping of what goes by key': [
    ['repartition: by_key', 'partition_mapping: {a: {0: 1}}'],
    [
      'partition_mapping: contradicts repartition by_key, which places records by their keys; keep one of the two [line 10]',
    ],
  ],
  'a mapping beyond the partitions that there will be': [
    ['partition_count: {a: 2}', 'partition_mapping: {a: {0: 1, 1: 2}, b: {0: 9}}'],
    ['partition_mapping.a.1: goes to a partition that a does not have with its partition_count [line 10]'],
  ],
  'settings of topics that are not made': [
    ['create_topics: false', 'replication_factor: 3', 'topic_config: {retention.ms: 5}'],
    [
      'replication_factor: has no effect with create_topics: false [line 10]',
      'topic_config: has no effect with create_topics: false [line 11]',
    ],
  ],
}

describe('the rules between the fields of a restore refuse', () => {
  for (const [name, [lines, errors]] of Object.entries(refused)) {
    test(name, () =>
      assert.deepEqual(
        errorsOf(job(...lines)),
        errors.map(error => `restore.${error}`),
      ),
    )
  }

  test('with the advice of a single field where that is what is wrong', () => {
    const text = job('topics: {include: [a]}', 'partitions: {a: [0]}', 'offset_ranges: {a-0: {start: 1}}')
    assert.match(errorsOf(text).join(), /^restore\.offset_ranges\.a-0: has no slash: write a\/0; /)
    const pattern = job('topics: {include: [a]}', "topic_mapping: {'b*': c}")
    assert.match(errorsOf(pattern).join(), /^restore\.topic_mapping\.b\*: is a pattern, but here each topic is named; /)
    const nameless = errorsOf(job('topic_mapping: {a: , b: }'))
    assert.deepEqual(
      nameless.map(line => line.split(';')[0]),
      ['restore.topic_mapping.a: has no value', 'restore.topic_mapping.b: has no value'],
    )
    const pair = job('partitions: {a: [0]}', 'partition_mapping: {a: {x: 0}}')
    assert.match(errorsOf(pair).join(), /^restore\.partition_mapping\.a\.x: is not a partition number; /)
  })

  test('nothing that a pattern with a fault of its own might have selected', () => {
    const text = job(`topics: {include: ['\${NONE}']}`, 'topic_mapping: {a: b}')
    assert.match(
      errorsOf(text).join('\n'),
      /^restore\.topics\.include\.0: the environment variable NONE is not set; .*$/,
    )
  })

  test('without what a variable holds', () => {
    const env = { SECRET: 'hunter2', NUMBER: '71982' }
    const mapped = job(`topic_mapping: {a: '\${SECRET}', b: '\${SECRET}'}`)
    const named = job(`topics: {include: [a, '\${SECRET}']}`, `topic_mapping: {a: '\${SECRET}'}`)
    const ranged = job(`offset_ranges: {a/0: {start: '\${NUMBER}', end: '\${NUMBER}'}}`)
    const placed = job(`partition_count: {a: 1}`, `partition_mapping: {a: {0: '\${NUMBER}'}}`)
    const timed = job(`time_window_start: '\${NUMBER}'`, `time_window_end: '\${SECRET}'`)
    for (const text of [mapped, named, ranged, placed, timed]) {
      const errors = errorsOf(text, { env })
      assert.ok(errors.length > 0)
      assert.doesNotMatch(errors.join('\n'), /hunter2|71982/)
    }
  })
})

test('the rules between the fields of a restore let pass what has an effect', () => {
  const { restore } = parseRestore(
    job(
      'topics: {include: [a, b, c], exclude: [c]}',
      'topic_mapping: {a: c, b: a}',
      "partitions: {a: [0, '1']}",
      'offset_ranges: {a/1: {start: 1}, b/7: {end: 1}}',
      'partition_count: {a: 2}',
      'partition_mapping: {a: {0: 1, 1: 0}, b: {7: 9}}',
    ),
  )
  assert.equal(restore.partitionMapping.get('b')?.get(7), 9)
})
