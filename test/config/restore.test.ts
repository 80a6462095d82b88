import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RestoreJob } from '../../src/config/load-job.ts'
import { secretsIn } from '../../src/observe/redact.ts'
import { errorsOf, minimalRestore, parseRestore, s3Job } from './job-texts.ts'

const restore = (text: string) => parseRestore(`${minimalRestore}restore: {${text}}\n`).restore

describe('a restore that leaves out all it may', () => {
  test('has every default, in bytes and milliseconds', () => {
    assert.deepEqual(parseRestore(minimalRestore), {
      mode: 'restore',
      backupId: 'nightly',
      target: { bootstrapServers: ['kafka-2:9092'], clientId: 'kafka-backup', requestTimeoutMs: 30_000 },
      storage: { backend: 'filesystem', path: '/backups' },
      restore: {
        topics: { include: ['*'], exclude: [] },
        partitions: new Map(),
        offsetRanges: new Map(),
        topicMapping: new Map(),
        repartition: 'keep',
        partitionCount: new Map(),
        partitionMapping: new Map(),
        createTopics: true,
        topicConfig: new Map(),
        existingTopics: 'fail',
        retention: 'fail',
        offsetHeaders: false,
        verify: false,
        consumerGroups: { exclude: [], mapping: new Map(), release: 'end' },
        acls: false,
        quotas: false,
        users: false,
        order: [],
        commitIntervalMs: 5_000,
        batchBytes: 1_048_576,
        memoryBudgetBytes: 100_663_296,
        connectionsPerBroker: 4,
      },
    })
  })

  test('has the same with an empty section', () => {
    assert.deepEqual(parseRestore(`${minimalRestore}restore: {}\n`), parseRestore(minimalRestore))
  })
})

test('a restore takes every field of its own', () => {
  const text = `${minimalRestore}restore:
  generation: 12
  topics: {include: ['orders*'], exclude: [orders.tmp]}
  partitions: {orders: [2, 0]}
  offset_ranges: {orders/0: {start: 100, end: 200}, orders/2: {end: '9223372036854775807'}}
  time_window_start: 2026-01-31T08:00:00+01:00
  time_window_end: 1769846400000
  topic_mapping: {orders: orders-restored}
  repartition: keep
  partition_count: {orders: 12}
  partition_mapping: {orders: {0: 11, 2: 11}}
  create_topics: true
  replication_factor: 3
  topic_config: {retention.ms: -1, cleanup.policy: compact, preallocate: false, min.cleanable.dirty.ratio: 0.5}
  existing_topics: append
  retention: hold
  offset_headers: true
  consumer_groups: {include: ['billing*'], exclude: [billing-test], mapping: {billing: billing-2}, release: per_topic}
  acls: true
  quotas: true
  users: true
  verify: true
  restore_id: after-incident
  order: [payments, 'orders*']
  commit_interval: 10s
  batch_bytes: 64KiB
  rate_limit: 50MB
  memory_budget: 64MiB
  connections_per_broker: 4
metrics: {listen: '127.0.0.1:9400'}
enterprise: {schema_registry: {enabled: false}}
`
  const job = parseRestore(text)
  assert.deepEqual(job.restore, {
    generation: 12,
    topics: { include: ['orders*'], exclude: ['orders.tmp'] },
    partitions: new Map([['orders', [2, 0]]]),
    offsetRanges: new Map([
      ['orders/0', { start: 100n, end: 200n }],
      ['orders/2', { end: 9_223_372_036_854_775_807n }],
    ]),
    timeWindowStartMs: 1_769_842_800_000n,
    timeWindowEndMs: 1_769_846_400_000n,
    topicMapping: new Map([['orders', 'orders-restored']]),
    repartition: 'keep',
    partitionCount: new Map([['orders', 12]]),
    partitionMapping: new Map([
      [
        'orders',
        new Map([
          [0, 11],
          [2, 11],
        ]),
      ],
    ]),
    createTopics: true,
    replicationFactor: 3,
    topicConfig: new Map([
      ['retention.ms', '-1'],
      ['cleanup.policy', 'compact'],
      ['preallocate', 'false'],
      ['min.cleanable.dirty.ratio', '0.5'],
    ]),
    existingTopics: 'append',
    retention: 'hold',
    offsetHeaders: true,
    acls: true,
    quotas: true,
    users: true,
    consumerGroups: {
      include: ['billing*'],
      exclude: ['billing-test'],
      mapping: new Map([['billing', 'billing-2']]),
      release: 'per_topic',
    },
    verify: true,
    restoreId: 'after-incident',
    order: ['payments', 'orders*'],
    commitIntervalMs: 10_000,
    batchBytes: 65_536,
    bytesPerSecond: 50_000_000,
    memoryBudgetBytes: 67_108_864,
    connectionsPerBroker: 4,
  })
  assert.equal(job.metrics?.listen, '127.0.0.1:9400')
  assert.equal(job.enterprise?.schemaRegistry?.enabled, false)
})

test('a restore reads from a bucket as a backup writes to one', () => {
  const storage = s3Job.slice(s3Job.indexOf('storage:'))
  const job = parseRestore(minimalRestore.replace(/storage:[\s\S]*/, storage))
  assert.equal(job.storage.backend === 's3' && job.storage.bucket, 'my-bucket')
})

describe('the target of a restore', () => {
  const at = '  bootstrap_servers: [kafka-2:9092]\n'
  const target = (text: string) => minimalRestore.replace(at, `${at}  ${text}\n`)
  const login = '{protocol: SASL_SSL, sasl: {mechanism: PLAIN, username: u, password: hush-hush}}'

  test('takes the fields of a cluster, and its secrets are known as such', () => {
    const job = parseRestore(target(`client_id: me\n  request_timeout: 5s\n  security: ${login}`))
    assert.deepEqual(job.target, {
      bootstrapServers: ['kafka-2:9092'],
      clientId: 'me',
      requestTimeoutMs: 5_000,
      security: { protocol: 'SASL_SSL', sasl: { mechanism: 'PLAIN', username: 'u', password: 'hush-hush' } },
    })
    assert.deepEqual(secretsIn(job), ['hush-hush'])
  })

  const refused: Record<string, [text: string, message: RegExp]> = {
    'no brokers': [
      minimalRestore.replace(at, '  bootstrap_servers: []\n'),
      /^target\.bootstrap_servers: is an empty list/,
    ],
    'a broker without a port': [
      minimalRestore.replace(':9092', ''),
      /^target\.bootstrap_servers\.0: "kafka-2" has no port; allowed: host:port/,
    ],
    'a login that the protocol does not have': [
      target(`security: ${login.replace('SASL_SSL', 'SSL')}`),
      /^target\.security\.sasl: is given although protocol SSL has no login; set protocol to SASL_SSL or remove it/,
    ],
    'half a client certificate': [
      target('security: {protocol: SSL, tls: {client_cert: c.pem}}'),
      /^target\.security\.tls\.client_key: is required with client_cert/,
    ],
    'a slip in a key': [
      target('client_di: x'),
      /^target\.client_di: is not a known key; .* \(did you mean `client_id`\?\)/,
    ],
  }
  for (const [name, [text, message]] of Object.entries(refused)) {
    test(`refuses ${name}`, () => {
      const errors = errorsOf(text)
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.match(errors[0] ?? '', message)
      assert.doesNotMatch(errors.join(), /hush/)
    })
  }
})

const accepted: Record<string, [text: string, read: (restore: RestoreJob['restore']) => unknown, expected: unknown]> = {
  'numbers as texts': ["generation: '3', partitions: {a: ['1']}", r => [r.generation, r.partitions.get('a')], [3, [1]]],
  'a topic called as what every object has': [
    'topic_mapping: {constructor: a, __proto__: b}',
    r => [...r.topicMapping],
    [
      ['constructor', 'a'],
      ['__proto__', 'b'],
    ],
  ],
  'topics that change names': ['topic_mapping: {a: b, b: a}', r => r.topicMapping.size, 2],
  'a topic with dots and its partition': [
    'offset_ranges: {a.b-c_d/10: {start: 0}}',
    r => [...r.offsetRanges.keys()],
    ['a.b-c_d/10'],
  ],
  'an offset beyond the exact numbers in quotes': [
    "offset_ranges: {a/0: {start: '9007199254740993'}}",
    r => r.offsetRanges.get('a/0'),
    { start: 9_007_199_254_740_993n },
  ],
  'several partitions onto one': ['partition_mapping: {a: {0: 0, 1: 0}}', r => r.partitionMapping.get('a')?.size, 2],
  'fewer partitions by key': [
    'repartition: by_key, partition_count: {a: 1}',
    r => [r.repartition, r.partitionCount.get('a')],
    ['by_key', 1],
  ],
  'empty maps': ['topic_mapping: {}, topic_config: {}', r => r.topicMapping.size + r.topicConfig.size, 0],
  'the least batches': ['batch_bytes: 16KiB', r => r.batchBytes, 16_384],
  'the largest batches': ['batch_bytes: 64MiB', r => r.batchBytes, 67_108_864],
  'existing topics only': ['create_topics: false', r => r.createTopics, false],
  'a retention that applies': ['retention: apply', r => r.retention, 'apply'],
}

describe('a restore accepts', () => {
  for (const [name, [text, read, expected]] of Object.entries(accepted)) {
    test(name, () => assert.deepEqual(read(restore(text)), expected))
  }

  test('values from variables and from --set', () => {
    const text = `${minimalRestore}restore: {offset_ranges: {a/0: {start: '\${FROM}'}}, topic_mapping: {a: '\${TO}'}}`
    const set = [
      'restore.partitions.a=[0, 1]',
      'restore.partition_mapping={a: {0: 1}}',
      'restore.topic_config={k.x: 5}',
    ]
    const job = parseRestore(text, { env: { FROM: '7', TO: 'b' }, set })
    assert.deepEqual(job.restore.offsetRanges.get('a/0'), { start: 7n })
    assert.equal(job.restore.topicMapping.get('a'), 'b')
    assert.deepEqual(job.restore.partitions.get('a'), [0, 1])
    assert.deepEqual(job.restore.partitionMapping.get('a'), new Map([[0, 1]]))
    assert.equal(job.restore.topicConfig.get('k.x'), '5')
  })
})

const topic = 'allowed: a topic name: 1 to 249 of A-Z a-z 0-9 . _ -'
const refused: Record<string, [text: string, message: string]> = {
  'a slip in a key': ['topics_mapping: {}', 'topics_mapping: is not a known key'],
  'generation 0': ['generation: 0', 'generation: 0 is too small; allowed: 1 or more'],
  'a generation that is none': ['generation: newest', 'generation: "newest" is not a whole number'],
  'no topics': ['topics: {include: []}', 'topics.include: is an empty list'],
  'topics without include': ['topics: [a]', 'topics: is a list; allowed: a map of include, exclude'],
  'a regular expression as topic': ['topics: {include: [a+]}', 'topics.include.0: "a+" is not a topic name or pattern'],
  'a list as mapping': ['topic_mapping: [a]', 'topic_mapping: a list is not a map; allowed: a map of topic names'],
  'a mapping without a value': ['topic_mapping: ', 'topic_mapping: has no value; allowed: a map of topic names'],
  'a topic without a new name': ['topic_mapping: {a: }', `topic_mapping.a: has no value; ${topic}`],
  'an empty new name': ["topic_mapping: {a: ''}", `topic_mapping.a: "" is not a topic name; ${topic}`],
  'a new name with a space': ['topic_mapping: {a: b c}', `topic_mapping.a: "b c" is not a topic name; ${topic}`],
  'a new name of one dot': ["topic_mapping: {a: '.'}", 'topic_mapping.a: "." is not a topic name'],
  'a new name of 250 characters': [`topic_mapping: {a: ${'b'.repeat(250)}}`, 'has 250 characters'],
  'a number as new name': ['topic_mapping: {a: 5}', 'topic_mapping.a: 5 is read as a number, but this is a text'],
  'a pattern that is mapped': [
    "topic_mapping: {'a*': b}",
    'topic_mapping.a*: is a pattern, but here each topic is named',
  ],
  'a pattern as new name': ["topic_mapping: {a: 'b*'}", 'topic_mapping.a: "b*" is a pattern'],
  'one partition without a list': ['partitions: {a: 0}', 'partitions.a: 0 is not a list; allowed: a list of partition'],
  'no partitions': ['partitions: {a: []}', 'partitions.a: is an empty list; allowed: a list of partition numbers'],
  'a partition twice': ["partitions: {a: [0, '0']}", 'partitions.a.1: "0" is given a second time'],
  'a partition below 0': ['partitions: {a: [-1]}', 'partitions.a.0: -1 is too small; allowed: 0 to 99999'],
  'a partition without a value': ['partitions: {a: [0, null]}', 'partitions.a.1: has no value'],
  'partitions of a pattern': ["partitions: {'a?': [0]}", 'partitions.a?: is a pattern'],
  'a range of a topic': [
    'offset_ranges: {a: {start: 1}}',
    'offset_ranges.a: has no partition; allowed: topic/partition',
  ],
  'a range as Kafka names partitions': [
    'offset_ranges: {a-0: {start: 1}}',
    'offset_ranges.a-0: has no slash: write a/0',
  ],
  'a range of a partition that is none': [
    'offset_ranges: {a/00: {start: 1}}',
    'offset_ranges.a/00: is not a partition number',
  ],
  'a range of no topic': ['offset_ranges: {/0: {start: 1}}', 'offset_ranges./0: is not a topic name'],
  'a range as a text': ['offset_ranges: {a/0: 1-5}', 'offset_ranges.a/0: "1-5" is not a map; allowed: {start: offset'],
  'a range without an end': ['offset_ranges: {a/0: {}}', 'offset_ranges.a/0: has neither start nor end'],
  'a range without a value': ['offset_ranges: {a/0: }', 'offset_ranges.a/0: has no value'],
  'a range of nothing': ['offset_ranges: {a/0: {start: 5, end: 5}}', 'offset_ranges.a/0: selects nothing'],
  'a slip in a range': [
    'offset_ranges: {a/0: {strat: 5}}',
    'a/0.strat: is not a known key; allowed: start, end (did you mean `start`?)',
  ],
  'a start without a value': ['offset_ranges: {a/0: {start: }}', 'offset_ranges.a/0.start: has no value'],
  'an offset below 0': ['offset_ranges: {a/0: {start: -1}}', 'offset_ranges.a/0.start: -1 is not an offset'],
  'a broken offset': ['offset_ranges: {a/0: {end: 1.5}}', 'offset_ranges.a/0.end: 1.5 is not an offset'],
  'an offset in words': ['offset_ranges: {a/0: {end: latest}}', 'offset_ranges.a/0.end: "latest" is not an offset'],
  'an offset that YAML rounds': [
    'offset_ranges: {a/0: {end: 9007199254740993}}',
    'is too large to be read exactly as a number: put quotes',
  ],
  'an offset that Kafka has not': [
    "offset_ranges: {a/0: {end: '9223372036854775808'}}",
    'is beyond the last offset that Kafka has',
  ],
  'two ways to select a state': [
    'generation: 3, as_of: 2026-01-31T08:00:00Z',
    'as_of: selects a state of the backup, as generation does; keep one of the two',
  ],
  'a state of a day': ['as_of: 2026-01-31', 'as_of: "2026-01-31" is a day without a time'],
  'another way to repartition': [
    'repartition: by-key',
    '"by-key" is not known; allowed: keep, by_key (did you mean `by_key`?)',
  ],
  'no partitions at the target': ['partition_count: {a: 0}', 'partition_count.a: 0 is too small; allowed: 1 to 100000'],
  'a number of partitions for all': [
    'partition_count: 6',
    'partition_count: 6 is not a map; allowed: a map of topic names',
  ],
  'a list of new partitions': [
    'partition_mapping: {a: [1, 0]}',
    'partition_mapping.a: a list is not a map; allowed: a map of partitions, such as {0: 1, 1: 0}',
  ],
  'a new partition of no partition': [
    'partition_mapping: {a: {x: 0}}',
    'partition_mapping.a.x: is not a partition number',
  ],
  'a new partition that is none': [
    'partition_mapping: {a: {0: x}}',
    'partition_mapping.a.0: "x" is not a whole number',
  ],
  'a switch that is neither': ['create_topics: maybe', 'create_topics: "maybe" is neither true nor false'],
  'replication factor 0': ['replication_factor: 0', 'replication_factor: 0 is too small; allowed: 1 to 32767'],
  'a replication factor beyond 16 bits': ['replication_factor: 32768', 'replication_factor: 32768 is too large'],
  'a setting without a value': [
    'topic_config: {retention.ms: }',
    'topic_config."retention.ms": has no value; allowed: a text, a number',
  ],
  'an empty setting': ["topic_config: {a: ''}", 'topic_config.a: "" is empty'],
  'a list as setting': ['topic_config: {a: [delete, compact]}', 'topic_config.a: a list is not a text'],
  'a setting that YAML rounds': [
    'topic_config: {a: 9223372036854775807}',
    'topic_config.a: 9223372036854776000 is too large to be read exactly',
  ],
  'a setting with a space': ['topic_config: {a b: c}', 'topic_config.a b: is not the name of a setting'],
  'a switch of the registry in its short form': [
    'enabled: true',
    '(did you mean `enterprise.schema_registry.restore.enabled`?)',
  ],
  'a list of the registry in its short form': [
    'subjects: [a]',
    '(did you mean `enterprise.schema_registry.restore.subjects`?)',
  ],
  'settings by topic': ['topic_configs: {}', '(did you mean `topic_config`?)'],
  'another way with existing topics': ['existing_topics: overwrite', '"overwrite" is not known; allowed: fail, append'],
  'another time to release groups': [
    'consumer_groups: {release: early}',
    'restore.consumer_groups.release: "early" is not known; allowed: end, per_topic',
  ],
  'another way with retention': ['retention: keep', '"keep" is not known; allowed: fail, hold, apply'],
  'headers that are neither on nor off': ['offset_headers: 1', 'offset_headers: 1 is neither true nor false'],
  'a verification by degree': ['verify: deep', 'verify: "deep" is neither true nor false'],
  'a restore id with a slash': ['restore_id: a/b', 'restore_id: "a/b" has a character that is not allowed'],
  'a rate without bytes': ['rate_limit: 0', 'rate_limit: 0 is too small; allowed: 1KiB or more'],
  'a memory budget below 32 MiB': ['memory_budget: 31MiB', 'memory_budget: "31MiB" is too small'],
  'no connection': ['connections_per_broker: 0', 'connections_per_broker: 0 is too small; allowed: 1 to 16'],
  'a commit at every moment': ['commit_interval: 10ms', 'commit_interval: "10ms" is too short; allowed: 1s to 1h'],
  'an interval without a unit': ['commit_interval: 5', 'commit_interval: 5 has no unit'],
  'batches below 16 KiB': ['batch_bytes: 16383', 'batch_bytes: 16383 is too small; allowed: 16KiB to 64MiB'],
  'batches above 64 MiB': ['batch_bytes: 65MiB', 'batch_bytes: "65MiB" is too large'],
}

describe('a restore refuses', () => {
  for (const [name, [text, message]] of Object.entries(refused)) {
    test(name, () => {
      const errors = errorsOf(`${minimalRestore}restore: {${text}}\n`)
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.ok(errors[0]?.startsWith('restore.') && errors[0].includes(message), errors[0])
      assert.match(errors[0] ?? '', / \[line 8\]$/)
    })
  }

  test('each item of a map in its own line', () => {
    const text = 'restore:\n  offset_ranges:\n    a/0: {start: 1}\n    a/1:\n      start: x\n      end: -2\n'
    const [start = '', end = '', ...rest] = errorsOf(`${minimalRestore}${text}`)
    assert.match(start, /^restore\.offset_ranges\.a\/1\.start: "x" is not an offset; .* \[line 12\]$/)
    assert.match(end, /^restore\.offset_ranges\.a\/1\.end: -2 is not an offset; .* \[line 13\]$/)
    assert.deepEqual(rest, [])
  })
})
