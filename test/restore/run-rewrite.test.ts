import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codecNames } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import { encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { framed, long, schemaVersion } from '../registry/ids/sample-schemas.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const recordAt = (i: number): RecordSpec => ({
  key: framed(6, `k${i}`),
  value: i % 7 === 0 ? null : framed(5 + (i % 2), `v${i}`),
})
const expectedAt = (i: number) => [framed(600, `k${i}`), i % 7 === 0 ? null : framed(i % 2 ? 600 : 500, `v${i}`)]

/** A batch with every codec, of ten records each. */
const batches = () =>
  codecNames.map((codec, b) =>
    encodeBatch({ baseOffset: BigInt(b * 10), codec, records: range(10).map(i => recordAt(b * 10 + i)) }),
  )
const orders = () => [fakeTopic('orders', [batches()])]
const settings = { rewrite: rewriteOptions(), verify: true, batchBytes: 100 }

const recordsOf = (target: FakeTarget, topic = 'orders') =>
  (target.topic(topic)?.partitions[0]?.batches ?? []).flatMap(bytes =>
    walkBatches(bytes, 0, bytes.length).flatMap(header => decodeRecords(bytes, header)),
  )

describe('a restore that rewrites ids', () => {
  test('writes them into keys and values, is the same as the backup then, and counts them', () =>
    withFakeTarget(orders(), async target => {
      const report = await target.restore(settings)
      assert.deepEqual(
        recordsOf(target).map(({ key, value }) => [key, value]),
        range(50).map(expectedAt),
      )
      assert.deepEqual([report.verification?.ok, report.verification?.totals.records], [true, 50])
      assert.deepEqual(report.totals.conversions, { schema_ids: 5 })
      assert.equal(report.topics[0]?.schemaIds?.key.rewritten, 50)
      assert.equal(report.totals.schemaIds?.value.rewritten, 42)
    }))

  test('finds those that lie between tombstones, though a look at some of the records has seen only these', () => {
    const isHidden = (batch: number) => batch % 2 === 0
    const valueAt = (batch: number, id: number) => (isHidden(batch) ? null : framed(id, `v${batch}`))
    const hidden = range(5).map(b =>
      encodeBatch({ baseOffset: BigInt(b), records: [{ key: Buffer.from('k'), value: valueAt(b, 5) }] }),
    )
    return withFakeTarget([fakeTopic('orders', [hidden])], async target => {
      const report = await target.restore(settings)
      assert.deepEqual(
        recordsOf(target).map(({ value }) => value),
        range(5).map(b => valueAt(b, 500)),
      )
      assert.deepEqual([report.verification?.ok, report.warnings], [true, []])
    })
  })

  test('says once that keys have other bytes, also where a look at some of the records has not shown it', async () => {
    const keyAt = (batch: number) => (batch % 2 === 0 ? null : framed(6, `k${batch}`))
    const hidden = range(5).map(b =>
      encodeBatch({ baseOffset: BigInt(b), records: [{ key: keyAt(b), value: framed(5) }] }),
    )
    const told = (warnings: readonly string[]) => warnings.filter(line => /other bytes/.test(line))
    await withFakeTarget([fakeTopic('orders', [hidden])], async target => {
      const report = await target.restore(settings)
      assert.equal(report.totals.schemaIds?.key.rewritten, 2)
      assert.deepEqual([told(report.warnings).length, told(target.warned).length], [1, 1])
      assert.match(told(report.warnings)[0] ?? '', /^orders: its keys get other schema IDs, so that the same key has/)
    })
    await withFakeTarget(orders(), async target => {
      const { warnings } = await target.restore(settings)
      assert.deepEqual(told(warnings).length, 1)
    })
  })

  test('sends every batch as it is where all ids stay the same', () =>
    withFakeTarget(orders(), async target => {
      const idMap = createIdMap([5, 6, 101_327].map(id => ({ context: '.', source: id, target: id })))
      const report = await target.restore({ ...settings, rewrite: rewriteOptions({ idMap }) })
      assert.deepEqual([report.totals.conversions, report.totals.schemaIds], [{}, undefined])
      const bodies = (all: readonly Buffer[]) => all.map(batch => batch.subarray(61))
      assert.deepEqual(bodies(target.topic('orders')?.partitions[0]?.batches ?? []), bodies(batches()))
    }))

  test('goes on where it was killed, with the same ids, and not with others', () =>
    withFakeTarget(orders(), async target => {
      let produced = 0
      target.before = ({ key }) => {
        if (key !== API.produce) return undefined
        produced++
        return produced > 2 ? 'hang-up' : undefined
      }
      await assert.rejects(target.restore(settings))
      target.before = () => undefined
      assert.equal(recordsOf(target).length, 20)
      const idMap = createIdMap([
        { context: '.', source: 5, target: 501 },
        { context: '.', source: 6, target: 600 },
      ])
      await assert.rejects(target.restore({ ...settings, rewrite: rewriteOptions({ idMap }) }), {
        code: 'RESTORE_REFUSED',
        message: /has begun with other/,
      })
      const report = await target.restore({ ...settings, rewrite: rewriteOptions({ unknownIds: 'pass' }) })
      assert.equal(report.verification?.ok, true)
      assert.equal(report.totals.schemaIds?.key.rewritten, 50, 'each is counted once, by the run that wrote it')
      assert.equal((await target.restore(settings)).wasComplete, true)
    }))

  test('is refused before anything is written where it is not clear whether there are ids', () => {
    const times = range(20).map(i => ({ value: long(1_700_000_000_000n + BigInt(i)) }))
    const topics = [fakeTopic('clicks', [[encodeBatch({ records: times })]]), ...orders()]
    return withFakeTarget(topics, async target => {
      await assert.rejects(target.restore(settings), {
        code: 'RESTORE_REFUSED',
        message:
          /^topic clicks: it is not clear whether its values carry schema IDs: .*restore\.rewrite_topics\.include/,
      })
      assert.deepEqual(target.fake.state.topics, [])
      const rewrite = rewriteOptions({ topics: { include: ['*'], exclude: ['clicks'] } })
      const report = await target.restore({ ...settings, rewrite })
      assert.equal(report.verification?.ok, true)
      assert.deepEqual(
        recordsOf(target, 'clicks').map(({ value }) => value),
        times.map(({ value }) => value),
      )
    })
  })

  test('is refused before anything is written at an id that the target does not have', () => {
    const records = [{ value: framed(44) }, { value: framed(5) }]
    return withFakeTarget([fakeTopic('orders', [[encodeBatch({ records })]])], async target => {
      await assert.rejects(target.restore(settings), {
        message:
          /Schema ID 44 not found in target registry: no schema of the backup has it\. The value of orders\/0 at offset 0 carries it\./,
      })
      assert.deepEqual(target.fake.state.topics, [])
      const report = await target.restore({ ...settings, rewrite: rewriteOptions({ unknownIds: 'pass' }) })
      assert.deepEqual([report.verification?.ok, report.topics[0]?.schemaIds?.value.unknown], [true, 1])
      assert.match(report.warnings.join(), /orders: 1 values carry schema IDs that the target registry does not have/)
      assert.deepEqual(target.warned, report.warnings)
    })
  })

  test('is refused for a schema that the target does not get, though no id changes and the sample has none of it', () => {
    const lists = range(8).map(b =>
      encodeBatch({ baseOffset: BigInt(b), records: [{ value: framed(b === 2 ? 6 : 5) }] }),
    )
    const reasons = new Map([['6', 'version 2 of subject orders-value is another schema on the target']])
    const idMap = createIdMap([{ context: '.', source: 5, target: 5 }])
    const schemas = indexSchemas([schemaVersion('orders-value', 5), schemaVersion('orders-value', 6, { version: 2 })])
    return withFakeTarget([fakeTopic('orders', [lists])], async target => {
      for (const writes of [true, false]) {
        await assert.rejects(target.restore({ rewrite: rewriteOptions({ writes, idMap, schemas, reasons }) }), {
          message:
            /Schema ID 6 not found in target registry: version 2 of .*The value of orders\/0 at offset 2 carries it/,
        })
      }
      assert.deepEqual(target.fake.state.topics, [])
    })
  })

  test('puts records where their new keys belong, where keys decide', () =>
    withFakeTarget(orders(), async target => {
      const by = { repartition: 'by_key' as const, partitionCount: new Map([['orders', 3]]) }
      const report = await target.restore({ ...settings, ...by })
      assert.deepEqual([report.verification?.ok, report.verification?.totals.records], [true, 50])
      assert.equal(report.totals.schemaIds?.key.rewritten, 50)
    }))
})

describe('records of a topic without a subject of its name', () => {
  const clicked = JSON.stringify({
    ...{ type: 'record', name: 'Click', namespace: 'shop' },
    fields: [
      { name: 'page', type: 'string' },
      { name: 'at', type: 'long' },
    ],
  })
  const rewrite = rewriteOptions({
    schemas: indexSchemas([
      schemaVersion('shop.Click', 5, { schema: clicked }),
      schemaVersion('payments-value', 6, { schema: '"string"' }),
    ]),
  })
  /** Two letters and a number of one byte. */
  const click = (id: number, page: string) => framed(id, Buffer.from([4, ...Buffer.from(page), 2]))
  const text = Buffer.from('plain')
  /** Frames lie where a sample does not look: it takes the first, the middle and the last batch. */
  const hidden = (late: readonly Buffer[], codec: (typeof codecNames)[number]) => {
    const lists = [[text], [text], late, [text], [text], [text], [text], [text]]
    let offset = 0
    return lists.map(list => {
      const batch = encodeBatch({ baseOffset: BigInt(offset), codec, records: list.map(value => ({ value })) })
      offset += list.length
      return batch
    })
  }
  const late = [click(5, 'ab'), framed(6, Buffer.from([4, 65, 66])), framed(6, 'no string'), framed(5, 'odd'), text]

  for (const codec of ['none', 'zstd'] as const) {
    test(`get the ids of the target one by one, and what is not certain is left and reported (${codec})`, () =>
      withFakeTarget([fakeTopic('clicks', [hidden(late, codec)])], async target => {
        const report = await target.restore({ rewrite, verify: true, batchBytes: 1 })
        const written = recordsOf(target, 'clicks').map(({ value }) => value)
        assert.deepEqual(written.slice(2, 7), [click(500, 'ab'), ...late.slice(1)])
        const { rewritten, unclear, unframed } = report.totals.schemaIds?.value ?? assert.fail()
        assert.deepEqual({ rewritten, unclear, unframed }, { rewritten: 1, unclear: 1, unframed: 10 })
        assert.deepEqual(report.totals.idCheck, { mode: 'all', records: 12, unknown: 0 })
        assert.match(report.warnings.join(), /^clicks: 1 values begin like schema IDs that differ on the target, but/)
        assert.equal(report.verification?.ok, true)
      }))
  }

  test('end the restore at an id that the source has given and nothing has now', () =>
    withFakeTarget(
      [fakeTopic('clicks', [hidden([framed(4, 'gone'), framed(70_000, 'mp4')], 'none')])],
      async target => {
        await assert.rejects(target.restore({ rewrite }), {
          code: 'SCHEMA_ID_UNKNOWN',
          message: /Schema ID 4 not found in target registry.*The value of clicks\/0 at offset 2/,
        })
        const report = await target.restore({ rewrite: { ...rewrite, unknownIds: 'pass' } })
        assert.deepEqual([report.totals.schemaIds?.value.unknown, report.totals.idCheck?.unknown], [1, 1])
      },
    ))

  test('are all checked where no id changes and the job asks for it, and some where it does not', async () => {
    const same = { ...rewrite, idMap: createIdMap([5, 6].map(id => ({ context: '.', source: id, target: id }))) }
    const topics = () => [fakeTopic('clicks', [hidden([click(5, 'ab'), framed(4, 'gone')], 'zstd')])]
    await withFakeTarget(topics(), async target => {
      await assert.rejects(target.restore({ rewrite: { ...same, checkIds: 'all' } }), { code: 'SCHEMA_ID_UNKNOWN' })
    })
    await withFakeTarget(topics(), async target => {
      const { totals } = await target.restore({ rewrite: same })
      assert.deepEqual([totals.schemaIds, totals.idCheck?.mode, totals.records], [undefined, 'sample', 9])
    })
  })

  test('are all checked where the target does not get a schema that they may carry, though no id changes', async () => {
    const idMap = createIdMap([{ context: '.', source: 6, target: 6 }])
    const left = { ...rewrite, idMap, reasons: new Map([['5', 'version 1 of subject shop.Click is not restored']]) }
    await withFakeTarget([fakeTopic('clicks', [hidden([click(5, 'ab')], 'zstd')])], async target => {
      await assert.rejects(target.restore({ rewrite: left }), {
        code: 'SCHEMA_ID_UNKNOWN',
        message: /Schema ID 5 not found in target registry: version 1 of subject shop\.Click is not restored/,
      })
      const report = await target.restore({ rewrite: { ...left, unknownIds: 'pass' } })
      assert.deepEqual(report.totals.idCheck, { mode: 'all', records: 8, unknown: 1 })
    })
  })
})
