import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { prepareRewrites } from '../../src/restore/prepare-rewrites.ts'
import type { OpenFilter } from '../../src/restore/record-filter.ts'
import type { RewriteOptions } from '../../src/restore/restore-options.ts'
import { sampleTopic } from '../../src/restore/sample-topic.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encodeBatch, encodeMarker, type RecordSpec } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { framed, long, schemaVersion } from '../registry/ids/sample-schemas.ts'
import { plainOptions } from './plain-options.ts'
import { rewriteOptions } from './rewrite-samples.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)

/** A batch of ten records from this offset on. */
const batchAt = (offset: number, make: (offset: number) => RecordSpec) =>
  encodeBatch({ baseOffset: BigInt(offset), codec: 'zstd', records: range(10).map(i => make(offset + i)) })

async function decide(lists: Buffer[][][], changes: Partial<RewriteOptions> = {}, ranges = {}, selection?: OpenFilter) {
  const storage = openMemoryStorage()
  const manifest = await storePartitions(storage, lists, false)
  const rewrite = rewriteOptions(changes)
  const options = plainOptions({ rewrite, ...ranges })
  const plan = planRestore(manifest, options)
  const request = { ...options, selection }
  const { rewrites, idChecks, findings } = await prepareRewrites(request, plan.topics, { storage }, never)
  const { parts, judged, writes, context, unknownIds } = rewrites.get('orders') ?? {}
  const textsOf = (wanted: 'error' | 'warning') =>
    findings.filter(({ severity }) => severity === wanted).map(({ problem, remedy }) => `${problem} (${remedy})`)
  const found = { findings: textsOf('error'), warnings: textsOf('warning') }
  return { parts, judged, writes, context, unknownIds, check: idChecks.get('orders'), ...found }
}

const one = (make: (offset: number) => RecordSpec) => [[range(5).map(i => batchAt(i * 10, make))]]

describe('versions that the backup left out', () => {
  const same = createIdMap([{ context: '.same', source: 5, target: 5 }])
  const topicContexts = new Map([['orders', '.same']])
  const partsWith = async (subject: string) => {
    const leftOut = [{ subject, version: 1, id: 4 }]
    const records = one(i => ({ value: framed(5, `v${i}`) }))
    const { parts = [] } = await decide(records, { idMap: same, topicContexts, leftOut, writes: false })
    return parts
  }

  test('let every record of the topics be opened that may carry their IDs, though no ID changes', async () => {
    for (const subject of [':.same:orders-value', ':.same:shop.Order', ':.same:orders-shop.Order']) {
      assert.deepEqual(await partsWith(subject), ['key', 'value'], subject)
    }
    for (const subject of ['orders-value', ':.same:payments-value'])
      assert.deepEqual(await partsWith(subject), [], subject)
  })
})

describe('a look at a topic', () => {
  test('decides for each part by itself', async () => {
    const avro = await decide(one(i => ({ key: framed(6, `k${i}`), value: framed(5, `v${i}`) })))
    const { warnings, ...decided } = avro
    assert.deepEqual(decided, {
      ...{ parts: ['key', 'value'], judged: {}, writes: true, context: '.', unknownIds: 'fail', findings: [] },
      check: { mode: 'sample', records: 30, unknown: 0 },
    })
    assert.match(warnings.join(), /^its keys get other schema IDs, so that the same key has other bytes/)
    const plainKeys = await decide(one(i => ({ key: Buffer.from(`k${i}`), value: framed(5, `v${i}`) })))
    assert.deepEqual([plainKeys.parts, plainKeys.findings, plainKeys.warnings], [['key', 'value'], [], []])
    const plain = one(i => ({ key: long(BigInt(i)), value: Buffer.from('{}') }))
    const { parts, judged, findings } = await decide(plain, { schemas: indexSchemas([]) })
    assert.deepEqual([parts, findings], [['key', 'value'], []])
    assert.deepEqual(judged, { key: { areLongs: true }, value: { areLongs: false } })
  })

  test('stops at numbers that look like ids, and names topic, part and the settings that decide', async () => {
    const times = one(i => ({ key: long(1_700_000_000_000n + BigInt(i)), value: framed(5) }))
    const { parts, findings } = await decide(times)
    assert.deepEqual(parts, ['value'])
    assert.equal(findings.length, 1)
    assert.match(findings[0] ?? '', /^it is not clear whether its keys carry schema IDs: 30 keys were checked/)
    assert.match(findings[0] ?? '', /schema ID 101327 of the subject payments-value/)
    assert.match(
      findings[0] ?? '',
      /name orders in enterprise\.schema_registry\.restore\.rewrite_topics\.include .* or in \.exclude .*restore\.rewrite_parts/,
    )
  })

  test('is not needed where the job decides', async () => {
    const times = one(i => ({ key: long(1_700_000_000_000n + BigInt(i)), value: framed(5) }))
    const named = await decide(times, { topics: { include: ['orders'], exclude: [] } })
    assert.deepEqual([named.parts, named.findings], [['key', 'value'], []])
    const left = await decide(times, { topics: { include: ['*'], exclude: ['orders'] } })
    assert.deepEqual([left.parts, left.findings], [undefined, []])
    const values = await decide(times, { parts: ['value'] })
    assert.deepEqual([values.parts, values.findings], [['value'], []])
    const own = await decide(times, { topicParts: new Map([['orders', ['value'] as const]]) })
    assert.deepEqual([own.parts, own.findings], [['value'], []])
  })

  describe('where no id changes', () => {
    const ways: [string, Partial<RewriteOptions>][] = [
      ['in the context of the topic', { topicContexts: new Map([['orders', '.same']]) }],
      ['since the job writes none', { writes: false }],
    ]
    const known = one(i => ({ value: framed(5, `${i}`) }))
    const mixed = one(i => ({ value: framed(i % 10 === 3 ? 44 : 5, `${i}`) }))
    for (const [way, changes] of ways) {
      test(`${way}, finds unknown ids in a sample and opens nothing else`, async () => {
        const fine = await decide(known, changes)
        assert.deepEqual([fine.parts, fine.findings, fine.warnings], [undefined, [], []])
        assert.deepEqual(fine.check, { mode: 'sample', records: 30, unknown: 0 })
        const { findings } = await decide(mixed, changes)
        assert.match(findings.join(), /^Schema ID 44 not found in target registry: no schema of the backup has it/)
        const passed = await decide(mixed, { ...changes, unknownIds: 'pass' })
        assert.deepEqual([passed.parts, passed.findings, passed.check?.unknown], [undefined, [], 3])
      })

      test(`${way}, opens every record where the job asks for it`, async () => {
        const { parts, writes } = await decide(known, { ...changes, checkIds: 'all' })
        assert.deepEqual([parts, writes], [['key', 'value'], false])
      })
    }

    test('is not stopped by what would be unclear', async () => {
      const times = one(i => ({ key: long(1_700_000_000_000n + BigInt(i)), value: framed(5) }))
      assert.deepEqual((await decide(times, { writes: false })).findings, [])
    })
  })

  test('takes nothing as the same in a context that the backup does not have', async () => {
    const { findings } = await decide(
      one(i => ({ value: framed(5, `${i}`) })),
      { topicContexts: new Map([['orders', '.ue']]) },
    )
    assert.match(findings.join(), /^Schema ID 5 not found in target registry/)
    const none = await decide(
      one(i => ({ value: framed(5, `${i}`) })),
      { idMap: createIdMap([]) },
    )
    assert.match(none.findings.join(), /^Schema ID 5 not found in target registry/)
    assert.deepEqual(
      (
        await decide(
          one(() => ({ value: Buffer.from('{}') })),
          { idMap: createIdMap([]) },
        )
      ).findings,
      [],
    )
  })

  test('uses the ids of the context of the topic', async () => {
    const values = one(i => ({ value: framed(5, `${i}`) }))
    const eu = await decide(values, { topicContexts: new Map([['ord*', '.eu']]) })
    assert.deepEqual([eu.parts, eu.context], [['key', 'value'], '.eu'])
  })

  test('finds an id that the target does not have before anything is written', async () => {
    const unknown = one(i => ({ value: framed(i < 20 ? 5 : 44) }))
    const { findings } = await decide(unknown)
    assert.match(
      findings.join(),
      /^Schema ID 44 not found in target registry: no schema of the backup has it\. The value of orders\/0 at offset 2\d carries it\. \(map the ID by /,
    )
    const passed = await decide(unknown, { unknownIds: 'pass' })
    assert.deepEqual([passed.parts, passed.findings], [['key', 'value'], []])
  })

  describe('with a filter', () => {
    const isWanted = (offset: bigint): OpenFilter => ({
      selects: () => assert.fail('a look counts nothing'),
      mayWant: record => ('buffer' in record ? record.offsetBase + BigInt(record.offsetDelta) : record.offset) < offset,
      counts: { examined: 0, selected: 0, notDecoded: 0 },
    })
    const late = one(i => ({ value: framed(i < 20 ? 5 : 44, `${i}`) }))

    test('an id that the target does not have is found only in records that may be selected', async () => {
      for (const changes of [{}, { writes: false }]) {
        assert.match((await decide(late, changes, {}, isWanted(30n))).findings.join(), /^Schema ID 44 not found/)
        const { findings, check } = await decide(late, changes, {}, isWanted(20n))
        assert.deepEqual([findings, check?.unknown], [[], 0])
        assert.ok(check && check.records > 0 && check.records < 30)
      }
    })

    test('where only left-out records were looked at, and the target lacks their ids, every frame of a selected one counts', async () => {
      const all = one(i => ({ value: framed(44, `${i}`) }))
      for (const changes of [{}, { writes: false, checkIds: 'all' as const }]) {
        const { parts, judged, findings } = await decide(all, changes, {}, isWanted(0n))
        assert.deepEqual([parts, findings], [['key', 'value'], []])
        // Judged by itself, a record with an id above those of the backup would pass for one without a frame.
        assert.equal(judged?.value, undefined)
      }
    })

    test('a schema that the target does not get is needed only by records that may be selected', async () => {
      const missing = {
        reasons: new Map([['44', 'its type is not taken']]),
        schemas: indexSchemas([schemaVersion('orders-value', 44), schemaVersion('orders-value', 5)]),
      }
      const rare = one(i => ({ value: framed(i === 11 ? 44 : 5, `${i}`) }))
      assert.match((await decide(rare, missing, {}, isWanted(12n))).findings.join(), /Schema ID 44 not found/)
      assert.deepEqual((await decide(rare, missing, {}, isWanted(11n))).findings, [])
    })
  })

  test('sees that frames began in the middle of the life of a topic, or in another partition', async () => {
    const segmentsOf = (make: (offset: number) => RecordSpec) => range(9).map(i => [batchAt(i * 10, make)])
    const later = segmentsOf(i => ({ value: i < 50 ? Buffer.from('{}') : framed(5, `${i}`) }))
    assert.match((await decide([later])).findings.join(), /of which only \d+ begin with a schema ID/)
    const last = segmentsOf(i => ({ value: framed(5, `${i}`) }))
    const plain = segmentsOf(() => ({ value: Buffer.from('{}') }))
    assert.match((await decide([plain, plain, plain, plain, plain, plain, last])).findings.join(), /of which only/)
  })

  test('sees only what is restored', async () => {
    const mixed = one(i => ({ value: i < 25 ? Buffer.from('{}') : framed(5, `${i}`) }))
    const offsetRanges = new Map([['orders/0', { start: 25n }]])
    assert.deepEqual((await decide(mixed, {}, { offsetRanges })).parts, ['key', 'value'])
    assert.deepEqual((await decide(mixed, {}, { offsetRanges: new Map([['orders/0', { end: 25n }]]) })).findings, [])
    const before = one(i => ({ value: framed(i < 25 ? 44 : 5), timestampDelta: BigInt(i) }))
    assert.deepEqual((await decide(before, {}, { timeWindow: { start: 1_700_000_000_025n } })).parts, ['key', 'value'])
  })

  test('tells that keys become the same where several IDs become one', async () => {
    const keys = one(i => ({ key: framed(5 + (i % 2), 'k'), value: framed(5) }))
    const schemas = indexSchemas(
      ['orders-key', 'orders-value'].flatMap(name => [schemaVersion(name, 5), schemaVersion(name, 6)]),
    )
    const idMap = createIdMap([5, 6].map(source => ({ context: '.', source, target: 500 })))
    assert.match(
      (await decide(keys, { schemas, idMap })).warnings.join(),
      /several of its IDs become one, so that keys/,
    )
    assert.doesNotMatch((await decide(keys, { schemas })).warnings.join(), /several of its IDs become one/)
  })

  test('tells of IDs in headers of Apicurio, which are not rewritten', async () => {
    const headers: [string, Buffer][] = [['apicurio.value.contentId', long(5n)]]
    const { warnings, findings } = await decide(one(() => ({ value: Buffer.from([2, 4]), headers })))
    assert.deepEqual(findings, [])
    assert.match(warnings.join(), /^its values have schema IDs in the header apicurio\.value\.contentId, which are not/)
  })

  test('does not see what was rolled back, though a later segment tells it', async () => {
    const records = range(10).map(() => ({ value: framed(44) }))
    const rolledBack = encodeBatch({ baseOffset: 0n, producerId: 3n, transactional: true, records })
    const storage = openMemoryStorage()
    const lists = [[rolledBack], [encodeMarker(10n, 3n, 'abort'), batchAt(11, () => ({ value: framed(5) }))]]
    const aborted = [{ producer_id: 3n, first_offset: 0n, last_offset: 10n }]
    const [topic] = planRestore(await storePartitions(storage, [lists], false, aborted), plainOptions()).topics
    const { value } = await sampleTopic({ storage }, topic?.legs ?? [], { timeWindow: {} }, never)
    assert.deepEqual(new Set(value.map(({ offset }) => Number(offset))), new Set(range(10).map(i => i + 11)))
  })

  test('goes on until it has found some of what is restored', async () => {
    const many = range(9).map(i => [batchAt(i * 10, at => ({ value: framed(5), timestampDelta: BigInt(at) }))])
    const timeWindow = { start: 1_700_000_000_053n, end: 1_700_000_000_055n }
    assert.deepEqual((await decide([many], {}, { timeWindow })).parts, ['key', 'value'])
    const none = range(6).map(() => range(9).map(i => [batchAt(i * 10, () => ({ value: framed(44) }))]))
    none[4] = many
    assert.deepEqual((await decide(none, {}, { timeWindow })).parts, ['key', 'value'])
  })
})

test('a look takes some records of some partitions, however many there are', async () => {
  const storage = openMemoryStorage()
  const batches = range(40).map(b => {
    const records = range(500).map(i => ({ value: Buffer.from(`${b * 500 + i}`) }))
    return encodeBatch({ baseOffset: BigInt(b * 500), records })
  })
  const lists = range(10).map(() => range(4).map(s => batches.slice(s * 10, s * 10 + 10)))
  const plan = planRestore(await storePartitions(storage, lists, true), plainOptions())
  const { key, value } = await sampleTopic({ storage }, plan.topics[0]?.legs ?? [], { timeWindow: {} }, never)
  assert.ok(value.length >= 900 && value.length <= 1100, `${value.length}`)
  assert.equal(key.length, value.length)
  assert.deepEqual([...new Set(value.map(({ partition }) => partition))], [0, 3, 6, 9])
  const offsets = value.map(({ offset }) => Number(offset))
  assert.ok(Math.min(...offsets) === 0 && Math.max(...offsets) > 15_000)
})
