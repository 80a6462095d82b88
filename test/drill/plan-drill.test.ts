import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listJournals } from '../../src/drill/journal.ts'
import { assertScope, planDrill, scratchName } from '../../src/drill/plan-drill.ts'
import { assertScratch, planRemoval } from '../../src/drill/scratch-topics.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { manifestOf, samplePartition, sampleTopic } from '../restore/samples.ts'

const run = '0123456789abcdef'
const names = { prefix: 'drill.', run }
const manifest = manifestOf([sampleTopic('orders', 2), sampleTopic('audit', 1), sampleTopic('__consumer_offsets', 1)])
const parts = (random = 0) => ({ names, random: () => random })

describe('planDrill', () => {
  test('gives every selected topic a scratch name, and restores all of it', () => {
    const plan = planDrill(manifest, plainOptions(), { topics: ['orders', 'audit'] }, parts())
    assert.deepEqual(
      [...plan.options.topicMapping],
      [
        ['orders', `drill.${run}.orders`],
        ['audit', `drill.${run}.audit`],
      ],
    )
    assert.deepEqual(plan.topics[0]?.partitions[1], { partition: 1, from: 100n, to: 200n })
    assert.equal(plan.options.offsetRanges.size, 0)
    assert.equal(plan.description, 'topics orders, audit')
  })

  test('takes a share of every partition at a random place', () => {
    const ranges = (percent: number, random: number) => [
      ...planDrill(manifest, plainOptions(), { topics: ['orders'], samplePercent: percent }, parts(random)).options
        .offsetRanges,
    ]
    assert.deepEqual(ranges(10, 0), [
      ['orders/0', { start: 100n, end: 110n }],
      ['orders/1', { start: 100n, end: 110n }],
    ])
    assert.deepEqual(ranges(10, 0.999999)[0], ['orders/0', { start: 190n, end: 200n }])
    assert.deepEqual(ranges(0.001, 0.5)[0], ['orders/0', { start: 150n, end: 151n }])
    assert.deepEqual(ranges(100, 0.5)[0], ['orders/0', { start: 100n, end: 200n }])
  })

  test('leaves out empty partitions of a sample', () => {
    const empty = manifestOf([sampleTopic('t', 1, { partitions: [samplePartition(0, { end_offset: 100n })] })])
    const plan = planDrill(empty, plainOptions(), { topics: [], samplePercent: 5 }, parts())
    assert.equal(plan.options.offsetRanges.size, 0)
  })

  test('counts the newest hours from the commit, and keeps a later start of the job', () => {
    const committedAt = BigInt(Date.parse(manifest.created_at))
    const start = (own?: bigint) =>
      planDrill(
        manifest,
        plainOptions({ timeWindow: own === undefined ? {} : { start: own } }),
        { topics: [], newestMs: 3_600_000 },
        parts(),
      ).options.timeWindow.start
    assert.equal(start(), committedAt - 3_600_000n)
    assert.equal(start(committedAt - 10n), committedAt - 10n)
    assert.equal(start(0n), committedAt - 3_600_000n)
  })

  test('describes every limit of the part, because evidence is signed with it', () => {
    const describeAll = (timeWindow: { start?: bigint; end?: bigint }, scope = {}) =>
      planDrill(manifest, plainOptions({ timeWindow }), { topics: [], ...scope }, parts()).description
    assert.equal(describeAll({}), 'all topics')
    assert.equal(describeAll({ start: 5n }), 'all topics as the job selects')
    assert.equal(describeAll({ end: 5n }), 'all topics as the job selects')
    assert.equal(describeAll({}, { samplePercent: 5 }), '5% of every partition of all topics')
    assert.equal(describeAll({}, { newestMs: 3_600_000 }), 'all topics in the last 1h 00m before the commit')
  })

  test('tells a part of the records from all of them, because only all of them prove a part that failed', () => {
    const limited = (scope: object, options = {}) =>
      planDrill(manifest, plainOptions(options), { topics: ['orders'], ...scope }, parts()).isLimited
    assert.deepEqual([limited({}), limited({ samplePercent: 5 }), limited({ newestMs: 5 })], [false, true, true])
    assert.equal(limited({}, { timeWindow: { end: 5n } }), true)
  })

  test('refuses a topic that the backup does not have', () => {
    assert.throws(() => planDrill(manifest, plainOptions(), { topics: ['ordres'] }, parts()), {
      code: 'RESTORE_REFUSED',
      message: /ordres/,
    })
  })

  test('shortens a long name, with a hash that keeps two of them apart', () => {
    const long = 'x'.repeat(248)
    const [a, b] = [scratchName(names, `${long}a`), scratchName(names, `${long}b`)]
    assert.deepEqual([a.length, b.length, a === b], [249, 249, false])
    assert.match(scratchName(names, 'orders@dG9waWM'), /\.orders_dG9waWM-[0-9a-f]{16}$/)
  })

  test('keeps an older incarnation apart from a topic whose name looks like it', () => {
    assert.notEqual(scratchName(names, 'orders@x'), scratchName(names, 'orders_x'))
    assert.equal(scratchName(names, 'orders_x'), `drill.${run}.orders_x`)
  })

  test('refuses a sample of a time window, which often has no records', () => {
    for (const [scope, window, other] of [
      [{ newestMs: 1 }, {}, /--newest/],
      [{}, { start: 5n }, /time window of the job/],
      [{}, { end: 5n }, /time window of the job/],
    ] as const) {
      assert.throws(() => assertScope({ topics: [], samplePercent: 5, ...scope }, window), {
        code: 'USAGE',
        message: other,
      })
    }
    assert.doesNotThrow(() => assertScope({ topics: [], samplePercent: 5 }, {}))
    assert.doesNotThrow(() => assertScope({ topics: [], newestMs: 5 }, { start: 5n }))
  })
})

describe('planRemoval', () => {
  const own = `drill.${run}.orders`

  test('removes a topic that has the name and the ID of the drill', () => {
    assert.deepEqual(planRemoval(run, [{ name: own, id: 'A' }], [{ name: own, id: 'A' }]).own, [{ name: own, id: 'A' }])
  })

  test('finds a topic whose creation got no answer by its name', () => {
    assert.deepEqual(planRemoval(run, [{ name: own, id: null }], [{ name: own, id: 'B' }]).own, [
      { name: own, id: 'B' },
    ])
  })

  test('leaves a topic that another client created again under the name', () => {
    const { own: removed, foreign } = planRemoval(run, [{ name: own, id: 'A' }], [{ name: own, id: 'C' }])
    assert.deepEqual(removed, [])
    assert.match(foreign[0]?.reason ?? '', /created the topic again, with ID C/)
  })

  test('leaves every topic without the run in its name, whatever a journal says', () => {
    const { own: removed, foreign } = planRemoval(run, [{ name: 'orders', id: 'A' }], [{ name: 'orders', id: 'A' }])
    assert.deepEqual(removed, [])
    assert.match(foreign[0]?.reason ?? '', /does not belong to the drill/)
  })

  test('leaves a topic whose ID a journal gives another name', () => {
    const { own: removed, foreign } = planRemoval(run, [{ name: own, id: 'A' }], [{ name: 'payments', id: 'A' }])
    assert.deepEqual(removed, [])
    assert.match(foreign[0]?.reason ?? '', /its ID is that of topic payments/)
  })

  test('deletes a topic that is not listed yet, by its ID or else by its name', () => {
    const topics = [
      { name: own, id: 'A' },
      { name: `${own}2`, id: null },
    ]
    const { own: removed, unseen, foreign } = planRemoval(run, topics, [])
    assert.deepEqual([removed, unseen, foreign], [[{ name: own, id: 'A' }], [`${own}2`], []])
  })
})

test('a journal with an ID in another spelling is not read, because it would hide whose ID it is', async () => {
  const id = 'ab'.repeat(16)
  const problemOf = async (spelling: string) => {
    const storage = openMemoryStorage()
    const journal = {
      ...{ format: 'kafka-backup-drill-journal', format_version: 1, run, backup_id: 'b', cluster_id: 'c' },
      ...{ started_at: '2026-01-01T00:00:00.000Z', host: 'h', tool_version: '0' },
      topics: [{ name: `drill.${run}.orders`, id: spelling }],
    }
    const { signal } = new AbortController()
    await storage.create('b/drills/1/unfinished.json', Buffer.from(JSON.stringify(journal)), signal)
    const [found] = await listJournals(storage, 'b', signal)
    return found && 'problem' in found ? found.problem : undefined
  }
  assert.equal(await problemOf(id), undefined)
  for (const spelling of [id.toUpperCase(), `${id}zz`, '']) {
    assert.match((await problemOf(spelling)) ?? '', /is not the journal of a drill/, spelling)
  }
})

test('a drill refuses to begin where the target has a topic with a scratch name, before any other request', async () => {
  const requests: string[] = []
  const cluster = {
    metadata: async () => {
      requests.push('metadata')
      return { topics: [{ name: 'drill.orders' }, { name: 'other' }] }
    },
  } as unknown as Cluster
  await assert.rejects(assertScratch(cluster, ['drill.audit', 'drill.orders'], new AbortController().signal), {
    code: 'RESTORE_REFUSED',
    message: 'the target already has topic drill.orders',
  })
  assert.deepEqual(requests, ['metadata'])
})
