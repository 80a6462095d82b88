import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { cutBefore } from '../../src/batch/cut-batch.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch } from '../fakes/batches.ts'

for (const codec of ['none', 'zstd', 'snappy'] as const) {
  test(`a batch with ${codec} loses the records before an offset, and the others keep all that they have`, () => {
    const records = [0, 1, 2, 3].map(at => ({
      key: Buffer.from(`k${at}`),
      value: at === 2 ? null : Buffer.from(`v${at}`),
      headers: [['h', null]] as [string, Buffer | null][],
      timestampDelta: BigInt(at * 5),
    }))
    const bytes = encodeBatch({ baseOffset: 40n, baseTimestamp: 1000n, records, codec })
    const [header] = walkBatches(bytes, 0, bytes.length)
    assert(header)
    const cut = cutBefore({ bytes, header }, 42n)
    assert.equal(cut.records, 2)
    const [own] = walkBatches(cut.bytes, 0, cut.bytes.length)
    assert(own && hasValidCrc(cut.bytes, 0, cut.bytes.length))
    assert.deepEqual(decodeRecords(cut.bytes, own), decodeRecords(bytes, header).slice(2))
    assert.deepEqual([own.baseOffset, own.lastOffset], [40n, 43n])
  })
}
