import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { partitionForKey } from '../../src/batch/key-placer.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { compareRestore } from '../../src/restore/compare.ts'
import { findOffset, openOffsetMaps, readOffsetMap } from '../../src/restore/offset-map.ts'
import { openStreams } from '../../src/restore/open-streams.ts'
import { planRestore, type RestorePlan } from '../../src/restore/plan.ts'
import type { RestoreProgress, StreamProgress } from '../../src/restore/progress.ts'
import { reconcileAll } from '../../src/restore/reconcile.ts'
import { Replay } from '../../src/restore/replay.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { knowRestore } from './fake-progress.ts'
import { locateRestore } from './locate-restore.ts'
import { plainOptions } from './plain-options.ts'
import { identity } from './samples.ts'
import { type ScriptedTarget, withTarget } from './scripted-target.ts'

const SOURCES = 3
const PER_PARTITION = 40
const fake = { isShared: false, connectionsPerBroker: 1, maxActive: 9, requestTimeoutMs: 300 }

interface Placed {
  key: Buffer | null
  /** `partition:offset` of the source. */
  origin: string
}

/** Of partition `partition`: four batches in two segments; every seventh record has no key, every eleventh an empty one. */
function keyAt(partition: number, offset: number): Buffer | null {
  if (offset % 7 === 0) return null
  return offset % 11 === 0 ? Buffer.alloc(0) : Buffer.from(`key ${partition} ${offset % 9}`)
}

async function storeSource() {
  const storage = openMemoryStorage()
  const batchAt = (partition: number, start: number) =>
    encodeBatch({
      baseOffset: BigInt(start),
      codec: start === 10 ? 'gzip' : 'none',
      records: Array.from({ length: 10 }, (_, i) => ({
        key: keyAt(partition, start + i),
        value: Buffer.from(`${partition}:${start + i}`),
      })),
    })
  const lists = Array.from({ length: SOURCES }, (_, partition) => [
    [batchAt(partition, 0), batchAt(partition, 10)],
    [batchAt(partition, 20), batchAt(partition, 30)],
  ])
  return { storage, manifest: await storePartitions(storage, lists, true) }
}

/** What each partition of the target has to hold: all of the first source, then of the next. */
function expectedLog(count: number, isWanted = (_partition: number, _offset: number) => true): string[][] {
  const logs: string[][] = Array.from({ length: count }, () => [])
  for (let partition = 0; partition < SOURCES; partition++) {
    for (let offset = 0; offset < PER_PARTITION; offset++) {
      const key = keyAt(partition, offset)
      const place = key === null ? partition % count : partitionForKey(key, count)
      if (isWanted(partition, offset)) logs[place]?.push(`${partition}:${offset}`)
    }
  }
  return logs
}

function readLog({ fake }: ScriptedTarget, partition: number): Placed[] {
  const batches = fake.state.topics[0]?.partitions[partition]?.batches ?? []
  return batches.flatMap(bytes =>
    walkBatches(bytes, 0, bytes.length).flatMap(header =>
      decodeRecords(bytes, header).map(({ key, value }) => ({ key, origin: `${value}` })),
    ),
  )
}

const originsOf = (target: ScriptedTarget, count: number) =>
  Array.from({ length: count }, (_, partition) => readLog(target, partition).map(({ origin }) => origin))

interface Run {
  storage: ReturnType<typeof openMemoryStorage>
  plan: RestorePlan
  options: RestoreOptions
  noted?: readonly StreamProgress[]
  /** Gets a function that returns the progress of the streams at any time. */
  onOpened?: (readProgress: () => StreamProgress[]) => void
}

/** A run that goes on from these notes, until its end or until it is told to die; how far it says it is. */
async function runOnce(target: ScriptedTarget, run: Run, signal: AbortSignal): Promise<StreamProgress[]> {
  const cluster = await target.fake.open({ requestTimeoutMs: 300 })
  const streams = new Map((run.noted ?? []).map(one => [`${one.topic}/${one.partition}`, one]))
  const progress: RestoreProgress = { identity, generation: 1, fingerprint: '', streams }
  const preflight = { findings: [], existing: new Set(['orders']), ends: new Map() }
  const parts = { cluster, storage: run.storage, version: '1' }
  const opened = await openStreams(
    run.options,
    { plan: run.plan, progress, earlierRuns: new Set(), preflight, segments: new Map() },
    parts,
    never,
  )
  const readProgress = () => opened.streams.map(({ progress }) => progress)
  run.onOpened?.(readProgress)
  await reconcileAll(opened.streams, { cluster, isShared: false, mayBeBehind: false }, never)
  await new Replay({ ...fake, cluster, onProgress: () => undefined }).run(opened.streams, signal).catch(error => {
    if (!signal.aborted) throw error
  })
  return readProgress()
}

const byKey = (count: number, changes: Partial<RestoreOptions> = {}) =>
  plainOptions({
    repartition: 'by_key',
    partitionCount: new Map([['orders', count]]),
    restoreId: 'r1',
    batchBytes: 250,
    ...changes,
  })

describe('a restore by key', () => {
  for (const count of [1, 2, 3, 5, 8]) {
    test(`puts each record of 3 partitions into its place among ${count}, and each key in order`, async () => {
      const { storage, manifest } = await storeSource()
      const options = byKey(count)
      const run = { storage, plan: planRestore(manifest, options), options }
      await withTarget(
        () => undefined,
        async target => {
          const done = await runOnce(target, run, never)
          assert.deepEqual(originsOf(target, count), expectedLog(count))
          assert.ok(done.every(({ isDone }) => isDone))
        },
        count,
      )
    })
  }

  test('takes only the partitions, offsets and times that are asked for', async () => {
    const { storage, manifest } = await storeSource()
    const options = byKey(2, {
      partitions: new Map([['orders', [0, 2]]]),
      offsetRanges: new Map([['orders/2', { start: 5n, end: 33n }]]),
    })
    const isWanted = (partition: number, offset: number) =>
      partition === 0 || (partition === 2 && offset >= 5 && offset < 33)
    await withTarget(
      () => undefined,
      async target => {
        await runOnce(target, { storage, plan: planRestore(manifest, options), options }, never)
        assert.deepEqual(originsOf(target, 2), expectedLog(2, isWanted))
      },
      2,
    )
  })

  test('that dies at any batch, with fresh notes, old ones or none, loses and repeats nothing', async () => {
    const { storage, manifest } = await storeSource()
    const options = byKey(2)
    const plan = planRestore(manifest, options)
    let deaths = 0
    for (let request = 0; ; request++) {
      const wasKilled = await dieAt(request, { storage, plan, options })
      if (!wasKilled) break
      deaths++
    }
    // How many requests a run makes depends on which batches travel together.
    assert.ok(deaths > 5, `${deaths} deaths`)
  })

  /** Dies when the nth produce request was stored, once with each kind of notes, and resumes with other batches. */
  async function dieAt(request: number, run: Run): Promise<boolean> {
    let wasKilled = false
    for (const notes of ['fresh', 'old', 'none'] as const) {
      const stop = new AbortController()
      let seen = 0
      let readProgress = (): StreamProgress[] => []
      let halfway: StreamProgress[] = []
      await withTarget(
        () => () => {
          // Of this very run: which batches travel together differs from run to run.
          if (seen === request >> 1) halfway = readProgress()
          if (seen++ === request) stop.abort(new Error('dead'))
        },
        async target => {
          const onOpened: Run['onOpened'] = read => {
            readProgress = read
          }
          const last = await runOnce(target, { ...run, onOpened }, stop.signal)
          wasKilled = stop.signal.aborted
          const noted = notes === 'fresh' ? last : notes === 'old' ? halfway : []
          const again = { ...run, options: { ...run.options, batchBytes: 400 }, noted }
          await runOnce(target, again, never)
          assert.deepEqual(originsOf(target, 2), expectedLog(2), `request ${request}, ${notes} notes`)
        },
        2,
      )
    }
    return wasKilled
  }
})

describe('what a restore by key has done', () => {
  const count = 2

  /** Restores, and lets the target know of it. */
  async function withRestored(
    work: (target: ScriptedTarget, parts: Omit<Run, 'noted'>) => Promise<void>,
    changes: Partial<RestoreOptions> = {},
  ): Promise<void> {
    const { storage, manifest } = await storeSource()
    const options = byKey(count, changes)
    const plan = planRestore(manifest, options)
    await withTarget(
      () => undefined,
      async target => {
        await runOnce(target, { storage, plan, options }, never)
        knowRestore(target.fake, 'r1', identity.producerId, plan, [0, 1])
        await work(target, { storage, plan, options })
      },
      count,
    )
  }

  async function compare({ fake: { open, clock } }: ScriptedTarget, { storage, options }: Run) {
    let planned = 0n
    let told = 0n
    const parts = { cluster: await open(), storage, clock }
    const report = await compareRestore(
      await locateRestore(options, parts, never),
      {
        ...parts,
        onProgress: event => {
          if (event.type === 'planned') planned = event.offsets
          if (event.type === 'compared') told += event.offsets
        },
      },
      never,
    )
    assert.equal(told, planned, 'progress ends at its end')
    return report
  }

  test('is the same as the backup', () =>
    withRestored(async (target, run) => {
      const report = await compare(target, run)
      assert.deepEqual([report.ok, report.totals.records], [true, SOURCES * PER_PARTITION])
      assert.deepEqual(
        report.topics[0]?.partitions.map(one => [one.sourcePartition, one.partition]),
        [
          [null, 0],
          [null, 1],
        ],
      )
    }))

  test('is the same with headers that tell the partition of the source', () =>
    withRestored(
      async (target, run) => {
        assert.equal((await compare(target, run)).ok, true)
        const batches = target.fake.state.topics[0]?.partitions[1]?.batches ?? []
        const told = batches.flatMap(bytes =>
          walkBatches(bytes, 0, bytes.length).flatMap(header =>
            decodeRecords(bytes, header).map(({ headers }) => `${headers[1]?.[1]}:${headers[2]?.[1]}`),
          ),
        )
        assert.deepEqual(told, expectedLog(count)[1])
      },
      { offsetHeaders: true },
    ))

  test('differs where a record is gone, and the comparison names its partition', () =>
    withRestored(async (target, run) => {
      const log = target.fake.state.topics[0]?.partitions[1]
      const gone = expectedLog(count)[1]?.at(-1) ?? ''
      const rest = log?.batches.splice(-1) ?? []
      const [header = assert.fail()] = rest.flatMap(bytes => walkBatches(bytes, 0, bytes.length))
      if (log) Object.assign(log, { highWatermark: header.baseOffset, lastStable: header.baseOffset })
      const { ok, topics } = await compare(target, run)
      assert.equal(ok, false)
      const last = topics[0]?.partitions[1]?.differences.at(-1)
      assert.equal(`${last?.sourcePartition}:${last?.sourceOffset}`, gone)
    }))

  test('is mapped record by record, all of it, by partition, and by offset', () =>
    withRestored(async (target, { storage, options }) => {
      const parts = { cluster: await target.fake.open(), storage }
      const located = await locateRestore(options, parts, never)
      const mapped = async (filter = {}) => {
        const pairs: string[] = []
        for await (const run of readOffsetMap(located, parts, filter, never)) {
          for (let i = 0n; i < run.count; i++) {
            pairs.push(`${run.partition}:${run.sourceOffset + i} ${run.targetPartition}:${run.targetOffset + i}`)
          }
        }
        return pairs
      }
      const truth = expectedLog(count).flatMap((log, place) => log.map((origin, at) => `${origin} ${place}:${at}`))
      assert.deepEqual(await mapped(), truth)
      for (let partition = 0; partition < SOURCES; partition++) {
        const own = truth.filter(pair => pair.startsWith(`${partition}:`))
        assert.deepEqual(await mapped({ topic: 'orders', partition }), own)
      }
      for (const pair of truth.slice(0, 5)) {
        const [partition = 0, offset = 0, place, at] = pair.split(/[: ]/).map(Number)
        const found = await findOffset(openOffsetMaps(located, parts, { partition }, never), BigInt(offset))
        assert.deepEqual([found?.isExact, found?.targetPartition, Number(found?.targetOffset)], [true, place, at])
      }
    }))
})
