import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { hasCode } from '../../src/errors.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { releaseWarnings } from '../../src/restore/prepare-restore.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const never = new AbortController().signal
const configs = { 'cleanup.policy': 'compact' }
const source = () => [
  fakeTopic(
    'orders',
    [0, 1, 2, 3, 4].map(partition => [encodeRun(0n, 4 + partition), encodeRun(BigInt(4 + partition), 3)]),
  ),
  fakeTopic('audit', [[encodeRun(0n, 9)], []], { configs }),
]
const four = ['0/4', '1/4', '2/4', '3/4']

/** The batches of every log, with their sequences and sizes; producers differ from run to run. */
const logsOf = (target: FakeTarget) =>
  target.fake.state.topics.map(({ name, configs: own, partitions }) => ({
    ...{ name, own },
    logs: partitions.map((_, partition) => target.log(name, partition)),
  }))
/** One more generation whose partitions have a gap each. */
async function addGaps(storage: Storage): Promise<void> {
  const { format: _, format_version: __, ...newest } = await openBackup(storage, 'b1', never)
  const topics = newest.topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one => ({
      ...one,
      gaps: [{ from: 4n, to: 9n, reason: 'retention' as const, found_at: newest.created_at }],
    })),
  }))
  const manifest = { ...newest, topics, generation: newest.generation + 1, run: 'gaps' }
  const draft = { manifest, freshSegments: new Map(), attempt: 1 }
  await renewManifestCopy(storage, (await commitGeneration(storage, draft, never)).manifest, never)
}
const noteOf = (target: FakeTarget, key: string) => JSON.parse(target.notes.get(key)?.metadata ?? '{}')
async function wholeLogs(): Promise<ReturnType<typeof logsOf>> {
  let logs: ReturnType<typeof logsOf> = []
  await withFakeTarget(source(), async target => {
    await target.restore()
    logs = logsOf(target)
  })
  return logs
}

describe('a restore in shards', () => {
  test('gives the same target as one process, in any order and at the same time', async () => {
    const expected = await wholeLogs()
    for (const order of [four, four.toReversed()]) {
      await withFakeTarget(source(), async target => {
        const { wasPrepared, shards } = await target.prepare(4)
        assert.equal(wasPrepared, false)
        assert.equal(
          shards.reduce((sum, { partitions }) => sum + partitions, 0),
          7,
        )
        for (const one of order) await target.shard(one)
        const { wasComplete, totals } = await target.finish()
        assert.deepEqual([wasComplete, totals.records, totals.found], [false, 0, 54])
        assert.deepEqual(logsOf(target), expected)
        assert.equal((await target.restore()).wasComplete, true)
      })
    }
    await withFakeTarget(source(), async target => {
      await target.prepare(4)
      const reports = await Promise.all(four.map(one => target.shard(one)))
      assert.equal(
        reports.reduce((sum, { totals }) => sum + totals.records, 0),
        54,
      )
      assert.equal((await target.finish({ verify: true })).verification?.ok, true)
      assert.deepEqual(logsOf(target), expected)
    })
  })

  test('fills the partitions of each shard in the order of the job', () =>
    withFakeTarget(source(), async target => {
      // One partition at a time, so that the order shows.
      const changes = { order: ['orders'], memoryBudgetBytes: 1 }
      await target.prepare(2, changes)
      const topics = new Set<string>()
      for (const one of ['0/2', '1/2']) {
        const begun: string[] = []
        target.onEvent = event => {
          if (event.type === 'begun') begun.push(event.topic)
        }
        await target.shard(one, changes)
        assert.deepEqual(begun, begun.toSorted().toReversed(), 'orders before audit')
        for (const topic of begun) topics.add(topic)
      }
      assert.deepEqual([...topics].toSorted(), ['audit', 'orders'])
    }))

  test('warns that groups are not released before the end', () => {
    const groups = [{ group: 'g', type: 'classic' as const, target: 'g', positions: [], streams: [], leftOut: 0 }]
    assert.match(releaseWarnings({ groups, release: 'per_topic' }).join(), /no effect with shards: `restore --finish`/)
    assert.deepEqual([releaseWarnings({ groups }), releaseWarnings({ groups: [], release: 'per_topic' })], [[], []])
  })

  for (const repartition of ['keep', 'by_key'] as const) {
    test(`reports each gap of the backup in one shard, and all of them at the end (${repartition})`, async () => {
      const holed = (partition: number) => [encodeRun(0n, 4), encodeRun(BigInt(9 + partition), 2)]
      const topic = fakeTopic('orders', [0, 1, 2, 3].map(holed))
      const storage = openMemoryStorage()
      const change = { repartition }
      await withFakeTarget(
        [topic],
        async target => {
          await addGaps(storage)
          await target.prepare(3, change)
          const reports = await Promise.all(['0/3', '1/3', '2/3'].map(one => target.shard(one, change)))
          const partitionsOf = (gaps: readonly { partition: number }[]) => gaps.map(({ partition }) => partition)
          assert.deepEqual(partitionsOf(reports.flatMap(({ gaps }) => gaps)).sort(), [0, 1, 2, 3])
          assert.deepEqual(partitionsOf((await target.finish(change)).gaps), [0, 1, 2, 3])
        },
        storage,
      )
    })
  }

  test('of one is a restore', async () => {
    const expected = await wholeLogs()
    await withFakeTarget(source(), async target => {
      await target.prepare(1)
      await target.shard('0/1')
      await target.finish()
      assert.deepEqual(logsOf(target), expected)
    })
  })

  test('applies no settings and completes nothing before it is finished', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      for (const one of four) await target.shard(one)
      assert.equal(target.topic('audit')?.configs?.['cleanup.policy'], 'delete')
      assert.deepEqual(new Set([...target.notes.keys()].map(key => noteOf(target, key).d)), new Set([0]))
      await target.finish()
      assert.equal(target.topic('audit')?.configs?.['cleanup.policy'], 'compact')
      assert.deepEqual(new Set([...target.notes.keys()].map(key => noteOf(target, key).d)), new Set([2]))
    }))

  test('gives a topic the default of the brokers for a setting that the target refuses, as one process does', async () => {
    const settle = async (act: (target: FakeTarget) => Promise<unknown>) => {
      let found: unknown
      await withFakeTarget(source(), async target => {
        target.refused.add('cleanup.policy=compact')
        await act(target)
        found = [target.topic('audit')?.configs, target.warned.filter(one => one.includes('cleanup.policy'))]
      })
      return found
    }
    const warning = 'topic audit: the target does not take its setting cleanup.policy: compact (it is left out)'
    assert.deepEqual(await settle(target => target.restore()), [{}, [warning]])
    const shared = await settle(async target => {
      await target.prepare(2)
      for (const one of ['0/2', '1/2']) await target.shard(one)
      target.warned.length = 0
      await target.finish()
    })
    assert.deepEqual(shared, [{}, [warning]])
  })

  test('names a missing shard when it is to be finished, and changes nothing then', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      for (const one of ['0/4', '1/4', '3/4']) await target.shard(one)
      const before = [logsOf(target), new Map(target.notes)]
      await assert.rejects(target.finish(), { code: 'SHARDS_INCOMPLETE', message: /shard 2 of 4 \(not begun: / })
      assert.deepEqual([logsOf(target), target.notes], before)
      await target.shard('2/4')
      await target.finish()
    }))

  test('refuses what is not prepared, and what was prepared in another way', () =>
    withFakeTarget(source(), async target => {
      const refused = (message: RegExp) => ({ code: 'RESTORE_REFUSED', message })
      await assert.rejects(target.shard('0/4'), refused(/not prepared: the target has no record of it/))
      await assert.rejects(target.finish(), refused(/not prepared for shards: the target has no record of it/))
      assert.deepEqual(target.fake.state.topics, [])
      await target.prepare(4)
      const before = [logsOf(target), new Map(target.notes)]
      await assert.rejects(target.shard('0/3'), refused(/prepared for 4 shards, and not for 3/))
      await assert.rejects(target.shard('0/4', {}, { version: '2' }), refused(/version 1 has prepared it/))
      await assert.rejects(target.shard('0/4', { offsetHeaders: true }), refused(/has begun with other topics, ranges/))
      await assert.rejects(target.shard('0/4', { generation: 7 }), refused(/no generation 7/))
      await assert.rejects(target.prepare(4, { offsetHeaders: true }), refused(/has begun with other topics, ranges/))
      await assert.rejects(target.shard('0/4', { restoreId: 'r2', topics: { include: ['audit'], exclude: [] } }))
      assert.deepEqual([logsOf(target), target.notes], before)
    }))

  test('refuses steps that treat the records of others in another way than the preparation', () =>
    withFakeTarget(source(), async target => {
      const append = { existingTopics: 'append' } as const
      await target.prepare(2)
      const other = (one: string, two: string) => ({
        code: 'RESTORE_REFUSED',
        message: new RegExp(`prepared with restore\\.existing_topics: ${one}, and this job has ${two}`),
      })
      await assert.rejects(target.shard('0/2', append), other('fail', 'append'))
      for (const one of ['0/2', '1/2']) await target.shard(one)
      await assert.rejects(target.finish(append), other('fail', 'append'))
      assert.equal((await target.prepare(2, append)).wasPrepared, false)
      await assert.rejects(target.finish(), other('append', 'fail'))
      for (const one of ['0/2', '1/2']) await target.shard(one, append)
      await target.finish(append)
      assert.deepEqual(logsOf(target), await wholeLogs())
    }))

  test('continues with its generation, although the backup has a newer one', async () => {
    const storage = openMemoryStorage()
    const longer = [...source(), fakeTopic('later', [[encodeRun(0n, 2)]])]
    await withFakeTarget(
      source(),
      async target => {
        await target.prepare(2)
        await target.shard('0/2')
        await backUpTopics(storage, longer)
        assert.equal((await target.shard('1/2')).generation, 1)
        assert.equal((await target.finish()).generation, 1)
        assert.deepEqual(logsOf(target), await wholeLogs())
      },
      storage,
    )
  })

  test('is prepared again without harm, also while its shards write', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      let again: Promise<unknown> | undefined
      target.before = ({ key }) => {
        if (key !== API.produce || again) return undefined
        again = target.prepare(4)
        return again.then(() => undefined)
      }
      await Promise.all(four.map(one => target.shard(one)))
      assert.deepEqual(await again, { ...((await again) as object), wasPrepared: true })
      await target.finish()
      assert.deepEqual(logsOf(target), await wholeLogs())
      assert.equal((await target.prepare(4)).wasComplete, true)
    }))

  test('shows what its shards write, also where the job has another order when it is prepared again', () => {
    const big = fakeTopic('big', [[encodeRun(0n, 400)], [encodeRun(0n, 300)]])
    const small = fakeTopic('small', [[encodeRun(0n, 7)], [encodeRun(0n, 3)]])
    return withFakeTarget([big, small], async target => {
      const { shards } = await target.prepare(2)
      const again = await target.prepare(2, { order: ['small'] })
      assert.deepEqual([again.wasPrepared, again.shards], [true, shards])
      const written = ['0/2', '1/2'].map(async one => (await target.shard(one)).totals.records)
      assert.deepEqual(
        await Promise.all(written),
        shards.map(({ records }) => records),
      )
    })
  })

  for (const existingTopics of ['fail', 'append'] as const) {
    test(`that is prepared twice at once is prepared once, though a commit is tried again (${existingTopics})`, () =>
      withFakeTarget(source(), async target => {
        let second: Promise<unknown> | undefined
        target.before = ({ key }) => {
          if (key !== API.offsetCommit || second) return undefined
          // The first commit is lost, and before it is tried again another preparation and its shards are done.
          second = target
            .prepare(2, { existingTopics })
            .then(() => target.shard('0/2', { existingTopics }))
            .then(() => target.shard('1/2', { existingTopics }))
          return second.then(() => 'hang-up') as Promise<undefined>
        }
        await assert.rejects(target.prepare(2, { existingTopics }), {
          code: 'RESTORE_CONFLICT',
          message: /another run .* has taken over/,
        })
        for (const one of ['0/2', '1/2']) await target.shard(one, { existingTopics })
        await target.finish({ existingTopics })
        assert.deepEqual(
          logsOf(target).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          (await wholeLogs()).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        )
      }))
  }

  test('is prepared for another number or by another version on request, and continues', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      await target.shard('0/4')
      assert.equal((await target.prepare(2, {}, '2')).wasPrepared, false)
      await assert.rejects(target.shard('1/4'), { message: /prepared for 2 shards/ })
      for (const one of ['0/2', '1/2']) await target.shard(one, {}, { version: '2' })
      await target.finish()
      assert.deepEqual(logsOf(target), await wholeLogs())
    }))

  test('fills a topic again that was deleted meanwhile, once it is prepared again', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      for (const one of four) await target.shard(one)
      const { state } = target.fake
      state.topics = state.topics.filter(({ name }) => name !== 'orders')
      for (const key of [...target.notes.keys()]) if (key.startsWith('orders/')) target.notes.delete(key)
      await assert.rejects(target.finish(), { code: 'SHARDS_INCOMPLETE', message: /not prepared: orders\/0/ })
      await assert.rejects(target.shard('1/4'), { code: 'RESTORE_REFUSED', message: /not prepared for orders\/0/ })
      await target.prepare(4)
      const reports = await Promise.all(four.map(one => target.shard(one)))
      assert.equal(
        reports.reduce((sum, { totals }) => sum + totals.records, 0),
        45,
        'audit is there',
      )
      await target.finish()
      assert.deepEqual(
        logsOf(target).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        (await wholeLogs()).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      )
    }))

  test('is taken over by one process that is started without shards', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(4)
      await target.shard('1/4')
      await target.restore()
      assert.deepEqual(logsOf(target), await wholeLogs())
      assert.equal((await target.shard('2/4')).wasComplete, true)
      assert.equal((await target.finish()).wasComplete, true)
    }))
})

describe('a shard', () => {
  test('waits for the preparation where it is asked to', () =>
    withFakeTarget(source(), async target => {
      const waiting = target.shard('1/4', {}, { waits: true })
      let fetches = 0
      const asked = Promise.withResolvers<void>()
      target.before = ({ key }) => {
        if (key === API.offsetFetch && ++fetches === 3) asked.resolve()
        return undefined
      }
      await asked.promise
      await target.prepare(4)
      assert.ok((await waiting).totals.records > 0)
    }))

  test('reports what it waits for once, and again every minute', () =>
    withFakeTarget(source(), async target => {
      const waited: string[] = []
      const enough = Promise.withResolvers<void>()
      target.onEvent = event => {
        if (event.type === 'waiting') waited.push(event.message)
        if (waited.length === 3) enough.resolve()
      }
      const startedAt = target.fake.clock.monotonic()
      const waiting = target.shard('1/4', {}, { waits: true })
      await enough.promise
      const tookMs = target.fake.clock.monotonic() - startedAt
      assert.ok(tookMs >= 120_000 && tookMs < 180_000, `${tookMs} ms`)
      assert.deepEqual(
        new Set(waited),
        new Set(['waiting for shard 0 to prepare the restore r1: it is not prepared: the target has no record of it']),
      )
      await target.prepare(4)
      await waiting
    }))

  test('waits an hour for notes that do not fit, and for the first ones as long as it takes', () =>
    withFakeTarget(source(), async target => {
      let waited = 0
      const enough = Promise.withResolvers<void>()
      target.onEvent = event => {
        if (event.type !== 'waiting') return
        // Looks a minute apart are enough.
        target.fake.clock.pass(60_000)
        if (++waited === 100) enough.resolve()
      }
      const waiting = target.shard('1/4', {}, { waits: true })
      await enough.promise
      const preparedAt = target.fake.clock.monotonic()
      const refused = assert.rejects(waiting, {
        code: 'RESTORE_REFUSED',
        message: 'the restore r1 cannot be shared: it is prepared for 2 shards, and not for 4',
      })
      await target.prepare(2)
      await refused
      assert.ok(target.fake.clock.monotonic() - preparedAt >= 3_600_000)
      assert.deepEqual(target.log('orders'), [])
    }))

  test('ends when it is interrupted while it waits', () =>
    withFakeTarget(source(), async target => {
      const stop = new AbortController()
      target.before = ({ key }) => {
        if (key === API.offsetFetch) stop.abort(new Error('enough'))
        return undefined
      }
      await assert.rejects(target.shard('1/4', {}, { waits: true }, stop.signal), /enough/)
    }))

  for (const requests of [1, 2, 3]) {
    test(`that dies at its Produce request ${requests} continues there when it is run again`, () =>
      withFakeTarget(source(), async target => {
        await target.prepare(2)
        let produced = 0
        target.before = ({ key }) => (key === API.produce && ++produced >= requests ? 'hang-up' : undefined)
        await assert.rejects(target.shard('0/2', { batchBytes: 1 }))
        target.before = () => undefined
        await assert.rejects(target.finish(), hasIncomplete)
        for (const one of ['0/2', '1/2']) await target.shard(one)
        assert.equal((await target.finish({ verify: true })).verification?.ok, true)
      }))
  }

  test('that dies after its last record, before it has noted so, finds its records when it is run again', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(2)
      let isWritten = false
      target.before = ({ key }) => {
        if (key === API.produce) isWritten = true
        return key === API.offsetCommit && isWritten ? 'hang-up' : undefined
      }
      await assert.rejects(target.shard('0/2'))
      target.before = () => undefined
      await assert.rejects(target.finish(), hasIncomplete)
      for (const one of ['0/2', '1/2']) await target.shard(one)
      await target.finish()
      assert.deepEqual(logsOf(target), await wholeLogs())
    }))

  test('that was started a second time ends with a conflict, and the second one completes its part', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(2)
      let isWritten = false
      let second: Promise<unknown> | undefined
      target.before = ({ key }) => {
        if (key === API.produce) isWritten = true
        if (key !== API.offsetFetch || !isWritten || second) return undefined
        second = target.shard('0/2')
        return second.then(() => undefined)
      }
      await assert.rejects(target.shard('0/2'), { code: 'RESTORE_CONFLICT', message: /another run .* has taken over/ })
      await second
      await target.shard('1/2')
      await target.finish()
      assert.deepEqual(logsOf(target), await wholeLogs())
    }))

  test('with nothing to write is done at once', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
      await target.prepare(3)
      assert.equal((await target.shard('2/3')).totals.records, 0)
      for (const one of ['0/3', '1/3']) await target.shard(one)
      assert.equal((await target.finish()).totals.found, 7)
    }))

  test('does not read notes that name a shard that cannot be', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(2)
      const note = noteOf(target, 'orders/0')
      for (const c of [[2, 2, '1'], [-1, 2, '1'], [0, 5000, '1'], [0, 2, 'a b'], [0, 2], 'x', [0.5, 2, '1']]) {
        target.notes.set('orders/0', { offset: 0n, metadata: JSON.stringify({ ...note, c }) })
        await assert.rejects(target.shard('0/2'), { code: 'RESTORE_REFUSED', message: /not prepared for orders\/0$/ })
      }
    }))

  test('refuses notes of two preparations, and they are prepared again where nothing is written', () =>
    withFakeTarget(source(), async target => {
      await target.prepare(2)
      const note = noteOf(target, 'orders/0')
      target.notes.set('orders/0', { offset: 0n, metadata: JSON.stringify({ ...note, p: '99', r: '99' }) })
      await assert.rejects(target.shard('0/2'), { message: /two processes have prepared it/ })
      await target.prepare(2)
      for (const one of ['0/2', '1/2']) await target.shard(one)
      await target.finish()
      assert.deepEqual(logsOf(target), await wholeLogs())
    }))
})

const hasIncomplete = (error: unknown) => hasCode(error, 'SHARDS_INCOMPLETE')

describe('shards that rewrite schema IDs', () => {
  const records = (partition: number) =>
    Array.from({ length: 6 }, (_, i) => ({
      key: Buffer.from(`k${i}`),
      value: framed(5 + (i % 2), `v${partition}${i}`),
    }))
  const orders = () => [
    fakeTopic(
      'orders',
      [0, 1, 2, 3].map(partition => [encodeBatch({ records: records(partition) })]),
    ),
  ]
  const settings = { rewrite: rewriteOptions() }

  test('give the records the same IDs as one process, and refuse other IDs than the prepared ones', () =>
    withFakeTarget(orders(), async target => {
      await target.prepare(4, settings)
      const idMap = createIdMap([
        { context: '.', source: 5, target: 501 },
        { context: '.', source: 6, target: 600 },
      ])
      await assert.rejects(target.shard('0/4', { rewrite: rewriteOptions({ idMap }) }), {
        code: 'RESTORE_REFUSED',
        message: /has begun with other topics, ranges, mappings or schema IDs/,
      })
      const reports = await Promise.all(four.map(one => target.shard(one, settings)))
      assert.equal(
        reports.reduce((sum, { totals }) => sum + (totals.schemaIds?.value.rewritten ?? 0), 0),
        24,
      )
      assert.equal((await target.finish({ ...settings, verify: true })).verification?.ok, true)
    }))

  const strange = () => [
    fakeTopic(
      'orders',
      [0, 1, 2, 3].map(partition =>
        [0n, 3n].map(baseOffset =>
          encodeBatch({ baseOffset, records: [5, 44, 6].map(id => ({ value: framed(id, `v${partition}`) })) }),
        ),
      ),
    ),
  ]
  const passing = { rewrite: rewriteOptions({ unknownIds: 'pass', topics: { include: ['orders'], exclude: [] } }) }
  const counted = ({ totals, warnings }: RestoreReport) => [
    totals.schemaIds?.value.rewritten,
    totals.schemaIds?.value.unknown,
    totals.idCheck,
    warnings.filter(one => /carry schema IDs|in these counts/.test(one)),
  ]
  const unknown =
    'orders: 8 values carry schema IDs that the target registry does not have, and were left as they are (enterprise.schema_registry.restore.unknown_ids: pass)'
  const all = [16, 8, { mode: 'all', records: 24, unknown: 8 }, [unknown]]

  test('have what they found of schema IDs reported at the end, as one process reports it', async () => {
    await withFakeTarget(strange(), async target => assert.deepEqual(counted(await target.restore(passing)), all))
    await withFakeTarget(strange(), async target => {
      await target.prepare(2, passing)
      for (const one of ['0/2', '1/2']) await target.shard(one, passing)
      assert.deepEqual(counted(await target.finish(passing)), all)
    })
  })

  for (const requests of [1, 2, 3]) {
    test(`also where one dies at its Produce request ${requests}`, () =>
      withFakeTarget(strange(), async target => {
        await target.prepare(2, passing)
        let produced = 0
        target.before = ({ key }) => (key === API.produce && ++produced >= requests ? 'hang-up' : undefined)
        await assert.rejects(target.shard('0/2', { ...passing, batchBytes: 1 }))
        target.before = () => undefined
        for (const one of ['0/2', '1/2']) await target.shard(one, passing)
        assert.deepEqual(counted(await target.finish(passing)), all)
      }))
  }

  test('report records whose schema IDs they could not count', () =>
    withFakeTarget(strange(), async target => {
      await target.prepare(2, passing)
      for (const one of ['0/2', '1/2']) await target.shard(one, passing)
      for (const key of ['orders/0', 'orders/1']) {
        const { i: _, ...note } = noteOf(target, key)
        target.notes.set(key, { offset: 6n, metadata: JSON.stringify(note) })
      }
      assert.deepEqual(counted(await target.finish(passing)), [
        ...[8, 4, { mode: 'all', records: 12, unknown: 4 }],
        [
          unknown.replace('8 values', '4 values'),
          'orders: 12 of its records are not in these counts of schema IDs: an earlier version of kafka-backup has written them, or a run that was killed before it had noted its counts',
        ],
      ])
    }))
})
