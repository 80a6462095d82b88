import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { patchBatch } from '../../src/batch/patch-batch.ts'
import { decodeRecords, type KafkaRecord } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import type { TopicRewrite } from '../../src/restore/part-rewriter.ts'
import { IdRewriter } from '../../src/restore/rewrite-ids.ts'
import { encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { framed, long } from '../registry/ids/sample-schemas.ts'

const guidOf = (byte: number) => Buffer.alloc(16, byte).toString('hex')
const idMap = createIdMap(
  [
    { context: '.', source: 5, target: 500 },
    { context: '.', source: 6, target: 0x7fffffff },
    { context: '.', source: 7, target: 7 },
    { context: '.eu', source: 5, target: 1 },
  ],
  [
    { source: guidOf(5), target: guidOf(5) },
    { source: guidOf(9), target: null },
  ],
)
const both: TopicRewrite = {
  schemas: indexSchemas([]),
  topic: 't',
  judged: {},
  writes: true,
  reasons: new Map(),
  idMap,
  context: '.',
  parts: ['key', 'value'],
  unknownIds: 'fail',
}

async function rewrite(records: RecordSpec[], changes: Partial<TopicRewrite> = {}) {
  const bytes = encodeBatch({ baseOffset: 40n, records })
  const [header] = walkBatches(bytes, 0, bytes.length)
  assert.ok(header)
  const before = Buffer.from(bytes)
  const ids = new IdRewriter({ ...both, ...changes }, 'orders/3')
  const patched = await patchBatch({ bytes, header }, { patch: ids.patch, codec: 'keep' })
  if (!patched) assert.deepEqual(bytes, before)
  return { records: decodeRecords(bytes, header), counts: ids.takeCounts(), isChanged: patched !== undefined }
}

const shown = (records: KafkaRecord[]) => records.map(({ key, value }) => [key, value])

describe('the ids of a record', () => {
  test('are rewritten in key and value, each by its own, and nothing else is', async () => {
    const headers: [string, Buffer | null][] = [
      ['trace', framed(5)],
      ['n', null],
    ]
    const { records, counts } = await rewrite([{ key: framed(5, 'k'), value: framed(6, 'v'), headers }])
    assert.deepEqual(shown(records), [[framed(500, 'k'), framed(0x7fffffff, 'v')]])
    assert.deepEqual(records[0]?.headers, headers)
    assert.deepEqual([counts.key.rewritten, counts.value.rewritten], [1, 1])
  })

  test('are rewritten in what is nothing but the five bytes of a frame', async () => {
    const { records } = await rewrite([{ value: Buffer.from([0, 0, 0, 0, 5]) }])
    assert.deepEqual(records[0]?.value, framed(500, ''))
  })

  test('are rewritten in the key of a tombstone, whose value stays null', async () => {
    const { records } = await rewrite([
      { key: framed(5), value: null },
      { key: null, value: framed(5) },
    ])
    assert.deepEqual(shown(records), [
      [framed(500), null],
      [null, framed(500)],
    ])
  })

  test('are none in what is short, empty, a small number or begins otherwise', async () => {
    const values = [
      Buffer.from([0, 0, 0, 5]),
      Buffer.alloc(0),
      long(77n),
      Buffer.from('{"a":1}'),
      Buffer.from([3, 0, 0, 0, 5]),
    ]
    const { records, counts, isChanged } = await rewrite(values.map(value => ({ value })))
    assert.deepEqual(
      records.map(({ value }) => value),
      values,
    )
    assert.deepEqual([isChanged, counts.value.unframed], [false, 5])
  })

  test('stay where the target has the same', async () => {
    const { isChanged, counts } = await rewrite([{ key: framed(7), value: framed(7) }])
    assert.deepEqual([isChanged, counts.key.same, counts.value.same], [false, 1, 1])
  })

  test('that the target does not have end the restore, with the place in the second sentence', async () => {
    await assert.rejects(rewrite([{ value: framed(5) }, { value: framed(44) }]), {
      code: 'SCHEMA_ID_UNKNOWN',
      message:
        'Schema ID 44 not found in target registry: no schema of the backup has it. The value of orders/3 at offset 41 carries it.',
    })
    await assert.rejects(rewrite([{ key: framed(45) }]), {
      message: /^Schema ID 45 not .* The key of orders\/3 at offset 40/,
    })
  })

  test('that the target does not have are let pass and counted where that is wanted', async () => {
    const { records, counts } = await rewrite([{ value: framed(44) }, { value: framed(5) }, { value: framed(44) }], {
      unknownIds: 'pass',
    })
    assert.deepEqual(
      records.map(({ value }) => value),
      [framed(44), framed(500), framed(44)],
    )
    assert.deepEqual([counts.value.unknown, counts.value.rewritten], [2, 1])
  })

  test('are looked for in the parts that are asked for', async () => {
    const record = { key: framed(5), value: framed(5) }
    assert.deepEqual(shown((await rewrite([record], { parts: ['key'] })).records), [[framed(500), framed(5)]])
    assert.deepEqual(shown((await rewrite([record], { parts: ['value'] })).records), [[framed(5), framed(500)]])
    const unknown = { key: framed(44), value: framed(5) }
    assert.deepEqual(shown((await rewrite([unknown], { parts: ['value'] })).records), [[framed(44), framed(500)]])
  })

  test('are those of the context of the topic', async () => {
    const { records } = await rewrite([{ value: framed(5) }], { context: '.eu' })
    assert.deepEqual(records[0]?.value, framed(1))
    await assert.rejects(rewrite([{ value: framed(6) }], { context: '.eu' }), { code: 'SCHEMA_ID_UNKNOWN' })
  })

  test('stay where a GUID stands for them', async () => {
    const guid = Buffer.concat([Buffer.from([1]), Buffer.alloc(16, 5), Buffer.from('payload')])
    const { counts, isChanged } = await rewrite([{ key: guid, value: guid }])
    assert.deepEqual([isChanged, counts.key.guid, counts.value.guid], [false, 1, 1])
  })
})

test('a GUID that is another on the target is rewritten, in front of a payload and in a header', async () => {
  const guid = (byte: number, payload = '') =>
    Buffer.concat([Buffer.from([1]), Buffer.alloc(16, byte), Buffer.from(payload)])
  const hex = (byte: number) => Buffer.alloc(16, byte).toString('hex')
  const other = createIdMap([{ context: '.', source: 5, target: 500 }], [{ source: hex(5), target: hex(0xab) }])
  const headers: [string, Buffer | null][] = [['__value_schema_id', guid(5)]]
  const given = [
    { key: guid(5, 'k'), value: framed(5) },
    { key: guid(6, 'k'), value: guid(5, 'v'), headers },
  ]
  const { records, counts } = await rewrite(given, { idMap: other })
  assert.deepEqual(shown(records), [
    [guid(0xab, 'k'), framed(500)],
    [guid(6, 'k'), guid(5, 'v')],
  ])
  assert.deepEqual(records[1]?.headers, [['__value_schema_id', guid(0xab)]])
  assert.deepEqual([counts.key.rewritten, counts.key.guid, counts.value.rewritten], [1, 1, 2])
})

describe('the ids in the headers of a record', () => {
  const header = (name: string, value: Buffer | null): [string, Buffer | null] => [name, value]
  const guid = Buffer.concat([Buffer.from([1]), Buffer.alloc(16, 5)])

  test('are rewritten there, and the payload is not looked at', async () => {
    const headers = [header('__value_schema_id', framed(5, '')), header('__key_schema_id', framed(6, ''))]
    const { records } = await rewrite([{ key: framed(44), value: framed(5), headers }])
    assert.deepEqual(records[0]?.headers, [
      ['__value_schema_id', framed(500, '')],
      ['__key_schema_id', framed(0x7fffffff, '')],
    ])
    assert.deepEqual(shown(records), [[framed(44), framed(5)]])
  })

  test('keep a payload that starts with 00 in a record with a GUID header', async () => {
    const record = { value: framed(5), headers: [header('__value_schema_id', guid)] }
    const { isChanged, counts } = await rewrite([record])
    assert.deepEqual([isChanged, counts.value.guid], [false, 1])
  })

  test('are unknown where the target has no such GUID: the restore fails, or lets them pass and counts them', async () => {
    const lost = Buffer.concat([Buffer.from([1]), Buffer.alloc(16, 9)])
    const foreign = Buffer.concat([Buffer.from([1]), Buffer.alloc(16, 8)])
    for (const one of [lost, foreign]) {
      const record = { value: Buffer.from('v'), headers: [header('__value_schema_id', one)] }
      const guidText = one === lost ? '09090909-0909-0909-0909-090909090909' : '08080808-0808-0808-0808-080808080808'
      await assert.rejects(rewrite([record]), {
        code: 'SCHEMA_ID_UNKNOWN',
        message: `Schema GUID ${guidText} not found in target registry. The value of orders/3 at offset 40 carries it.`,
      })
      const { isChanged, counts } = await rewrite([record], { unknownIds: 'pass' })
      assert.deepEqual([isChanged, counts.value.unknown, counts.value.guid], [false, 1, 0])
    }
    await assert.rejects(rewrite([{ key: Buffer.concat([lost, Buffer.from('k')]) }]), { code: 'SCHEMA_ID_UNKNOWN' })
  })

  test('count by the last of them, and a header of the one part says nothing of the other', async () => {
    const headers = [header('__value_schema_id', framed(5, '')), header('__value_schema_id', framed(6, ''))]
    const { records } = await rewrite([{ key: framed(5), value: framed(5), headers }])
    assert.deepEqual(records[0]?.headers, [
      ['__value_schema_id', framed(5, '')],
      ['__value_schema_id', framed(0x7fffffff, '')],
    ])
    assert.deepEqual(shown(records), [[framed(500), framed(5)]])
  })

  test('are no concern of the records that follow', async () => {
    const records = [
      { value: framed(5), headers: [header('__value_schema_id', guid)] },
      { value: framed(5) },
      { value: framed(5), headers: [header('__value_schema_iX', guid), header('x', null)] },
    ]
    const found = await rewrite(records)
    assert.deepEqual(
      found.records.map(({ value }) => value),
      [framed(5), framed(500), framed(500)],
    )
  })

  test('leave all as it is where the last one is null or holds something else', async () => {
    for (const value of [null, Buffer.alloc(0), Buffer.from('5')]) {
      const { isChanged } = await rewrite([{ value: framed(5), headers: [header('__value_schema_id', value)] }])
      assert.equal(isChanged, false)
    }
  })

  test('end the restore where the target does not have one', async () => {
    const record = { value: framed(5), headers: [header('__value_schema_id', framed(44, ''))] }
    await assert.rejects(rewrite([record]), { code: 'SCHEMA_ID_UNKNOWN', message: /^Schema ID 44 / })
  })
})
