import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { compareJob, findOffsetJob, offsetMapJob } from '../../src/jobs/compare.ts'
import { restoreOptions } from '../../src/jobs/restore.ts'
import { Cluster } from '../../src/kafka/cluster.ts'
import { systemClock as clock } from '../../src/lib/clock.ts'
import type { CompareReport } from '../../src/restore/compare.ts'
import type { OffsetMapRun } from '../../src/restore/offset-map.ts'
import { restoreBackup } from '../../src/restore/restore-backup.ts'
import { openLocation } from '../open-location.ts'
import { recordsOnly } from '../restore/plain-options.ts'
import type { ConsumedRecord, SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const onProgress = () => undefined
const START = Date.now() - 3_600_000
const text = (value: string) => Buffer.from(value)

const seeds: SeedRecord[] = Array.from({ length: 300 }, (_, i) => ({
  partition: i % 2,
  key: i % 7 === 0 ? null : text(`key ${i}`),
  value: i % 11 === 0 ? null : text(`value ${i} ${'x'.repeat(i)}`),
  headers:
    i % 5 === 0
      ? [
          ['h', text('1')],
          ['h', null],
          ['g', text('2')],
        ]
      : [],
  timestamp: START + i,
}))

describe('compare and offset-map', () => {
  const kafka = useKafka()

  const jobText = (path: string, include: string, restore: Record<string, unknown> = {}) =>
    JSON.stringify({
      mode: 'restore',
      backup_id: 'b1',
      target: { bootstrap_servers: kafka.server.bootstrapServers },
      storage: { backend: 'filesystem', path },
      restore: { topics: { include: [include] }, topic_mapping: { [include]: `${include}-copy` }, ...restore },
    })
  const makeJob = (...args: Parameters<typeof jobText>): RestoreJob =>
    parseJob(jobText(...args), { source: 'test job', env: {}, mode: 'restore' })

  async function restore(job: RestoreJob, path: string): Promise<void> {
    const { requestTimeoutMs } = job.target
    const cluster = await Cluster.open({ ...job.target, softwareVersion: '0', clock }, never)
    const storage = openLocation(path)
    try {
      const parts = { cluster, storage, clock, requestTimeoutMs, onProgress, version: '1' }
      await restoreBackup(recordsOnly(restoreOptions(job)), parts, never)
    } finally {
      cluster.close()
      await storage.close()
    }
  }

  /** Backs the topic up and hands over the folder. */
  const withBackup = (topic: string, work: (path: string) => Promise<void>) =>
    withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: [topic] })
      await work(path)
    })

  const consume = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })

  test('compare passes after a restore, also with added headers and with a part of the records', async () => {
    await kafka.driver.createTopic('plain', { partitions: 2 })
    for (const compression of ['none', 'lz4', 'zstd'] as const)
      await kafka.driver.produce('plain', seeds, { compression })
    await withBackup('plain', async path => {
      const variants: Record<string, unknown>[] = [
        {},
        { offset_headers: true },
        { offset_ranges: { 'plain/0': { start: 17, end: 301 } } },
        { time_window_start: START + 50, time_window_end: START + 200 },
        { partition_mapping: { plain: { 0: 1, 1: 0 } } },
      ]
      for (const [i, variant] of variants.entries()) {
        const target = `plain-${i}`
        const job = makeJob(path, 'plain', { topic_mapping: { plain: target }, ...variant })
        await restore(job, path)
        const report = await compareJob(job, { onProgress }, never)
        assert.deepEqual(differencesOf(report), [], target)
        assert.equal(report.ok, true)
        assert.equal(report.totals.records, (await consume(target)).flat().length)
      }
    })
  })

  test('compare finds changed, lost and added records, and nothing else', async () => {
    await kafka.driver.createTopic('orders', { partitions: 2 })
    await kafka.driver.produce('orders', seeds)
    const first = seeds[100] ?? assert.fail()
    const changes: [name: string, records: SeedRecord[], expected: string[]][] = [
      ['value', seeds.with(100, { ...first, value: text('other') }), ['different value 50>50']],
      ['key', seeds.with(100, { ...first, key: null }), ['different key 50>50']],
      ['timestamp', seeds.with(100, { ...first, timestamp: START + 101 }), ['different timestamp 50>50']],
      [
        'header',
        seeds.with(100, {
          ...first,
          headers: [
            ['h', text('1')],
            ['h', text('')],
            ['g', text('2')],
          ],
        }),
        ['different headers 50>50'],
      ],
      ['missing', seeds.toSpliced(100, 1), ['missing 50>-']],
      ['extra', seeds.toSpliced(100, 0, first), ['extra ->51']],
    ]
    await withBackup('orders', async path => {
      for (const [name, records, expected] of changes) {
        const target = `orders-${name}`
        await kafka.driver.createTopic(target, { partitions: 2 })
        await kafka.driver.produce(target, records)
        const job = makeJob(path, 'orders', { topic_mapping: { orders: target } })
        const report = await compareJob(job, { onProgress }, never)
        assert.deepEqual(differencesOf(report), expected, name)
        assert.equal(report.ok, false)
        const untouched = name === 'extra' ? 300 : 299
        assert.equal(report.totals.records, untouched, name)
      }
    })
  })

  test('distinguish appended records from existing ones, with exact maps', async () => {
    await kafka.driver.createTopic('shared', { partitions: 2 })
    await kafka.driver.produce('shared', seeds)
    await kafka.driver.createTopic('shared-copy', { partitions: 2 })
    await kafka.driver.produce('shared-copy', seeds.slice(0, 40))
    await withBackup('shared', async path => {
      const job = makeJob(path, 'shared', { existing_topics: 'append' })
      await restore(job, path)
      await kafka.driver.produce('shared-copy', seeds.slice(0, 10))
      const report = await compareJob(job, { onProgress }, never)
      assert.deepEqual([report.ok, report.totals.records], [true, 300])
      const runs = await offsetMapJob(job, {}, quiet, never)
      const target = (await consume('shared-copy')).map(records => records.slice(20, 20 + 150))
      assert.deepEqual(pairsOf(runs), zip(await consume('shared'), target))
    })
  })

  test('offset-map is exact for transactions, and maps an offset without a record to the next one', async () => {
    await kafka.driver.createTopic('payments', { partitions: 2 })
    for (const [i, outcome] of (['commit', 'abort', 'commit', 'abort', 'commit'] as const).entries()) {
      await kafka.driver.transaction('payments', seeds.slice(0, 20 + i), { transactionalId: 'tx', outcome })
      await kafka.driver.produce('payments', seeds.slice(0, 6))
    }
    await withBackup('payments', async path => {
      const job = makeJob(path, 'payments')
      await restore(job, path)
      assert.equal((await compareJob(job, { onProgress }, never)).ok, true)
      const runs = await offsetMapJob(job, {}, quiet, never)
      assert.deepEqual(pairsOf(runs), zip(await consume('payments'), await consume('payments-copy')))
      assert.equal(runs.filter(({ partition }) => partition === 0).length, 6, 'cut by 5 markers, 2 with records before')
      // The first transaction has ten records in partition 0; its marker is at 10.
      const at = (offset: bigint) => findOffsetJob(job, { topic: 'payments', partition: 0, offset }, quiet, never)
      const place = { targetTopic: 'payments-copy', targetPartition: 0 }
      assert.deepEqual(await at(9n), { isExact: true, sourceOffset: 9n, targetOffset: 9n, ...place })
      assert.deepEqual(await at(10n), { isExact: false, sourceOffset: 11n, targetOffset: 10n, ...place })
      assert.equal(await at(10_000n), undefined)
    })
  })

  test('offset-map is exact for a compacted topic with holes', async () => {
    const configs = {
      'cleanup.policy': 'compact',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.01',
      'min.compaction.lag.ms': '0',
    }
    await kafka.driver.createTopic('latest', { partitions: 1, configs })
    for (let round = 0; round < 4; round++) {
      await kafka.driver.seedBulk('latest', {
        count: 2000,
        partitions: 1,
        valueBytes: 100,
        keySpace: 40,
        batchSize: 1000,
      })
    }
    await waitForHoles('latest', 4000)
    await kafka.driver.alterTopicConfig('latest', { 'min.compaction.lag.ms': '86400000' })
    await withBackup('latest', async path => {
      const job = makeJob(path, 'latest')
      await restore(job, path)
      const [source, target] = [await consume('latest'), await consume('latest-copy')]
      const report = await compareJob(job, { onProgress }, never)
      assert.deepEqual([differencesOf(report), report.totals.records], [[], source.flat().length])
      const runs = await offsetMapJob(job, {}, quiet, never)
      assert.ok(runs.length > 10, `${runs.length} runs`)
      assert.deepEqual(pairsOf(runs), zip(source, target))
      // A broker takes DeleteRecords only for a topic that also has the policy delete.
      await kafka.driver.alterTopicConfig('latest-copy', { 'cleanup.policy': 'compact,delete' })
      await kafka.driver.deleteRecords('latest-copy', 0, 5n)
      const cut = await compareJob(job, { onProgress }, never)
      assert.deepEqual([cut.ok, cut.totals.removed, cut.totals.records], [false, 0, source.flat().length - 5])
      assert.deepEqual(
        differencesOf(cut).map(one => one.split(' ')[0]),
        Array(5).fill('missing'),
        'DeleteRecords is not compaction',
      )
    })
  })

  test('exit 0, or 3 if something differs', async () => {
    await kafka.driver.createTopic('cli', { partitions: 1 })
    const records = seeds.slice(0, 10).map(record => ({ ...record, partition: 0 }))
    const places = await kafka.driver.produce('cli', records)
    assert.equal(places.length, 10)
    await withBackup('cli', async path => {
      const file = join(path, 'restore.yaml')
      await writeFile(file, jobText(path, 'cli'))
      await restore(makeJob(path, 'cli'), path)
      const cli = (...args: string[]) => callCli(args)
      const same = await cli('compare', '--config', file, '--format', 'json')
      assert.deepEqual([same.code, JSON.parse(same.stdout).totals.records], [0, 10], same.stderr)
      const map = await cli('offset-map', '--config', file, '--topic', 'cli', '--partition', '0', '--offset', '7')
      assert.deepEqual([map.code, map.stdout], [0, 'cli/0 offset 7 is cli-copy/0 offset 7\n'], map.stderr)
      for (const [args, message] of [
        [['--topic', 'nope'], /topic nope is not part of this restore/],
        [['--topic', 'cli', '--partition', '9'], /partition 9 of topic cli is not part/],
        [['--topic', 'nope', '--partition', '0', '--offset', '7'], /topic nope is not part of this restore/],
      ] as const) {
        const unknown = await cli('offset-map', '--config', file, ...args)
        assert.equal(unknown.code, 1)
        assert.match(unknown.stderr, message)
      }
      const [server = ''] = kafka.server.bootstrapServers
      const plain = await cli('compare', '--path', path, '--backup-id', 'b1', '--target', server)
      assert.equal(plain.code, 0, plain.stderr)
      await kafka.driver.produce('cli-copy', records.slice(0, 1))
      const differs = await cli('compare', '--config', file)
      assert.equal(differs.code, 3, differs.stderr)
      assert.match(differs.stdout, /cli-copy\/0 .* 10 {2}extra/)
      await kafka.driver.deleteTopic('cli-copy')
      const gone = await cli('compare', '--config', file)
      assert.equal(gone.code, 3, gone.stderr)
      assert.match(gone.stdout, /^.*\n.*\n {2}not on the target: topic cli-copy\n/)
      assert.doesNotMatch(gone.stdout, /missing/)
    })
  })

  async function waitForHoles(topic: string, most: number): Promise<void> {
    for (let attempt = 0; attempt < 150; attempt++) {
      const [records] = await consume(topic)
      if (records && records.length < most) return
      await kafka.driver.produce(topic, [{ partition: 0, key: text('k'), value: text('v') }])
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    throw new Error(`${topic} was not compacted in time`)
  }
})

/** `kind fields source>target` of each. */
function differencesOf({ topics }: CompareReport): string[] {
  return topics.flatMap(({ partitions }) =>
    partitions.flatMap(({ differences }) =>
      differences.map(({ kind, fields, sourceOffset = '-', targetOffset = '-' }) =>
        [kind, ...fields, `${sourceOffset}>${targetOffset}`].join(' '),
      ),
    ),
  )
}

/** `partition: source offset > target offset` of each record that the map knows. */
function pairsOf(runs: readonly OffsetMapRun[]): string[] {
  return runs.flatMap(({ partition, sourceOffset, targetOffset, count }) =>
    Array.from(
      { length: Number(count) },
      (_, i) => `${partition}: ${sourceOffset + BigInt(i)} > ${targetOffset + BigInt(i)}`,
    ),
  )
}

/** The same as a consumer of both sides sees it, whose records come in the same order. */
function zip(source: readonly ConsumedRecord[][], target: readonly ConsumedRecord[][]): string[] {
  return source.flatMap((records, partition) => {
    assert.equal(records.length, target[partition]?.length)
    return records.map(({ offset }, i) => `${partition}: ${offset} > ${target[partition]?.[i]?.offset}`)
  })
}
