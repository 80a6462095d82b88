import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RebuiltBatch } from '../../src/batch/batch-builder.ts'
import { Rebuilder } from '../../src/batch/rebuild.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { parsePathCondition } from '../../src/inspect/json-path.ts'
import { type FilterConditions, restoreFilter } from '../../src/inspect/restore-filter.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { manifest } from '../cli/fake-actions.ts'
import { temporaryFolder } from '../export/shown-records.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openLocation } from '../open-location.ts'

const never = new AbortController().signal
const place = { topic: 'orders', label: 'orders', partition: 0 }
const everything: FilterConditions = {
  keys: [],
  keyPrefixes: [],
  headers: [],
  texts: [],
  paths: [],
  notDecoded: 'fail',
}

interface Sample {
  key?: string | null
  value?: string | null
  headers?: [string, string | null][]
}

/** Offsets of the records that a filter leaves of a batch. */
async function selected(conditions: Partial<FilterConditions>, samples: Sample[], times = 1) {
  using folder = temporaryFolder()
  const filter = restoreFilter({ ...everything, ...conditions })
  const opened = await filter.open(openLocation(folder.path), { ...manifest, topics: [] }, undefined, never)
  const bytes = (text: string | null = null) => (text === null ? null : Buffer.from(text))
  const records = samples.map(({ key, value, headers = [] }) => ({
    ...{ key: bytes(key), value: bytes(value) },
    headers: headers.map(([name, one]): [string, Buffer | null] => [name, bytes(one)]),
  }))
  const batch = encodeBatch({ baseOffset: 0n, records })
  const [header] = walkBatches(batch, 0, batch.length)
  assert(header)
  let offsets: number[] = []
  for (let round = 0; round < times; round++) {
    const selects = (record: Parameters<typeof opened.selects>[0]) => opened.selects(record, place)
    const rebuilder = new Rebuilder({ maxBytes: 1 << 20, targetBytes: 1 << 20, codec: 'none', selects }, 1 << 20)
    const rebuilt: RebuiltBatch[] = [...rebuilder.add({ bytes: batch, header }), ...rebuilder.flush()]
    offsets = rebuilt.flatMap(({ runs }) =>
      runs.flatMap(run => Array.from({ length: run.count }, (_, at) => Number(run.sourceOffset) + at)),
    )
    for (const one of rebuilt) {
      const [own] = walkBatches(one.bytes, 0, one.bytes.length)
      assert.equal(own && decodeRecords(one.bytes, own).length, one.recordCount)
    }
  }
  return { offsets, counts: opened.counts, request: filter.request }
}

const where = (...texts: string[]) => ({ paths: texts.map(text => parsePathCondition(text)) })

describe('a filter of a restore', () => {
  test('takes any of the keys and prefixes, and no record without a key', async () => {
    const samples = ['a', 'b', 'ba', null, '', 'c'].map(key => ({ key }))
    assert.deepEqual((await selected({ keys: ['a', 'c'] }, samples)).offsets, [0, 5])
    assert.deepEqual((await selected({ keys: ['a'], keyPrefixes: ['b'] }, samples)).offsets, [0, 1, 2])
    assert.deepEqual((await selected({ keys: [''] }, samples)).offsets, [4])
  })

  test('wants all headers, of which a name may occur twice', async () => {
    const samples: Sample[] = [
      {
        headers: [
          ['h', '1'],
          ['h', '2'],
        ],
      },
      { headers: [['h', null]] },
      { headers: [['i', '2']] },
    ]
    assert.deepEqual((await selected({ headers: [{ name: 'h', value: '2' }] }, samples)).offsets, [0])
    assert.deepEqual((await selected({ headers: [{ name: 'h' }] }, samples)).offsets, [0, 1])
    for (const value of ['4A4b', '4a4B', 'JK'])
      assert.deepEqual((await selected({ headers: [{ name: 'h', value }] }, [{ headers: [['h', 'JK']] }])).offsets, [0])
  })

  test('wants all conditions on fields, which a tombstone does not have', async () => {
    const samples = ['{"a":1,"b":2}', '{"a":1}', null, '{"a":12345678901234567891}'].map(value => ({ value }))
    assert.deepEqual((await selected(where('a=1', 'b>1'), samples)).offsets, [0])
    assert.deepEqual((await selected(where('a=12345678901234567891'), samples)).offsets, [3])
    assert.deepEqual((await selected(where('b'), samples)).offsets, [0])
  })

  test('wants all texts, in the bytes of a value, which a tombstone does not have', async () => {
    const samples = ['one two', 'two', null, '{"a":"one","b":"two"}', 'ONE two'].map(value => ({ value }))
    assert.deepEqual((await selected({ texts: ['one', 'two'] }, samples)).offsets, [0, 3])
    assert.deepEqual((await selected({ texts: ['two'], ...where('a=one'), notDecoded: 'skip' }, samples)).offsets, [3])
  })

  test('stops at a value that has not all texts and whose schema the backup does not have', async () => {
    const samples = ['\0\0\0\0\u0009one of them', 'other'].map(value => ({ value }))
    assert.deepEqual((await selected({ texts: ['one'] }, samples)).offsets, [0])
    await assert.rejects(selected({ texts: ['two'] }, samples), {
      message: /offset 0 is meant: its value cannot be decoded: .*schema ID 9/,
    })
    assert.deepEqual((await selected({ texts: ['two'], notDecoded: 'skip' }, samples)).counts.notDecoded, 1)
  })

  test('stops at a value that is too long as text to be searched completely', async t => {
    const schema = { id: 9, subject: 's', version: 1, type: 'AVRO' as const }
    const encoded = { payload: Buffer.alloc(0), writer: { text: '', references: [] } }
    const value = Array(520).fill({ ['n'.repeat(1 << 20)]: null })
    t.mock.method(SchemaDecoder.prototype, 'decode', () => ({ kind: 'decoded', schema, value, encoded }))
    await assert.rejects(selected({ texts: ['other'] }, [{ value: 'v' }]), {
      message: /offset 0 is meant: its decoded value is too long to be searched/,
    })
    assert.deepEqual((await selected({ texts: ['n":null},{"n'] }, [{ value: 'v' }])).offsets, [0])
  })

  test('stops at a value that it cannot decode, unless the record is out in any case', async () => {
    const samples = [
      { key: 'a', value: '{"a":1}' },
      { key: 'b', value: 'text' },
    ]
    await assert.rejects(selected(where('a=1'), samples), {
      code: 'RESTORE_REFUSED',
      message:
        /^orders\/0: restore\.filter cannot tell whether the record at offset 1 is meant: its value cannot be decoded/,
      help: /not_decoded: skip and run the same command to continue.*take and delete the topics first/,
    })
    assert.deepEqual((await selected({ ...where('a=1'), keys: ['a'] }, samples)).offsets, [0])
    const skipped = await selected({ ...where('a=1'), notDecoded: 'skip' }, samples)
    assert.deepEqual([skipped.offsets, skipped.counts], [[0], { examined: 2, selected: 1, notDecoded: 1 }])
    const taken = await selected({ ...where('a=1'), notDecoded: 'take' }, samples)
    assert.deepEqual([taken.offsets, taken.counts], [[0, 1], { examined: 2, selected: 2, notDecoded: 1 }])
  })

  test('stops at a value of digits behind a schema that the backup does not have, unlike an object there', async () => {
    // An Avro int and a JSON number may be the same bytes.
    for (const value of ['\0\0\0\0\u00091', '\0\0\0\0\u000921', '\0\0\0\0\u0009"ab"', '\0\0\0\0\u0009true']) {
      await assert.rejects(selected(where('id=5'), [{ value }]), { message: /offset 0 is meant: .*schema ID 9/ })
    }
    const named: Sample = { value: '1', headers: [['__value_schema_id', '\0\0\0\0\u0009']] }
    await assert.rejects(selected(where('id=5'), [named]), { message: /offset 0 is meant: .*schema ID 9/ })
    const samples = ['\0\0\0\0\u0009{"id":5}', '\0\0\0\0\u0009[5]', '\0\0\0\0\u0009{"id":6}', '1', '"a"']
    const { offsets, counts } = await selected(
      where('id=5'),
      samples.map(value => ({ value })),
    )
    assert.deepEqual([offsets, counts.notDecoded], [[0], 0])
  })

  test('stops at a key whose schema the backup does not have', async () => {
    const samples = [{ key: '\0\0\0\0\u0009framed', value: null }]
    await assert.rejects(selected({ keys: ['framed'] }, samples), {
      message: /its key cannot be decoded: .*schema ID 9/,
    })
  })

  test('counts a record once, however often it is read', async () => {
    const { counts } = await selected({ keys: ['a'] }, [{ key: 'a' }, { key: 'b' }], 3)
    assert.deepEqual(counts, { examined: 2, selected: 1, notDecoded: 0 })
  })

  test('counts every record once where readers begin at different offsets, as in a restore that continues', async () => {
    using folder = temporaryFolder()
    const filter = restoreFilter({ ...everything, keys: ['a'] })
    const opened = await filter.open(openLocation(folder.path), { ...manifest, topics: [] }, undefined, never)
    const offsets = [0, 1, 4, 5, 6, 9, 10, 12]
    const records = offsets.map(offsetDelta => ({ key: Buffer.from(offsetDelta % 2 === 0 ? 'a' : 'b'), offsetDelta }))
    const bytes = encodeBatch({ baseOffset: 0n, records })
    const [header] = walkBatches(bytes, 0, bytes.length)
    assert(header)
    const read = (start: bigint, end: bigint) => {
      const reader = { ...place }
      const selects = (record: Parameters<typeof opened.selects>[0]) => opened.selects(record, reader)
      const rebuilder = new Rebuilder({ maxBytes: 1 << 20, targetBytes: 1 << 20, codec: 'none', selects }, 1 << 20)
      rebuilder.add({ bytes, header }, { start, end })
      return opened.counts.examined
    }
    const ranges = [
      [9n, 11n],
      [4n, 6n],
      [0n, 5n],
      [0n, 20n],
      [5n, 20n],
    ] as const
    assert.deepEqual(
      ranges.map(([start, end]) => read(start, end)),
      [2, 4, 6, 8, 8],
    )
    assert.deepEqual(opened.counts, { examined: 8, selected: 5, notDecoded: 0 })
  })

  test('is the same request in any order of keys, and another one for another condition', async () => {
    const requestOf = async (conditions: Partial<FilterConditions>) =>
      JSON.stringify((await selected(conditions, [])).request)
    assert.equal(await requestOf({ keys: ['a', 'b'] }), await requestOf({ keys: ['b', 'a'] }))
    assert.notEqual(await requestOf({ keys: ['a'] }), await requestOf({ keyPrefixes: ['a'] }))
    assert.equal(await requestOf({ keys: ['a'], notDecoded: 'skip' }), await requestOf({ keys: ['a'] }))
    assert.notEqual(await requestOf({ keys: ['a'], notDecoded: 'take' }), await requestOf({ keys: ['a'] }))
    assert.notEqual(await requestOf({ keys: ['a'], texts: ['b'] }), await requestOf({ keys: ['a'] }))
  })

  test('is another request with the schemas of another context, if it needs schemas', () => {
    const requestOf = (conditions: Partial<FilterConditions>, contexts: [string, string][] = []) =>
      JSON.stringify(restoreFilter({ ...everything, ...conditions }, { contexts }).request)
    for (const conditions of [{ keys: ['a'] }, { texts: ['a'] }, where('a=1')]) {
      assert.notEqual(requestOf(conditions, [['orders', '.eu']]), requestOf(conditions))
      assert.notEqual(requestOf(conditions, [['orders', '.eu']]), requestOf(conditions, [['orders', '.us']]))
    }
    const headers = { headers: [{ name: 'h' }] }
    assert.equal(requestOf(headers, [['orders', '.eu']]), requestOf(headers))
  })
})
