import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { compareJob } from '../../src/jobs/compare.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import { commitGroupOffsets } from '../../src/kafka/group-offsets.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { ConsumedRecord, SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { restoreJobText } from './restore-job.ts'
import { killRestore } from './run-cli.ts'
import { assertConfigs } from './topic-settings.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const DAY_MS = 86_400_000

interface DryRun {
  text: string
  document: { totals: { records: number; records_precision: string }; time_window: { start: string } }
}

describe('a restore of a selection', () => {
  const kafka = useKafka()
  const consume = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })

  const jobText = (path: string, restore: Record<string, unknown>) =>
    restoreJobText({ servers: kafka.server.bootstrapServers, path, restore })

  async function restore(path: string, options: Record<string, unknown>): Promise<RestoreReport> {
    const job = parseJob(jobText(path, options), { source: 'test job', env: {}, mode: 'restore' })
    return runRestoreJob(job, quiet, never)
  }

  async function dryRun(path: string, options: Record<string, unknown>): Promise<DryRun> {
    const file = join(path, 'restore.yaml')
    await writeFile(file, jobText(path, options))
    const [text, json] = await Promise.all(
      [[], ['--format', 'json']].map(format => callCli(['restore', '--config', file, '--dry-run', ...format])),
    )
    assert.deepEqual([text?.code, json?.code], [0, 0], text?.stderr)
    return { text: text?.stdout ?? '', document: JSON.parse(json?.stdout ?? '') }
  }

  const withBackup = (topic: string, work: (path: string) => Promise<void>) =>
    withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: [topic] })
      await work(path)
    })

  test('restores the records of a time window in ISO 8601 or milliseconds, for any order of timestamps in a batch', async () => {
    const start = Date.now() - 2 * 3_600_000
    const end = start + 60_000
    // Equal times at both edges, and times that go back and forth over them.
    const times = [
      start - 1,
      start,
      start,
      end,
      end - 1,
      start - 1,
      end - 1,
      start,
      end,
      end,
      start + 500,
      end - 1,
      start - 1,
    ]
    const records: SeedRecord[] = [0, 1].flatMap(partition =>
      (partition === 0 ? times : times.toReversed()).map((timestamp, i) => ({
        partition,
        key: Buffer.from(`${i}`),
        value: Buffer.from(`${timestamp - start}`),
        timestamp,
      })),
    )
    await kafka.driver.createTopic('window', { partitions: 2 })
    for (const compression of ['none', 'lz4'] as const) {
      await kafka.driver.produce('window', records, { compression, lingerMs: 500 })
      await kafka.driver.produce('window', records, { compression, flushEvery: 1 })
    }
    const source = await consume('window')
    const wanted = (from: number, to: number) =>
      source.map(all => all.filter(({ timestamp }) => timestamp >= BigInt(from) && timestamp < BigInt(to)))
    await withBackup('window', async path => {
      const iso = (ms: number) => new Date(ms).toISOString()
      const windows: [name: string, options: Record<string, unknown>, expected: ConsumedRecord[][]][] = [
        ['iso', { time_window_start: iso(start), time_window_end: iso(end) }, wanted(start, end)],
        ['ms', { time_window_start: start, time_window_end: end }, wanted(start, end)],
        ['from', { time_window_start: iso(end - 1) }, wanted(end - 1, Number.MAX_SAFE_INTEGER)],
        ['to', { time_window_end: start }, wanted(0, start)],
        ['one', { time_window_start: start, time_window_end: start + 1 }, wanted(start, start + 1)],
      ]
      for (const [name, options, expected] of windows) {
        const target = `window-${name}`
        const restoring = { topic_mapping: { window: target }, verify: true, ...options }
        if (name === 'iso') {
          const { text, document } = await dryRun(path, restoring)
          assert.match(text, new RegExp(`Time window +only records from .*to ${iso(end).slice(0, 19)}`))
          assert.deepEqual(document.totals.records, expected.flat().length)
          assert.deepEqual([document.totals.records_precision, document.time_window.start], ['exact', iso(start)])
        }
        const { totals } = await restore(path, restoring)
        assertSameRecords(expected, await consume(target))
        assert.equal(totals.records, expected.flat().length, name)
        assert.ok(totals.records > 0 && totals.records < source.flat().length, name)
      }
    })
  })

  describe('by restore.filter', () => {
    const regions = ['eu', 'us']
    const orderOf = (at: number) => ({ order: at, status: at % 3 === 0 ? 'open' : 'done', note: 'x'.repeat(1500) })
    const makeRecord = (at: number): SeedRecord => ({
      partition: at % 2,
      key: at % 11 === 0 ? null : Buffer.from(`customer-${at % 10}`),
      value: at % 13 === 0 ? null : Buffer.from(JSON.stringify(orderOf(at))),
      timestamp: Date.now() - 60_000 + at,
      headers: [
        ['region', Buffer.from(regions[at % 2] ?? '')],
        ['region', at % 5 === 0 ? null : Buffer.from('other')],
      ],
    })
    const made = Array.from({ length: 1200 }, (_, at) => makeRecord(at))

    before(async () => {
      await kafka.driver.createTopic('filtered', { partitions: 2 })
      await kafka.driver.produce('filtered', made.slice(0, 800), { compression: 'zstd', lingerMs: 50 })
      const transaction = { transactionalId: 'filtered', outcome: 'commit' } as const
      await kafka.driver.transaction('filtered', made.slice(800, 1000), transaction)
      await kafka.driver.transaction('filtered', made.slice(0, 50), { ...transaction, outcome: 'abort' })
      await kafka.driver.produce('filtered', made.slice(1000), { compression: 'lz4' })
    })

    const fieldOf = (record: ConsumedRecord, name: string): unknown =>
      record.value === null ? undefined : JSON.parse(record.value.toString())[name]
    const filters: [string, Record<string, unknown>, (record: ConsumedRecord) => boolean][] = [
      [
        'keys',
        { keys: ['customer-3', 'customer-7', 'nobody'], key_prefixes: ['customer-1'] },
        ({ key }) => /^customer-[137]$/.test(key?.toString() ?? ''),
      ],
      ['headers', { headers: ['region=eu'] }, ({ headers }) => String(headers[0]?.[1]) === 'eu'],
      [
        'fields',
        { where: ['status=open', 'order>100'], texts: ['"status":"open"', 'xxx'] },
        record => fieldOf(record, 'status') === 'open' && Number(fieldOf(record, 'order')) > 100,
      ],
    ]

    for (const [name, filter, isWanted] of filters) {
      test(`restores the records with these ${name} of each partition in order, and reports of how many`, () =>
        withBackup('filtered', async path => {
          const source = await consume('filtered')
          const expected = source.map(records => records.filter(isWanted))
          const count = expected.flat().length
          assert.ok(count > 0 && count < source.flat().length)
          const options = { topic_mapping: { filtered: `filtered-${name}` }, filter, verify: true }
          const { document, text } = await dryRun(path, options)
          assert.deepEqual([document.totals.records, document.totals.records_precision], [count, 'exact'], text)
          const report = await restore(path, options)
          assertSameRecords(expected, await consume(`filtered-${name}`))
          assert.deepEqual(report.filter, { examined: source.flat().length, selected: count, notDecoded: 0 })
          assert.equal(report.verification?.ok, true)
          assert.match(report.warnings.join(), /consumer groups are not carried over with restore\.filter/)
          assert.deepEqual((await restore(path, options)).wasComplete, true)
        }))
    }

    test('continues after SIGKILL, with each record once, also where keys decide about partitions', () =>
      withBackup('filtered', async path => {
        const filter = { where: ['status=open'] }
        const options = {
          topic_mapping: { filtered: 'filtered-resumed' },
          ...{ repartition: 'by_key', partition_count: { filtered: 3 } },
          ...{ filter, batch_bytes: '16KiB' },
        }
        const text = jobText(path, options)
        const job = parseJob(text, { source: 'test job', env: {}, mode: 'restore' })
        await killRestore({ job: text, at: 'copied' })
        const partial = (await consume('filtered-resumed')).flat().length
        const report = await restore(path, options)
        const expected = (await consume('filtered')).flat().filter(record => fieldOf(record, 'status') === 'open')
        assert.ok(partial > 0 && partial < expected.length, `${partial} of ${expected.length}`)
        const found = (await consume('filtered-resumed')).flat()
        const numbers = (records: ConsumedRecord[]) =>
          records.map(one => Number(fieldOf(one, 'order'))).sort((a, b) => a - b)
        assert.deepEqual(numbers(found), numbers(expected))
        assert.equal(report.totals.records + report.totals.found, expected.length)
        assert.equal((await compareJob(job, quiet, never)).ok, true)
      }))

    test('carries groups over by their names only, to the next selected record', () =>
      withFolder(async path => {
        const cluster = await openCluster(kafka.server)
        const positions = [{ topic: 'filtered', partition: 0, offset: 100n, leaderEpoch: -1, metadata: '' }]
        await commitGroupOffsets(cluster, 'filtered-app', positions, never)
        cluster.close()
        await backUp({ servers: kafka.server.bootstrapServers, path, include: ['filtered'] })
        const [source = []] = await consume('filtered')
        const before = source.filter(record => record.offset < 100n && fieldOf(record, 'status') === 'open').length
        const job = parseJob(
          jobText(path, {
            topic_mapping: { filtered: 'filtered-groups' },
            filter: { where: ['status=open'] },
            consumer_groups: { include: ['filtered-app'], mapping: { 'filtered-app': 'filtered-app-back' } },
          }),
          { source: 'test job', env: {}, mode: 'restore' },
        )
        const { consumerGroups } = await runRestoreJob(job, quiet, never)
        assert.equal(consumerGroups.totals.failed, 0)
        const [place] = consumerGroups.groups[0]?.committed ?? []
        assert.equal(place?.targetOffset, BigInt(before))
      }))

    test('refuses a record that it cannot decode, or leaves it out or takes it as the job says', async () => {
      await kafka.driver.createTopic('mixed', { partitions: 1 })
      const values = ['{"a":1}', 'not JSON', '{"a":2}', '{"a":1,"b":2}']
      await kafka.driver.produce(
        'mixed',
        values.map(value => ({ partition: 0, key: null, value: Buffer.from(value), timestamp: Date.now() })),
      )
      await withBackup('mixed', async path => {
        const options = (target: string, not_decoded?: string) => ({
          topic_mapping: { mixed: target },
          filter: { where: ['a=1'], ...(not_decoded && { not_decoded }) },
        })
        await assert.rejects(restore(path, options('mixed-back')), {
          code: 'RESTORE_REFUSED',
          message:
            /mixed\/0: restore\.filter cannot tell whether the record at offset 1 is meant: its value cannot be decoded/,
        })
        const restored = async (target: string) => (await consume(target)).flat().map(({ value }) => value?.toString())
        const skipped = await restore(path, options('mixed-back', 'skip'))
        assert.deepEqual(await restored('mixed-back'), ['{"a":1}', '{"a":1,"b":2}'])
        assert.deepEqual(skipped.filter, { examined: 4, selected: 2, notDecoded: 1 })
        assert.match(skipped.warnings.join(), /could not decode 1 of 4 records/)
        const taken = await restore(path, options('mixed-taken', 'take'))
        assert.deepEqual(await restored('mixed-taken'), ['{"a":1}', 'not JSON', '{"a":1,"b":2}'])
        assert.deepEqual(taken.filter, { examined: 4, selected: 3, notDecoded: 1 })
        for (const filter of [{}, { where: ['a=='] }, { key_prefixes: [''] }]) {
          await assert.rejects(restore(path, { filter }), {
            code: 'CONFIG_INVALID',
            message: /restore\.filter.*\[line \d+\]/,
          })
        }
      })
    })
  })

  test('restores to other and more partitions, and from an earlier generation', async () => {
    await kafka.driver.createTopic('placed', { partitions: 3 })
    const bulk = { count: 300, partitions: 3, valueBytes: 20, startTimestamp: Date.now() - 60_000 }
    await kafka.driver.seedBulk('placed', bulk)
    const first = await consume('placed')
    await withBackup('placed', async path => {
      await kafka.driver.seedBulk('placed', { ...bulk, seed: 2 })
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['placed'] })
      const { generation } = await restore(path, {
        generation: 1,
        topic_mapping: { placed: 'placed-back' },
        partition_mapping: { placed: { 0: 4, 1: 0, 2: 1 } },
        partition_count: { placed: 5 },
      })
      assert.equal(generation, 1)
      const [zero = [], one = [], two = []] = first
      assertSameRecords([one, two, [], [], zero], await consume('placed-back'))
      // A file in the place of the folder of leases: none can be written, as with credentials that may only read.
      await rm(join(path, 'b1', 'leases'), { recursive: true, force: true })
      await writeFile(join(path, 'b1', 'leases'), '')
      const newest = await restore(path, { topic_mapping: { placed: 'placed-all' } })
      assert.equal(newest.generation, 2)
      assert.match(
        newest.warnings.join('\n'),
        /no lease can be written .*kafka-backup hold --backup-id b1 --generation 2/,
      )
      assertSameRecords(await consume('placed'), await consume('placed-all'))
      await assert.rejects(restore(path, { generation: 7, topic_mapping: { placed: 'placed-7' } }), {
        code: 'RESTORE_REFUSED',
        message: 'the backup b1 has no generation 7; its newest is 2',
        help: 'It has generations from 1 to 2; correct `restore.generation` of the job, or `--generation`.',
      })
    })
  })

  test('lists, compares, holds and thins generations, and restores the state of a point in time', async () => {
    await kafka.driver.createTopic('states', { partitions: 2 })
    const seed = (number: number) =>
      kafka.driver.seedBulk('states', {
        count: 100,
        partitions: 2,
        valueBytes: 20,
        startTimestamp: Date.now(),
        seed: number,
      })
    const states: ConsumedRecord[][][] = []
    await withFolder(async path => {
      for (const number of [1, 2, 3]) {
        await seed(number)
        states.push(await consume('states'))
        await backUp({ servers: kafka.server.bootstrapServers, path, include: ['states'] })
      }
      const at = ['--path', path, '--backup-id', 'b1']
      const json = async (code: number, ...args: string[]) => {
        const ran = await callCli([...args, '--format', 'json'])
        assert.equal(ran.code, code, ran.stderr)
        return JSON.parse(ran.stdout)
      }
      const list = async () => (await json(0, 'list', ...at, '--generations')).generations
      const [, second] = await list()
      assert.deepEqual([second.generation, second.records, second.complete], [2, 200, true])
      const diff = await json(0, 'diff', ...at, '--from', '1', '--to', '3')
      assert.deepEqual([diff.equal, diff.topics[0].records], [false, { from: 100, to: 300 }])
      assert.equal((await json(0, 'verify', ...at, '--generation', '2', '--deep')).records, 200)
      const described = await json(0, 'describe', ...at, '--as-of', second.created_at)
      const { oldest, newest } = described.topics[0].recovery_window
      assert.deepEqual([described.generation, oldest.generation, newest.generation], [2, 1, 3])

      const file = join(path, 'restore.yaml')
      await writeFile(file, jobText(path, { topic_mapping: { states: 'states-back' } }))
      const asOf = ['--config', file, '--as-of', second.created_at]
      assert.equal((await json(0, 'restore', ...asOf)).generation, 2)
      assertSameRecords(states[1] ?? [], await consume('states-back'))
      assert.equal((await json(0, 'compare', ...asOf)).ok, true)
      await callCli(['restore', '--config', file, '--as-of', '2020-01-01T00:00:00Z']).then(({ code, stderr }) => {
        assert.equal(code, 1)
        assert.match(stderr, /has no complete generation that was committed by 2020-01-01T00:00:00.000Z/)
        assert.match(stderr, /The earliest one is generation 1/)
      })

      assert.equal((await json(0, 'hold', ...at, '--generation', '1', '--reason', 'audit')).held, true)
      const prune = ['prune', '--path', path, '--keep-generations', 'last=1', '--grace', '0s', '--yes']
      assert.equal((await json(0, ...prune)).backups[0].generations_removed, 1)
      const left: { generation: number; hold: { reason: string } | null }[] = await list()
      assert.deepEqual(
        left.map(({ generation, hold }) => [generation, hold?.reason]),
        [
          [3, undefined],
          [1, 'audit'],
        ],
      )
      const refused = await callCli(['delete', ...at, '--yes'])
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /is not removed: generation 1 is held/)
      assert.equal((await json(0, 'verify', ...at, '--generation', '1', '--deep')).ok, true)
      await json(0, 'hold', ...at, '--generation', '1', '--release')
      await json(0, 'delete', ...at, '--yes')
    })
  })

  test('appends to existing records with existing_topics: append', async () => {
    await kafka.driver.createTopic('more', { partitions: 1 })
    await kafka.driver.seedBulk('more', { count: 50, partitions: 1, valueBytes: 20, startTimestamp: Date.now() })
    await kafka.driver.createTopic('more-back', { partitions: 1 })
    await kafka.driver.produce('more-back', [{ partition: 0, key: null, value: Buffer.from('mine'), timestamp: 1 }])
    const [mine = []] = await consume('more-back')
    await withBackup('more', async path => {
      const options = { topic_mapping: { more: 'more-back' } }
      await assert.rejects(restore(path, options), /already contains records/)
      const { topics } = await restore(path, { ...options, existing_topics: 'append', verify: true })
      assert.equal(topics[0]?.origin, 'existed')
      assertSameRecords([[...mine, ...((await consume('more'))[0] ?? [])]], await consume('more-back'))
    })
  })

  test('is no faster than rate_limit', async () => {
    await kafka.driver.createTopic('slow', { partitions: 2 })
    const bulk = { count: 600, partitions: 2, valueBytes: 1000, batchSize: 16_000, startTimestamp: Date.now() }
    await kafka.driver.seedBulk('slow', bulk)
    await withBackup('slow', async path => {
      const options = { topic_mapping: { slow: 'slow-back' }, rate_limit: 200_000, batch_bytes: 16_384 }
      const { totals, durationMs, topics } = await restore(path, options)
      assert.equal(totals.records, 600)
      // The first second's worth may come at once.
      const leastMs = (totals.bytes / 200_000 - 1) * 1000
      assert.ok(leastMs > 1500 && durationMs > leastMs, `${totals.bytes} bytes in ${durationMs} ms`)
      assert.ok((topics[0]?.durationMs ?? 0) > leastMs, 'and the report knows')
    })
  })

  test('refuses, holds or deletes records older than their retention', async () => {
    const configs = { 'retention.ms': String(3 * DAY_MS) }
    await kafka.driver.createTopic('old', { partitions: 1, configs: { 'retention.ms': '-1' } })
    const bulk = { count: 100, partitions: 1, valueBytes: 10, startTimestamp: Date.now() - 10 * DAY_MS }
    await kafka.driver.seedBulk('old', bulk)
    await withBackup('old', async path => {
      const topic_config = configs
      const to = (name: string) => ({ topic_mapping: { old: `old-${name}` }, topic_config })
      await assert.rejects(restore(path, to('fail')), /topic old-fail: its newest record is \d+ days old/)
      await assert.rejects(kafka.driver.describeTopic('old-fail'))
      const held = await restore(path, { ...to('hold'), retention: 'hold', verify: true })
      assert.equal(held.verification?.ok, true)
      await assertConfigs(kafka.server, 'old-hold', { 'retention.ms': '-1', 'retention.bytes': '-1' })
      const applied = await restore(path, { ...to('apply'), retention: 'apply', verify: true })
      assert.deepEqual([applied.verification?.ok, applied.verification?.totals.records], [true, 100])
      await assertConfigs(kafka.server, 'old-apply', configs)
    })
  })

  test('applies topic_config of the job over settings of the source, and reports a refused one before writing', async () => {
    const configs = { 'segment.bytes': '2000000', 'cleanup.policy': 'compact', 'max.message.bytes': '3000000' }
    await kafka.driver.createTopic('set', { partitions: 1, configs })
    await kafka.driver.seedBulk('set', { count: 10, partitions: 1, valueBytes: 10, startTimestamp: Date.now() })
    await withBackup('set', async path => {
      const topic_config = { 'cleanup.policy': 'compact,delete', 'segment.bytes': 4_000_000, 'retention.ms': '-1' }
      await restore(path, { topic_mapping: { set: 'set-back' }, topic_config })
      await assertConfigs(kafka.server, 'set-back', {
        'cleanup.policy': 'compact,delete',
        'segment.bytes': '4000000',
        'retention.ms': '-1',
        'max.message.bytes': '3000000',
      })
      // Both are set in the end only, when it would be too late to say so.
      const wrong = { 'cleanup.policy': 'shrink', 'compression.type': 'zip' }
      await assert.rejects(restore(path, { topic_mapping: { set: 'set-wrong' }, topic_config: wrong }), {
        code: 'RESTORE_REFUSED',
        message: /topic set-wrong: the target refuses to create it: .*cleanup\.policy.*compression\.type/s,
      })
      await assert.rejects(kafka.driver.describeTopic('set-wrong'))
    })
  })
})
