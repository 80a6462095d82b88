import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasValidCrc } from '../../src/batch/crc.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { SourcePosition } from '../../src/restore/legs.ts'
import type { Outgoing } from '../../src/restore/outgoing-batch.ts'
import { nextSequence, Stream } from '../../src/restore/stream.ts'
import { identity, outgoings, sampleStream } from './samples.ts'

const sequenceOf = (bytes: Buffer | undefined) => bytes?.readInt32BE(53)
const isConflict = (error: unknown) => error instanceof KafkaBackupError && error.code === 'RESTORE_CONFLICT'

const nothing = {
  targetOffset: 0n,
  sourcePartition: 0,
  sourceOffset: 0n,
  sequence: 0,
  isFilled: false,
  isDone: false,
}

describe('a stream', () => {
  test('stamps each batch with the producer and the sequence behind the last one', async () => {
    const stream = sampleStream(25, 10)
    const sequences: unknown[] = []
    for (let batch = await stream.peek(); batch; batch = await stream.peek()) {
      assert.equal(await stream.peek(), batch, 'the same until it is stored')
      assert.ok(hasValidCrc(batch.bytes, 0, batch.bytes.length))
      assert.equal(batch.bytes.readBigInt64BE(43), identity.producerId)
      sequences.push(sequenceOf(batch.bytes))
      stream.stored(batch, stream.progress.targetOffset)
    }
    assert.deepEqual(sequences, [0, 10, 20])
    assert.deepEqual([stream.progress.targetOffset, stream.progress.sourceOffset], [25n, 25n])
  })

  test('skips what is there, also inside a batch and over several, and makes the rest anew', async () => {
    const stream = sampleStream(30, 10)
    await stream.peek()
    await stream.skip(14, 14n)
    const batch = await stream.peek()
    assert.equal(sequenceOf(batch?.bytes), 14)
    assert.deepEqual(batch?.runs, [{ sourceOffset: 14n, count: 10 }])
    assert.ok(batch && hasValidCrc(batch.bytes, 0, batch.bytes.length))
  })

  test('finds its place inside a batch with holes', async () => {
    const [first] = outgoings(5)
    assert.ok(first)
    const runs = [
      { sourceOffset: 3n, count: 2 },
      { sourceOffset: 10n, count: 3 },
    ]
    const opened: bigint[] = []
    const open = async function* ({ sourceOffset }: SourcePosition) {
      opened.push(sourceOffset)
      yield [{ ...first, runs }]
    }
    const place = { topic: 't', partition: 0 }
    const progress = { ...place, ...nothing }
    const stream = new Stream(
      { ...place, topicId: '', identity, open, countFrom: async () => 0, isShared: false },
      progress,
    )
    await stream.skip(3, 3n)
    await stream.peek()
    assert.deepEqual(opened, [0n, 11n])
  })

  test('has skipped all or nothing when its archive cannot be read in between', async () => {
    let failures = 1
    const open = async function* ({ sourceOffset }: SourcePosition) {
      for (let at = Number(sourceOffset); at < 30; at += 15) {
        if (at > 0 && failures-- > 0) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'not now')
        yield [{ ...(outgoings(15)[0] as Outgoing), runs: [{ sourceOffset: BigInt(at), count: 15 }] }]
      }
    }
    const place = { topic: 't', partition: 0 }
    const source = { sourcePartition: 0, sourceOffset: 0n }
    const progress = { ...place, ...source, targetOffset: 0n, sequence: 0, isFilled: false, isDone: false }
    const stream = new Stream(
      { ...place, topicId: '', identity, open, countFrom: async () => 0, isShared: true },
      progress,
    )
    // 20 records of this stream, and 10 of others between them.
    await assert.rejects(stream.skip(20, 30n), /not now/)
    assert.deepEqual(stream.progress, progress, 'where the first 15 end nobody knows')
    await stream.skip(20, 30n)
    assert.deepEqual(stream.progress, { ...progress, targetOffset: 30n, sourceOffset: 20n, sequence: 20 })
    assert.equal(sequenceOf((await stream.peek())?.bytes), 20)
  })

  test('cannot have more on the target than the backup holds', async () => {
    await assert.rejects(sampleStream(10, 10).skip(11, 11n), isConflict)
  })

  test('notices a batch that went elsewhere, unless others may write, too', async () => {
    const alone = sampleStream(10, 10)
    const batch = await alone.peek()
    assert.ok(batch)
    assert.throws(() => alone.stored(batch, 3n), isConflict)
    const shared = sampleStream(10, 10, {}, true)
    const other = await shared.peek()
    assert.ok(other)
    shared.stored(other, 3n)
    assert.equal(shared.progress.targetOffset, 13n)
    assert.throws(() => shared.stored(other, 2n), isConflict)
  })

  test('reads on after its archive could not be read for a while', async () => {
    let failures = 1
    const open = async function* (_: SourcePosition) {
      if (failures-- > 0) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'not now')
      yield outgoings(4)
    }
    const place = { topic: 't', partition: 0 }
    const progress = { ...place, ...nothing }
    const stream = new Stream(
      { ...place, topicId: '', identity, open, countFrom: async () => 0, isShared: false },
      progress,
    )
    await assert.rejects(async () => stream.peek(), /not now/)
    assert.equal((await stream.peek())?.recordCount, 4, 'it is not taken for its end')
  })

  test('counts sequences around at 2^31', () => {
    assert.equal(nextSequence(2_147_483_647, 1), 0)
    assert.equal(nextSequence(2_147_483_640, 10), 2)
    assert.equal(nextSequence(0, 2_147_483_647), 2_147_483_647)
  })
})
