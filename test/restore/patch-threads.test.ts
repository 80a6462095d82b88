import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SourceBatch } from '../../src/batch/compression.ts'
import { codecNames } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import type { TopicRewrite } from '../../src/restore/part-rewriter.ts'
import { type PatchedBatch, patchIds } from '../../src/restore/patch-ids.ts'
import { openPatching, type Patching } from '../../src/restore/patch-threads.ts'
import { IdRewriter } from '../../src/restore/rewrite-ids.ts'
import { sourcesOf } from '../batch/checked-records.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { framed } from '../registry/ids/sample-schemas.ts'

const guids = { source: '00000000-0000-0000-0000-00000000000a', target: '00000000-0000-0000-0000-00000000000b' }
const idMap = createIdMap(
  [
    { context: '.', source: 5, target: 500 },
    { context: '.eu', source: 5, target: 7 },
  ],
  [guids],
)
const values: TopicRewrite = {
  schemas: indexSchemas([]),
  topic: 't',
  judged: {},
  writes: true,
  reasons: new Map(),
  idMap,
  context: '.',
  parts: ['value'],
  unknownIds: 'fail',
}

/** Of a single batch. */
async function patchOne(patching: Patching, source: SourceBatch, ids: IdRewriter): Promise<PatchedBatch> {
  const { batches, failure } = await patching.patch([source], ids, 'keep')
  if (failure !== undefined) throw failure
  return batches[0] ?? assert.fail('it is not among the results')
}

function batchAt(baseOffset: bigint, codec: (typeof codecNames)[number], id = 5) {
  const guid = Buffer.from(`01${guids.source.replaceAll('-', '')}`, 'hex')
  const records = [{ value: framed(id, `at ${baseOffset}`) }, { value: guid }, { value: null }]
  // In front of it lies another one, as in a piece of an archive.
  const [, source] = sourcesOf([encodeBatch({ baseOffset: 0n }), encodeBatch({ baseOffset, codec, records })])
  assert.ok(source)
  return source
}

describe('patching on threads', () => {
  test('does what patching here does, for any codec, context and map', async () => {
    const patching = openPatching()
    const others = createIdMap([{ context: '.', source: 5, target: 9 }])
    for (const codec of codecNames) {
      for (const rewrite of [values, { ...values, context: '.eu' }, { ...values, idMap: others }]) {
        const here = patchIds(batchAt(40n, codec), new IdRewriter(rewrite, 't/0'), 'keep')
        const there = await patchOne(patching, batchAt(40n, codec), new IdRewriter(rewrite, 't/0'))
        assert.deepEqual(
          decodeRecords(there.batch.bytes, there.batch.header),
          decodeRecords(here.batch.bytes, here.batch.header),
        )
        assert.deepEqual([there.counts, there.isChanged], [here.counts, here.isChanged])
        assert.equal(there.counts.value.rewritten, rewrite.idMap === idMap ? 2 : 1)
      }
    }
    patching.close()
  })

  test('leaves the bytes that it was given as they are where nothing changes, and hands them back', async () => {
    const patching = openPatching()
    const same = createIdMap([{ context: '.', source: 5, target: 5 }])
    const source = batchAt(8n, 'zstd')
    const before = Buffer.from(source.bytes)
    const { batch, isChanged, counts } = await patchOne(
      patching,
      source,
      new IdRewriter({ ...values, idMap: same }, 't/0'),
    )
    assert.deepEqual([batch, isChanged, counts.value.same], [source, false, 1])
    assert.deepEqual(source.bytes, before)
    patching.close()
  })

  test('answers each of many at the same time with its own', async () => {
    const patching = openPatching()
    const ids = new IdRewriter(values, 't/0')
    const offsets = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))
    const all = await Promise.all(offsets.map(offset => patchOne(patching, batchAt(offset, 'zstd'), ids)))
    assert.deepEqual(
      all.map(({ batch: { bytes, header } }) => [header.baseOffset, decodeRecords(bytes, header)[0]?.value]),
      offsets.map(offset => [offset, framed(500, `at ${offset}`)]),
    )
    patching.close()
  })

  test('fails as patching here does, and only for that batch', async () => {
    const patching = openPatching()
    const ids = new IdRewriter(values, 'orders/3')
    const unknown = patchOne(patching, batchAt(30n, 'lz4', 44), ids)
    const fine = patchOne(patching, batchAt(33n, 'lz4'), ids)
    await assert.rejects(unknown, {
      name: 'KafkaBackupError',
      code: 'SCHEMA_ID_UNKNOWN',
      message:
        'Schema ID 44 not found in target registry: no schema of the backup has it. The value of orders/3 at offset 30 carries it.',
    })
    assert.equal((await fine).counts.value.rewritten, 2)
    const [broken] = sourcesOf([encodeBatch({ baseOffset: 8n, codec: 'zstd', body: Buffer.from('no zstd') })])
    assert.ok(broken)
    await assert.rejects(patchOne(patching, broken, ids), { code: 'BATCH_INVALID', message: /offset 8 \(zstd\)/ })
    patching.close()
  })

  test('returns the batches before one that fails, and no others', async () => {
    const patching = openPatching()
    for (const codec of ['none', 'lz4'] as const) {
      const sources = [batchAt(10n, codec), batchAt(20n, codec), batchAt(30n, codec, 44), batchAt(40n, codec)]
      const { batches, failure } = await patching.patch(sources, new IdRewriter(values, 'orders/3'), 'keep')
      assert.deepEqual(
        batches.map(({ batch: { bytes, header } }) => decodeRecords(bytes, header)[0]?.value),
        [framed(500, 'at 10'), framed(500, 'at 20')],
      )
      assert.match(String(failure), /The value of orders\/3 at offset 30 carries it/)
    }
    patching.close()
  })

  test('returns batches that have no room in the memory that is used again, and leaves them alone when it is', async () => {
    const patching = openPatching()
    const ids = new IdRewriter(values, 't/0')
    const large = (text: string) => {
      const records = Array.from({ length: 9 }, (_, i) => ({ value: framed(5, text.repeat(20_000) + i) }))
      return sourcesOf([encodeBatch({ baseOffset: 5n, codec: 'zstd', records })])[0] ?? assert.fail()
    }
    // A small batch becomes a large one, so that not all of them have room behind what was sent.
    const first = await patching.patch(
      Array.from({ length: 9 }, () => large('same ')),
      ids,
      'none' as const,
    )
    const texts = () => first.batches.map(({ batch: { bytes, header } }) => decodeRecords(bytes, header).at(-1)?.value)
    const before = texts()
    assert.deepEqual(before, Array(9).fill(framed(500, `${'same '.repeat(20_000)}8`)))
    const second = await patching.patch([large('other ')], ids, 'none')
    assert.deepEqual(texts(), before)
    second.release()
    first.release()
    patching.close()
  })

  test('serves the others when one has closed, and starts again after the last', async () => {
    const [one, other] = [openPatching(), openPatching()]
    const ids = new IdRewriter(values, 't/0')
    one.close()
    one.close()
    const underWay = patchOne(other, batchAt(1n, 'zstd'), ids)
    other.close()
    assert.equal((await underWay).isChanged, true)
    const third = openPatching()
    assert.equal((await patchOne(third, batchAt(1n, 'zstd'), ids)).isChanged, true)
    third.close()
  })
})
