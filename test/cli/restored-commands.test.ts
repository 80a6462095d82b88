import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { fakeActions, offsetRuns } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { differing, restoreJob } from './restore-samples.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main([...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const config = ['--config', 'restore.yaml']

describe('compare', () => {
  test('reports that all records are equal, and their number', async () => {
    const { code, out, calls } = await run(['compare', ...config])
    assert.equal(code, 0)
    assert.equal(
      out,
      `orders generation 3: the target has the same records
  1 partition, 1,500,000 records the same

SOURCE  TARGET  PARTITIONS       SAME  DIFFERENCES
orders  copy             1  1,500,000            0
`,
    )
    assert.deepEqual(calls.compareJob?.[0], restoreJob)
  })

  test('shows the differences and exits 3', async () => {
    const { code, out } = await run(['compare', ...config], { compareJob: async () => differing })
    assert.equal(code, 3)
    assert.equal(
      out,
      `orders generation 3: THE TARGET DIFFERS
  1 partition, 7 records the same, 2 removed by compaction since

SOURCE  TARGET  PARTITIONS  SAME  DIFFERENCES
orders  copy             1     7           3+

PARTITION  SOURCE OFFSET  TARGET OFFSET  DIFFERENCE            BACKUP  TARGET
copy/1                11              -  missing               "a"     -
copy/1                12              2  different key, value  "b"     null
copy/1                 -              9  extra                 -       0x00

Warnings
  copy/1: a transaction is open
`,
    )
  })

  test('names missing topics and partitions first, without their records', async () => {
    const [topic = assert.fail()] = differing.topics
    const [partition = assert.fail()] = topic.partitions
    const topics = [
      { ...topic, target: 'gone', isMissing: true as const, partitions: [{ ...partition, isMissing: true as const }] },
      { ...topic, partitions: [{ ...partition, partition: 7, isMissing: true as const }] },
    ]
    const report = { ...differing, topics, warnings: ['gone: it does not exist on the target'] }
    const { out } = await run(['compare', ...config], { compareJob: async () => report })
    assert.match(out, /^.*\n.*\n {2}not on the target: topic gone, partition copy\/7\n/)
    assert.doesNotMatch(out, /missing|does not exist/)
  })

  test('shows the first of many differences, and their number', async () => {
    const [topic = assert.fail()] = differing.topics
    const [partition = assert.fail()] = topic.partitions
    const many = Array.from({ length: 30 }, (_, at) => ({
      ...partition,
      partition: at,
      differences: partition.differences.slice(0, 1),
    }))
    const report = { ...differing, topics: [{ ...topic, partitions: many }] }
    const { out } = await run(['compare', ...config], { compareJob: async () => report })
    assert.equal(out.match(/ missing /g)?.length, 20)
    assert.match(out, /^and 10 more; --format json shows all of them$/m)
  })

  test('prints every difference as JSON', async () => {
    const { code, out } = await run(['compare', ...config, '--format', 'json'], { compareJob: async () => differing })
    assert.equal(code, 3)
    const { ok, backup_id, duration_ms, topics } = JSON.parse(out)
    assert.deepEqual([ok, backup_id, duration_ms], [false, 'orders', 1235])
    const { differences, ...partition } = topics[0].partitions[0]
    assert.deepEqual(partition, { source_partition: 0, partition: 1, records: 7, removed: 2, complete: false })
    assert.deepEqual(differences[0], {
      kind: 'missing',
      fields: [],
      source_partition: 0,
      source_offset: 11,
      target_offset: null,
      expected: '"a"',
      actual: null,
    })
  })

  test('names the source partition of a record if several were merged', async () => {
    const [topic = assert.fail()] = differing.topics
    const mixed = topic.partitions.map(one => ({ ...one, sourcePartition: null }))
    const report = { ...differing, topics: [{ ...topic, partitions: mixed }] }
    const { out } = await run(['compare', ...config], { compareJob: async () => report })
    assert.match(out, /copy\/1 +0\/11 +- +missing/)
    assert.match(out, /copy\/1 +- +9 +extra/)
  })

  test('works without a job file if the target needs no security', async () => {
    const at = ['--path', '/backups', '--backup-id', 'orders', '--target', 'a:1,b:2']
    const { code, calls } = await run(['compare', ...at])
    assert.equal(code, 0)
    assert.deepEqual(calls.plainRestoreJob?.[0], { path: '/backups', backupId: 'orders', target: 'a:1,b:2' })
  })

  test('requires either a job file or all options', async () => {
    for (const argv of [[], ['--path', '/b'], [...config, '--target', 'a:1'], ['--set', 'a=1']]) {
      const { code, err } = await run(['compare', ...argv])
      assert.equal(code, 2, argv.join(' '))
      assert.match(err, /--config/)
    }
  })
})

describe('offset-map', () => {
  test('prints each range of offsets', async () => {
    const { code, out, calls } = await run(['offset-map', ...config, '--topic', 'orders'])
    assert.equal(code, 0)
    assert.equal(
      out,
      `SOURCE    FROM  TO  TARGET  FROM  RECORDS
orders/0    10  12  copy/1     0        3
orders/0    20  20  copy/1     3        1
`,
    )
    assert.deepEqual(calls.offsetMapJob?.slice(0, 2), [restoreJob, { topic: 'orders' }])
  })

  test('prints the ranges as JSON', async () => {
    const { out } = await run(['offset-map', ...config, '--format', 'json'])
    assert.deepEqual(JSON.parse(out).runs[1], {
      topic: 'orders',
      partition: 0,
      offset: 20,
      target_topic: 'copy',
      target_partition: 1,
      target_offset: 3,
      count: 1,
    })
    assert.equal(JSON.parse(out).runs.length, offsetRuns.length)
    assert.deepEqual(JSON.parse(out).target_topics, [{ topic: 'copy', id: 'id-copy' }])
    const one = await run(['offset-map', ...config, '--topic', 'orders', '--partition', '0', '--format', 'json'])
    const { topic, partition } = JSON.parse(one.out)
    assert.deepEqual([topic, partition], ['orders', 0], 'a map that lacks other partitions says so')
  })

  test('prints the target offset of one record, or of the next one', async () => {
    const at = ['--topic', 'orders', '--partition', '0', '--offset', '11']
    const place = { sourceOffset: 11n, targetTopic: 'copy', targetPartition: 1, targetOffset: 1n }
    const exact = await run(['offset-map', ...config, ...at], {
      findOffsetJob: async () => ({ isExact: true, ...place }),
    })
    assert.deepEqual([exact.code, exact.out], [0, 'orders/0 offset 11 is copy/1 offset 1\n'])
    const next = await run(['offset-map', ...config, ...at], {
      findOffsetJob: async () => ({ isExact: false, ...place, sourceOffset: 20n, targetOffset: 3n }),
    })
    assert.equal(
      next.out,
      'orders/0 offset 11: no record was restored from this offset; the next one, from offset 20, is copy/1 offset 3\n',
    )
    const none = await run(['offset-map', ...config, ...at])
    assert.deepEqual(
      [none.code, none.out],
      [1, 'orders/0 offset 11: neither this record nor a later one is on the target\n'],
    )
    assert.deepEqual(none.calls.findOffsetJob?.[1], { topic: 'orders', partition: 0, offset: 11n })
  })

  test('refuses an incomplete position, and invalid numbers', async () => {
    for (const argv of [
      ['--partition', '0'],
      ['--topic', 't', '--offset', '1'],
      ['--topic', 't', '--partition', 'x'],
    ]) {
      assert.equal((await run(['offset-map', ...config, ...argv])).code, 2, argv.join(' '))
    }
  })
})
