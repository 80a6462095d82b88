import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { compareJob, findOffsetJob, offsetMapJob } from '../../src/jobs/compare.ts'
import { dryRunRestoreJob, runRestoreJob } from '../../src/jobs/restore.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { fullTest } from '../full.ts'
import { encodeRecord } from '../oracle/records.ts'
import type { ConsumedRecord, SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

const dying = new URL('../faults/dying-restore.ts', import.meta.url).pathname
const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const SOURCES = 4
const START = Date.now() - 3_600_000

/** Keys of all lengths and of any bytes, an empty one and none; no two records have the same value. */
const keys: Buffer[] = [
  Buffer.alloc(0),
  Buffer.from('ünï'),
  Buffer.from([0, 255, 128, 7]),
  Buffer.alloc(3000, 'long '),
  ...Array.from({ length: 60 }, (_, i) => Buffer.from('k'.repeat(i % 9) + i)),
]

function seeds(tag: string): SeedRecord[] {
  return Array.from({ length: 400 }, (_, i) => {
    const value = Buffer.from(`${tag} ${i} ${'x'.repeat(i % 50)}`)
    const timestamp = START + i
    // A producer would put records without a key where it likes.
    if (i % 9 === 0) return { partition: i % SOURCES, key: null, value, timestamp }
    return {
      partition: -1,
      key: keys[i % keys.length] ?? null,
      value,
      timestamp,
      headers: [
        ['h', value],
        ['h', null],
      ],
    }
  })
}

describe('a restore by key', () => {
  const kafka = useKafka()

  const consume = (topic: string) => kafka.driver.consume(topic, { isolation: 'read_committed' })

  const makeJob = (path: string, topic: string, target: string, restore: Record<string, unknown>): RestoreJob =>
    parseJob(
      JSON.stringify({
        mode: 'restore',
        backup_id: 'b1',
        target: { bootstrap_servers: kafka.server.bootstrapServers },
        storage: { backend: 'filesystem', path },
        restore: {
          topics: { include: [topic] },
          topic_mapping: { [topic]: target },
          repartition: 'by_key',
          batch_bytes: '20KiB',
          ...restore,
        },
      }),
      { source: 'test job', env: {}, mode: 'restore' },
    )

  /** Small batches and large ones, of every codec, and what was rolled back between. */
  async function seed(topic: string): Promise<void> {
    await kafka.driver.createTopic(topic, { partitions: SOURCES, configs: { 'segment.bytes': '1048576' } })
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
      await kafka.driver.produce(topic, seeds(compression), { compression, lingerMs: 20, flushEvery: 37 })
      const rolledBack = { transactionalId: `${topic}-tx`, outcome: 'abort' as const }
      await kafka.driver.transaction(topic, seeds('never').slice(0, 30), rolledBack)
    }
  }

  /** Where the official producer puts these keys, among so many partitions. */
  async function askProducer(count: number): Promise<Map<string, number>> {
    const topic = `probe-${count}`
    await kafka.driver.createTopic(topic, { partitions: count })
    const records = keys.map(key => ({ partition: -1, key, value: null }))
    const places = await kafka.driver.produce(topic, records)
    return new Map(keys.map((key, i) => [key.toString('hex'), places[i]?.partition ?? assert.fail()]))
  }

  for (const [count, asked] of [
    [9, { partition_count: { 'by-key': 9 } }],
    [3, { partition_count: { 'by-key': 3 } }],
    [1, { partition_count: { 'by-key': 1 } }],
    [SOURCES, {}],
  ] as const) {
    test(`of ${SOURCES} partitions into ${count} writes each record to the partition that a producer would choose, each key in order`, async () => {
      if (count === 9) await seed('by-key')
      await withFolder(async path => {
        await backUp({
          servers: kafka.server.bootstrapServers,
          path,
          include: ['by-key'],
          backup: { segment_bytes: '1MiB' },
        })
        const job = makeJob(path, 'by-key', `by-key-${count}`, asked)
        const source = await consume('by-key')
        const planned = await dryRunRestoreJob(job, never)
        assert.deepEqual([planned.totals.records, planned.totals.isEstimate], [source.flat().length, false])
        const report = await runRestoreJob(job, quiet, never)
        assert.equal(report.topics[0]?.records, source.flat().length)
        const target = await consume(`by-key-${count}`)
        assert.equal(target.length, count)
        await assertPlaces(target, count)
        assertSameByKey(source, target)
        await assertProven(job, source, target)
      })
    })
  }

  async function assertPlaces(target: readonly ConsumedRecord[][], count: number): Promise<void> {
    const places = await askProducer(count)
    for (const { key, partition, offset } of target.flat()) {
      if (key) assert.equal(partition, places.get(key.toString('hex')), `${partition}/${offset}`)
    }
  }

  async function assertProven(job: RestoreJob, source: ConsumedRecord[][], target: ConsumedRecord[][]): Promise<void> {
    const report = await compareJob(job, quiet, never)
    assert.deepEqual([report.ok, report.totals.records], [true, source.flat().length])
    const runs = await offsetMapJob(job, {}, quiet, never)
    const mapped = runs.flatMap(run =>
      Array.from({ length: Number(run.count) }, (_, i) => {
        const [from, to] = [run.sourceOffset + BigInt(i), run.targetOffset + BigInt(i)]
        return `${run.partition}/${from} ${run.targetPartition}/${to}`
      }),
    )
    assert.deepEqual(mapped.toSorted(), pairsOf(source, target).toSorted())
    const last = source[2]?.at(-1) ?? assert.fail()
    const at = { topic: 'by-key', partition: 2 }
    const place = await findOffsetJob(job, { ...at, offset: last.offset }, quiet, never)
    assert.equal(place?.isExact, true)
    const there = target[place.targetPartition]?.find(({ offset }) => offset === place.targetOffset)
    assert.deepEqual(there?.value, last.value)
    assert.equal(await findOffsetJob(job, { ...at, offset: last.offset + 100n }, quiet, never), undefined)
  }

  test('names the source partition of a record, and restores a selected part', async () => {
    await seed('part')
    await withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['part'] })
      const job = makeJob(path, 'part', 'part-back', {
        partition_count: { part: 2 },
        partitions: { part: [1, 3] },
        offset_ranges: { 'part/1': { start: 50, end: 300 } },
        time_window_start: START + 20,
        time_window_end: START + 350,
        offset_headers: true,
      })
      await runRestoreJob(job, quiet, never)
      const wanted = (await consume('part')).map(records =>
        records.filter(
          ({ partition, offset, timestamp }) =>
            (partition === 3 || (partition === 1 && offset >= 50n && offset < 300n)) &&
            timestamp >= BigInt(START + 20) &&
            timestamp < BigInt(START + 350),
        ),
      )
      const target = await consume('part-back')
      const origins = target.flat().map(({ headers, value }) => {
        const [, partition, offset] = headers.slice(-5).map(([, text]) => String(text))
        return `${partition}/${offset} ${value}`
      })
      const expected = wanted.flat().map(({ partition, offset, value }) => `${partition}/${offset} ${value}`)
      assert.ok(expected.length > 300, `${expected.length} records`)
      assert.deepEqual(origins.toSorted(), expected.toSorted())
      assert.equal((await compareJob(job, quiet, never)).ok, true)
    })
  })

  fullTest('that is killed repeatedly writes each record once', async t => {
    const random = createRandom(11)
    await kafka.driver.createTopic('killed', { partitions: SOURCES })
    const bulk = {
      count: 20_000,
      partitions: SOURCES,
      valueBytes: 200,
      keySpace: 700,
      batchSize: 4000,
      startTimestamp: START,
    }
    await kafka.driver.seedBulk('killed', bulk)
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['killed'] })
      const fixed = { servers, path, mapping: [['killed', 'killed-back']], byKey: { killed: 3 } }
      for (let kill = 0; kill < 8; kill++) {
        // Batches of another size each time, so that what is there does not end where the next ones begin.
        const speed = { bytesPerSecond: 450_000, batchBytes: 2000 + Math.floor(random() * 20_000) }
        assert.equal(await runChild({ ...fixed, ...speed }, 300 + random() * 1000), undefined, 'it was killed')
      }
      t.diagnostic(`killed at offsets ${await kafka.driver.endOffsets('killed-back')}`)
      const rest = await runChild({ ...fixed, bytesPerSecond: 50_000_000, batchBytes: 50_000 }, 60_000)
      assert.ok(rest && !rest.wasComplete && rest.records < bulk.count, 'the last run goes on with the others')
      const [source, target] = [await consume('killed'), await consume('killed-back')]
      assert.equal(target.flat().length, bulk.count)
      assertSameByKey(source, target)
      const job = makeJob(path, 'killed', 'killed-back', { partition_count: { killed: 3 }, retention: 'hold' })
      assert.equal((await compareJob(job, quiet, never)).ok, true)
      const again = await runChild({ ...fixed, bytesPerSecond: 50_000_000, batchBytes: 50_000 }, 60_000)
      assert.deepEqual(again, { wasComplete: true, records: 0 })
    })
  })
})

/** For each key the same records in the same order, and without a key those of each partition of the source. */
function assertSameByKey(source: readonly ConsumedRecord[][], target: readonly ConsumedRecord[][]): void {
  const byKey = (all: readonly ConsumedRecord[][], placeOf: (partition: number) => number) =>
    Map.groupBy(all.flat(), ({ key, partition }) => (key ? `key ${key.toString('hex')}` : `none ${placeOf(partition)}`))
  const [ours, theirs] = [byKey(source, partition => partition % target.length), byKey(target, partition => partition)]
  assert.deepEqual([...theirs.keys()].toSorted(), [...ours.keys()].toSorted())
  for (const [key, records] of ours) {
    const found = theirs.get(key) ?? []
    assert.equal(found.length, records.length, key)
    records.forEach((record, i) => {
      assert.ok(encodeRecord(record).equals(encodeRecord(found[i] ?? assert.fail())), `${key}, record ${i}`)
    })
  }
}

/** `partition/offset` of the source and of the target, of each record, told by its value. */
function pairsOf(source: readonly ConsumedRecord[][], target: readonly ConsumedRecord[][]): string[] {
  const places = new Map(target.flat().map(({ value, partition, offset }) => [String(value), `${partition}/${offset}`]))
  assert.equal(places.size, target.flat().length)
  return source.flat().map(({ value, partition, offset }) => `${partition}/${offset} ${places.get(String(value))}`)
}

/** Ends by SIGKILL after so long, unless it is done before; what it printed then. */
async function runChild(
  spec: Record<string, unknown>,
  killAfterMs: number,
): Promise<{ wasComplete: boolean; records: number } | undefined> {
  const child = spawn(process.execPath, [dying, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  let timer: NodeJS.Timeout | undefined
  child.stdout.on('data', data => {
    output += data
    timer ??= setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  })
  const [code, killedBy] = await once(child, 'close')
  clearTimeout(timer)
  if (killedBy === 'SIGKILL') return undefined
  assert.equal(code, 0)
  return JSON.parse(output.split('\n').at(-2) ?? '{}')
}
