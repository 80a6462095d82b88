import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examinePieces, indexAborted } from '../../src/restore/pieces.ts'
import { never, storeSegment } from '../archive/sample-archive.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

test('batches whose records all lie behind the end of a window are left out, and those with an earlier one are not', async () => {
  const storage = openMemoryStorage()
  const batch = (baseOffset: bigint, times: bigint[]) => {
    const [baseTimestamp = 0n] = times
    const records = times.map(time => ({ value: Buffer.from('v'), timestampDelta: time - baseTimestamp }))
    const maxTimestamp = times.reduce((latest, time) => (time > latest ? time : latest))
    return encodeBatch({ baseOffset, baseTimestamp, maxTimestamp, records, codec: 'zstd' })
  }
  const batches = [
    batch(0n, [1n, 2n]),
    batch(2n, [3n, 9n]),
    batch(4n, [20n, 12n, 30n]),
    batch(7n, [20n, 4n]),
    batch(9n, [10n, 10n]),
  ]
  const segment = await storeSegment(storage, 'k/0', batches, false)
  const limits = { maxBytes: 1 << 20, fromOffset: 0n, timeWindow: { end: 10n } }
  const wanted = { start: 0n, end: 100n, aborted: indexAborted([]), limits }
  const left: bigint[] = []
  const cut: bigint[] = []
  for await (const piece of examinePieces(storage, segment, wanted, never)) {
    for (const { baseOffset, position } of piece.batches) {
      left.push(baseOffset)
      if (piece.reasons.get(position) === 'cut') cut.push(baseOffset)
    }
  }
  assert.deepEqual([left, cut], [[0n, 2n, 7n], [7n]])
})
