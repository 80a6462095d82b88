import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { copyLane, type Leaver } from '../../src/backup/copy-lane.ts'
import type { PartitionCopy } from '../../src/backup/partition-copy.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Fetched, FetchTarget } from '../../src/kafka/fetcher.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { makeCopy } from '../fakes/partition-copies.ts'

interface Part {
  batches?: Buffer[]
  cutBytes?: number
  errorCode?: number
  lastStable?: bigint
  divergesAt?: bigint
  preferredReplica?: number
  /** Not in the answer at all. */
  missing?: boolean
}

type Answer = (targets: readonly FetchTarget[], nth: number) => Part[] | Promise<Part[]>

/** Answers fetches by script, one part for each target, and knows which answers were not given back. */
class ScriptedFetcher {
  readonly asked: FetchTarget[][] = []
  held = 0
  readonly #answer: Answer

  constructor(answer: Answer) {
    this.#answer = answer
  }

  async fetch(targets: readonly FetchTarget[], signal: AbortSignal): Promise<Fetched> {
    signal.throwIfAborted()
    this.asked.push([...targets])
    const parts = await this.#answer(targets, this.asked.length - 1)
    const pieces: Buffer[] = []
    let position = 0
    const partitions = parts.flatMap((part, i) => {
      const { topicId = '', partition = 0 } = targets[i] ?? {}
      if (part.missing) return []
      const all = Buffer.concat(part.batches ?? [])
      const bytes = all.subarray(0, all.length - (part.cutBytes ?? 0))
      const start = position
      position += bytes.length
      pieces.push(bytes)
      const { errorCode = 0, lastStable = 1000n, divergesAt } = part
      const offsets = { highWatermark: lastStable, lastStableOffset: lastStable, logStartOffset: 0n }
      const rest = { abortedTransactions: [], preferredReplica: part.preferredReplica ?? -1, divergesAt }
      return [{ topicId, partition, errorCode, ...offsets, ...rest, start, end: position }]
    })
    this.held++
    let released = false
    return {
      bytes: Buffer.concat(pieces),
      isByName: false,
      partitions,
      release: () => {
        assert.equal(released, false, 'an answer is given back once')
        released = true
        this.held--
      },
    }
  }
}

interface Lane {
  copies: PartitionCopy[]
  fetcher: ScriptedFetcher
  clock: JumpingClock
  events: ProgressEvent[]
  run(signal?: AbortSignal): Promise<Leaver[]>
}

function makeLane(copies: PartitionCopy[], answer: Answer, maxActive = 128): Lane {
  const fetcher = new ScriptedFetcher(answer)
  const clock = new JumpingClock()
  const events: ProgressEvent[] = []
  const parts = { fetcher, maxActive, clock, onProgress: (event: ProgressEvent) => events.push(event) }
  return {
    copies,
    fetcher,
    clock,
    events,
    run: async (signal = new AbortController().signal) => {
      const leavers: Leaver[] = []
      await copyLane(copies, { ...parts, onLeave: left => leavers.push(...left) }, signal)
      // As a session does when all lanes have ended.
      for (const copy of copies) await copy.settled()
      return leavers
    },
  }
}

const copiesOf = (count: number, end: bigint, storage: MemoryStorage = openMemoryStorage()) =>
  Array.from({ length: count }, (_, partition) => makeCopy({ storage, partition, end }))

/** Ten offsets from where each target stands. */
const next = ({ offset }: FetchTarget): Part => ({ batches: [encodeRun(offset, 10)] })

describe('a lane', () => {
  test('copies all its partitions to their ends and gives every answer back', async () => {
    const lane = makeLane(copiesOf(3, 30n), targets => targets.map(next))
    assert.deepEqual(await lane.run(), [])
    assert.deepEqual(
      lane.copies.map(copy => [copy.isDone, copy.durable.end_offset, copy.durable.records]),
      Array(3).fill([true, 30n, 30]),
    )
    assert.equal(lane.fetcher.held, 0)
    assert.equal(lane.fetcher.asked.length, 3, 'one answer brings something for each')
    const copied = lane.events.filter(event => event.type === 'copied')
    assert.equal(
      copied.reduce((sum, { offsets }) => sum + offsets, 0n),
      90n,
    )
  })

  test('has nothing to ask for where all is done', async () => {
    const lane = makeLane(copiesOf(2, 0n), () => [])
    assert.deepEqual(await lane.run(), [])
    assert.deepEqual(lane.fetcher.asked, [])
  })

  test('asks for the next answer while it stores the last', async () => {
    const order: string[] = []
    const memory = openMemoryStorage()
    const storage = {
      ...memory,
      openWriter: async (key: string, signal: AbortSignal) => {
        order.push('store')
        return memory.openWriter(key, signal)
      },
    }
    const lane = makeLane([makeCopy({ storage, end: 20n })], targets => {
      order.push(`fetch ${targets[0]?.offset}`)
      return targets.map(next)
    })
    await lane.run()
    assert.deepEqual(order, ['fetch 0', 'fetch 10', 'store'])
  })

  test('puts partitions that got nothing for want of room in front, in their order', async () => {
    const lane = makeLane(copiesOf(4, 20n), targets => targets.map((target, i) => (i === 0 ? next(target) : {})))
    assert.deepEqual(await lane.run(), [])
    const fronts = lane.fetcher.asked.map(targets => `${targets[0]?.partition}@${targets[0]?.offset}`)
    assert.deepEqual(fronts, ['0@0', '1@0', '2@0', '3@0', '0@10', '1@10', '2@10', '3@10'])
  })

  test('holds no more partitions open than it may, and takes the next when one is done', async () => {
    const storage = openMemoryStorage()
    let most = 0
    const lane = makeLane(
      copiesOf(7, 20n, storage),
      targets => {
        most = Math.max(most, targets.length)
        return targets.map(next)
      },
      3,
    )
    await lane.run()
    assert.equal(most, 3)
    assert.ok(lane.copies.every(copy => copy.durable.end_offset === 20n))
  })

  test('waits for no more than so many finished partitions to become durable', async () => {
    const memory = openMemoryStorage()
    let most = 0
    const slow = {
      ...memory,
      openWriter: async (key: string, signal: AbortSignal) => {
        const writer = await memory.openWriter(key, signal)
        most = Math.max(most, memory.openWriters.size)
        const commit = async () => {
          for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
          await writer.commit(signal)
        }
        return { ...writer, commit }
      },
    }
    const lane = makeLane(copiesOf(100, 10n, slow as MemoryStorage), targets => targets.map(next), 4)
    await lane.run()
    assert.ok(most <= 12, `${most} writers were open at a time with 4 active partitions`)
    assert.ok(lane.copies.every(copy => copy.durable.end_offset === 10n))
  })

  test('takes a batch across the end whole, and starts the next run behind it', async () => {
    const lane = makeLane(copiesOf(1, 15n), targets => targets.map(next))
    await lane.run()
    assert.equal(lane.copies[0]?.durable.end_offset, 20n)
  })

  test('asks again for the rest of a batch that was cut off', async () => {
    const [copy] = copiesOf(1, 30n)
    assert.ok(copy)
    const lane = makeLane([copy], ([target], nth) => [
      nth === 0 ? { batches: [encodeRun(0n, 10), encodeRun(10n, 10)], cutBytes: 5 } : next(target ?? assert.fail()),
    ])
    await lane.run()
    assert.deepEqual(
      lane.fetcher.asked.map(([target]) => target?.offset),
      [0n, 10n, 20n],
    )
    assert.equal(copy.durable.records, 30)
  })

  test('knows by a batch beyond the end that there is nothing left before it', async () => {
    const lane = makeLane(copiesOf(1, 30n), (_, nth) => [
      { batches: [nth === 0 ? encodeRun(0n, 10) : encodeRun(45n, 10)] },
    ])
    assert.deepEqual(await lane.run(), [])
    assert.deepEqual([lane.copies[0]?.isDone, lane.copies[0]?.durable.records, lane.clock.slept], [true, 10, []])
  })

  test('does not take the offset of a fragment for that of a batch while its format is not known', async () => {
    // A compressed message of an old format has the offset of its last record: this one may hold 20 to 35.
    const wrapper = encodeRun(35n, 1)
    const lane = makeLane(copiesOf(1, 30n), ([target], nth) => {
      if (target?.offset !== 20n || nth > 4) return [next(target ?? assert.fail())]
      return [{ batches: [wrapper], cutBytes: wrapper.length - 16 }]
    })
    assert.deepEqual(await lane.run(), [])
    assert.deepEqual([lane.copies[0]?.durable.end_offset, lane.copies[0]?.durable.records], [30n, 30])
  })

  test('asks for each partition with the epoch of its last batch', async () => {
    const [copy] = copiesOf(1, 20n)
    assert.ok(copy)
    copy.lastEpoch = 4
    const lane = makeLane([copy], ([target]) => [
      { batches: [encodeRun(target?.offset ?? 0n, 10, { leaderEpoch: 6 })] },
    ])
    await lane.run()
    assert.deepEqual(
      lane.fetcher.asked.map(([target]) => target?.lastFetchedEpoch),
      [4, 6],
    )
  })
})

function errorOf(leaver: Leaver | undefined): KafkaBackupError {
  assert.ok(leaver && 'error' in leaver)
  return leaver.error
}

describe('a partition leaves its lane', () => {
  test('for a nearer replica when the leader points to one', async () => {
    const lane = makeLane(copiesOf(2, 30n), targets =>
      targets.map(target => (target.partition === 1 ? { preferredReplica: 7 } : next(target))),
    )
    const leavers = await lane.run()
    assert.deepEqual(
      leavers.map(leaver => [leaver.copy.name, 'nearest' in leaver && leaver.nearest]),
      [['orders/1', 7]],
    )
    assert.equal(lane.copies[0]?.isDone, true)
  })

  test('with what the broker said, while the others go on', async () => {
    const lane = makeLane(copiesOf(3, 30n), targets =>
      targets.map(target => (target.partition === 1 && target.offset > 0n ? { errorCode: 6 } : next(target))),
    )
    const leavers = await lane.run()
    assert.deepEqual(
      leavers.map(leaver => [leaver.copy.name, errorOf(leaver).code, leaver.copy.position]),
      [['orders/1', 'KAFKA_NOT_READY', 10n]],
    )
    assert.match(errorOf(leavers[0]).message, /reading orders\/1: .*NOT_LEADER_OR_FOLLOWER/)
    assert.deepEqual(
      lane.copies.map(copy => copy.isDone),
      [true, false, true],
    )
    assert.equal(lane.fetcher.held, 0)
  })

  for (const divergesAt of [5n, 9n, 10n, 500n]) {
    test(`as truncated when the broker has another history of it, told at offset ${divergesAt}`, async () => {
      const lane = makeLane(copiesOf(1, 30n), (targets, nth) =>
        targets.map(target => (nth === 0 ? next(target) : { divergesAt })),
      )
      const leavers = await lane.run()
      assert.deepEqual(
        leavers.map(leaver => errorOf(leaver).code),
        ['SOURCE_TRUNCATED'],
      )
    })
  }

  test('as unreadable when nothing comes again and again although it should be there', async () => {
    const lane = makeLane(copiesOf(1, 30n), (targets, nth) => targets.map(target => (nth === 0 ? next(target) : {})))
    const leavers = await lane.run()
    assert.deepEqual(
      leavers.map(leaver => [errorOf(leaver).code, leaver.copy.position]),
      [['SOURCE_UNREADABLE', 10n]],
    )
    assert.match(errorOf(leavers[0]).message, /offsets 10 to 30/)
    assert.equal(lane.fetcher.asked.length, 21)
    assert.ok(lane.clock.slept.length >= 19 && lane.clock.slept.every(ms => ms > 0), 'it did not ask without a pause')
  })

  test('as not ready, not as unreadable, when the broker does not claim to have its offsets', async () => {
    const lane = makeLane(copiesOf(1, 30n), targets => targets.map(() => ({ lastStable: 12n })))
    assert.deepEqual(
      (await lane.run()).map(leaver => errorOf(leaver).code),
      ['KAFKA_NOT_READY'],
    )
  })

  test('as not ready when answers leave it out', async () => {
    const lane = makeLane(copiesOf(1, 30n), targets => targets.map(() => ({ missing: true })))
    assert.deepEqual(
      (await lane.run()).map(leaver => errorOf(leaver).code),
      ['KAFKA_NOT_READY'],
    )
  })

  test('as not ready when it never gets a whole batch', async () => {
    const part = { batches: [encodeRun(0n, 10)], cutBytes: 3 }
    const lane = makeLane(copiesOf(1, 30n), targets => targets.map(() => part))
    assert.deepEqual(
      (await lane.run()).map(leaver => errorOf(leaver).code),
      ['KAFKA_NOT_READY'],
    )
  })

  test('not for want of room, however long others take it', async () => {
    // Partition 0 is slow to answer, partition 1 has much, and partition 2 gets what is left: for long, nothing.
    const copies = [...copiesOf(2, 400n), makeCopy({ storage: openMemoryStorage(), partition: 2, end: 10n })]
    const lane = makeLane(copies, (targets, nth) => {
      const busy = targets.some(({ partition, offset }) => partition === 1 && offset < 400n)
      return targets.map(target => (target.partition === 1 || !busy || nth > 60 ? next(target) : {}))
    })
    assert.deepEqual(await lane.run(), [])
    assert.deepEqual(
      lane.copies.map(copy => copy.durable.records),
      [400, 400, 10],
    )
  })

  test('not because others filled the answers with what lies beyond their ends', async () => {
    const copies = copiesOf(30, 10n)
    const lane = makeLane(copies, targets =>
      targets.map((target, i) => {
        if (i > 0) return {}
        return target.partition === 29 ? next(target) : { batches: [encodeRun(50n, 10)] }
      }),
    )
    assert.deepEqual(await lane.run(), [])
    assert.equal(copies[29]?.durable.records, 10)
  })
})

describe('a lane fails, and gives every answer back', () => {
  test('when the connection breaks, with its error', async () => {
    for (const failing of [0, 1, 2]) {
      const lane = makeLane(copiesOf(2, 50n), (targets, nth) => {
        if (nth === failing) throw new KafkaBackupError('KAFKA_DISCONNECTED', 'broken')
        return targets.map(next)
      })
      await assert.rejects(lane.run(), { code: 'KAFKA_DISCONNECTED' })
      assert.equal(lane.fetcher.held, 0)
      assert.deepEqual(
        lane.copies.map(copy => copy.position),
        Array(2).fill(BigInt(failing) * 10n),
        'what had come is stored',
      )
    }
  })

  test('when a checksum is wrong; what was good in the answer is stored', async () => {
    const bad = encodeRun(10n, 10)
    bad[66] = 99
    const lane = makeLane(copiesOf(2, 50n), targets =>
      targets.map(target => (target.partition === 1 && target.offset === 10n ? { batches: [bad] } : next(target))),
    )
    await assert.rejects(lane.run(), { code: 'SOURCE_CORRUPT', message: /orders\/1/ })
    assert.equal(lane.fetcher.held, 0)
    assert.deepEqual(
      lane.copies.map(copy => copy.position),
      [20n, 10n],
    )
  })

  test('when a batch has an old format', async () => {
    const lane = makeLane(copiesOf(1, 50n), () => [{ batches: [encodeBatch({ magic: 1, baseOffset: 4n })] }])
    await assert.rejects(lane.run(), { code: 'BATCH_OLD_FORMAT', message: /orders\/0: .*offset 4/ })
    assert.equal(lane.fetcher.held, 0)
  })

  test('when the store fails', async () => {
    const storage = withFaults(openMemoryStorage(), [{ on: 'write', nth: 3, effect: { kind: 'throw-before' } }])
    const copies = [makeCopy({ storage, end: 90n }), makeCopy({ storage, end: 90n, partition: 1 })]
    const lane = makeLane(copies, targets => targets.map(next))
    await assert.rejects(lane.run(), { code: 'STORAGE_UNAVAILABLE' })
    assert.equal(lane.fetcher.held, 0)
    storage.verifyAllFaultsExercised()
  })

  test('when what it finished does not become durable', async () => {
    const storage = withFaults(openMemoryStorage(), [{ on: 'commit', effect: { kind: 'throw-before' } }])
    const lane = makeLane([makeCopy({ storage, end: 10n })], targets => targets.map(next))
    await assert.rejects(lane.run(), { code: 'STORAGE_UNAVAILABLE' })
  })

  test('when it is stopped while an answer is on its way, with the reason of the signal', async () => {
    const controller = new AbortController()
    const reason = new Error('stopped')
    const lane = makeLane(copiesOf(1, 50n), async (targets, nth) => {
      if (nth === 1) controller.abort(reason)
      await new Promise(resolve => setImmediate(resolve))
      return targets.map(next)
    })
    await assert.rejects(lane.run(controller.signal), error => error === reason)
    assert.equal(lane.fetcher.held, 0)
    assert.ok((lane.copies[0]?.position ?? 0n) >= 10n)
  })
})
