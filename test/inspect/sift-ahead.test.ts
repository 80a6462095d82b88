import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SiftAhead, type SiftedPiece } from '../../src/inspect/sift-ahead.ts'
import { packVerdict, type Verdict, VerdictList } from '../../src/inspect/verdicts.ts'
import { freeMemory } from '../../src/lib/recycled-memory.ts'
import { encodeBatch } from '../fakes/batches.ts'

const LARGE = 1 << 30

interface Numbered extends SiftedPiece {
  number: number
}

function piece(number: number, bytes = 100): Numbered {
  const batch = encodeBatch({ baseOffset: BigInt(number) })
  return { number, bytes: Buffer.concat([batch, Buffer.alloc(bytes)]), whole: [0] }
}

/** The same for each. */
function listOf(positions: readonly number[], verdict: Verdict): VerdictList {
  const packed: number[] = []
  for (const _ of positions) packVerdict(verdict, packed)
  return new VerdictList(packed, positions.length)
}

/** Answers when the test asks it to. */
function heldSifting(width: number) {
  const calls: { answer: (verdict: Verdict) => void }[] = []
  const sift = (_: Buffer, positions: readonly number[]) => {
    const { promise, resolve } = Promise.withResolvers<VerdictList>()
    calls.push({ answer: verdict => resolve(listOf(positions, verdict)) })
    return promise
  }
  return { calls, sifting: { width, busyBytes: LARGE, sift, close: () => undefined } }
}

const atOnce = {
  width: 2,
  busyBytes: LARGE,
  close: () => undefined,
  sift: async (_: Buffer, positions: readonly number[]) => listOf(positions, 'none'),
}

function countedSifting() {
  const counted = {
    calls: 0,
    sifting: {
      ...atOnce,
      width: 1,
      sift: (bytes: Buffer, positions: readonly number[]) => {
        counted.calls++
        return atOnce.sift(bytes, positions)
      },
    },
  }
  return counted
}

async function* source(count: number, log: string[], bytes?: number): AsyncGenerator<Numbered> {
  try {
    for (let i = 0; i < count; i++) {
      log.push(`read ${i}`)
      yield piece(i, bytes)
    }
  } finally {
    log.push('closed')
  }
}

describe('pieces that are sifted ahead', () => {
  test('come in their order, with their verdicts, while later ones are read', async () => {
    const { calls, sifting } = heldSifting(3)
    const log: string[] = []
    const pieces = new SiftAhead(sifting).over(source(5, log))
    const first = pieces.next()
    while (calls.length < 3) await new Promise(resolve => setImmediate(resolve))
    calls[1]?.answer('none')
    calls[0]?.answer('maybe')
    const { value } = await first
    assert.equal(value?.piece.number, 0)
    assert.deepEqual([value?.verdicts.next(), value?.verdicts.count], ['maybe', 1])
    assert.deepEqual(log, ['read 0', 'read 1', 'read 2'])
    const second = await pieces.next()
    assert.deepEqual([second.value?.piece.number, log.length], [1, 4])
    await pieces.return(undefined)
    assert.equal(log.at(-1), 'closed')
  })

  test('are few where they are large', async () => {
    const log: string[] = []
    const pieces = new SiftAhead({ ...atOnce, width: 9, busyBytes: 40 << 20 }).over(source(9, log, 25 << 20))
    await pieces.next()
    assert.deepEqual(log, ['read 0', 'read 1'])
    await pieces.return(undefined)
  })

  test('come to the last one where the memory of each is freed before the next is asked for', async () => {
    const seen: number[] = []
    const ahead = new SiftAhead({ ...atOnce, busyBytes: 200_000 })
    for await (const { piece } of ahead.over(source(9, [], 100_000))) {
      seen.push(piece.number)
      freeMemory(piece.bytes)
    }
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('come before the error that ends their source', async () => {
    const failing = async function* () {
      yield piece(0)
      yield piece(1)
      throw new Error('damaged')
    }
    const seen: number[] = []
    await assert.rejects(async () => {
      for await (const one of new SiftAhead({ ...atOnce, width: 8 }).over(failing())) seen.push(one.piece.number)
    }, /damaged/)
    assert.deepEqual(seen, [0, 1])
  })

  test('are not sifted for a while where most batches have to be opened anyway', async () => {
    const [counted, other] = [countedSifting(), countedSifting()]
    const ahead = new SiftAhead(counted.sifting)
    // Two pieces, fifteen that are not sifted, two more.
    for await (const { verdicts } of ahead.over(source(20, []))) ahead.note(20 * verdicts.count, 20 * verdicts.count)
    assert.equal(counted.calls, 4)
    const none = new SiftAhead(other.sifting)
    for await (const _ of none.over(source(20, []))) none.note(0, 20)
    assert.equal(other.calls, 20)
  })

  test('are sifted after a piece whose only batch had to be opened', async () => {
    const counted = countedSifting()
    const ahead = new SiftAhead(counted.sifting)
    for await (const { piece } of ahead.over(source(80, []))) ahead.note(piece.number % 8 === 0 ? 1 : 0, 1)
    assert.equal(counted.calls, 80)
  })
})
