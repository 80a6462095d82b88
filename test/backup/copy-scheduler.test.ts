import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CopyScheduler } from '../../src/backup/copy-scheduler.ts'
import type { PartitionCopy } from '../../src/backup/partition-copy.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { makeCopy, settle } from '../fakes/partition-copies.ts'

const never = new AbortController().signal
const runs = (count: number, valueBytes = 10) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt(i) * 10n, 10, { valueBytes }))

/** One batch fills an answer. */
const large = (count: number) => runs(count, 90_000)

interface Stage {
  fake: FakeCluster
  copies: PartitionCopy[]
  events: ProgressEvent[]
  run(signal?: AbortSignal): Promise<void>
}

/** A cluster with the topic `orders`, a copy of each of its partitions, and a scheduler to run them. */
async function withStage(
  topic: FakeTopic,
  { brokers = 1, maxActive = 128, storage = openMemoryStorage() as Storage, rack = '' },
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster([topic], brokers)
  const events: ProgressEvent[] = []
  try {
    const cluster = await fake.open()
    const lanes = {
      lanesPerBroker: 1,
      buffers: 4,
      remoteBuffers: 1,
      bufferBytes: 1 << 20,
      maxActive,
      fetchBytes: 1 << 20,
    }
    const scheduler = new CopyScheduler({ cluster, lanes, rack, onProgress: event => events.push(event) })
    const copies = topic.partitions.map(({ lastStable, logStart }, partition) =>
      makeCopy({ storage, topic: topic.name, topicId: topic.id, partition, start: logStart, end: lastStable }),
    )
    await work({ fake, copies, events, run: (signal = never) => scheduler.run(copies, signal) })
  } finally {
    await fake.close()
  }
}

/** The epoch lies outside the checksum of a batch. */
const inEpoch = (batches: Buffer[], epoch: number) =>
  batches.map(batch => {
    const copy = Buffer.from(batch)
    copy.writeInt32BE(epoch, 12)
    return copy
  })

const ends = async (copies: PartitionCopy[]) => {
  for (const copy of copies) await settle(copy)
  return copies.map(copy => copy.durable.end_offset)
}

describe('the scheduler', () => {
  test('brings the partitions of every broker to their ends', () => {
    const partitions = [0, 1, 2, 0, 1, 2].map(leader => fakePartition(runs(3), { leader }))
    return withStage(fakeTopic('orders', [], { partitions }), { brokers: 3 }, async ({ fake, copies, run }) => {
      await run()
      assert.deepEqual(await ends(copies), Array(6).fill(30n))
      for (const broker of fake.brokers) assert.ok(broker.requests.some(({ key }) => key === API.fetch))
    })
  })

  test('asks nobody where all is done', () =>
    withStage(fakeTopic('orders', [[]]), {}, async ({ fake, run }) => {
      const before = fake.brokers[0]?.requests.length
      await run()
      assert.equal(fake.brokers[0]?.requests.length, before)
    }))

  test('follows a partition to its new leader', () => {
    const partitions = [fakePartition(runs(3), { leader: 0 }), fakePartition(runs(3), { leader: 0 })]
    return withStage(fakeTopic('orders', [], { partitions }), { brokers: 2 }, async ({ fake, copies, events, run }) => {
      let moves = 3
      fake.state.fetchError = (topic, partition, brokerId) => {
        const log = topic.partitions[partition]
        if (partition !== 1 || moves === 0 || !log) return 0
        moves--
        log.leader = 1 - brokerId
        return 6
      }
      await run()
      assert.deepEqual(await ends(copies), [30n, 30n])
      assert.equal(moves, 0)
      assert.ok(events.some(event => event.type === 'retry' && /NOT_LEADER/.test(event.what)))
    })
  })

  test('brings the others to their ends before it says that one could not be read for too long', () => {
    const partitions = [fakePartition(runs(3)), fakePartition(runs(3)), fakePartition(runs(3))]
    return withStage(fakeTopic('orders', [], { partitions }), {}, async ({ fake, copies, run }) => {
      fake.state.fetchError = (_topic, partition) => (partition === 1 ? 6 : 0)
      await assert.rejects(run(), { code: 'KAFKA_NOT_READY', message: /orders\/1/ })
      assert.deepEqual(
        copies.map(copy => copy.isDone),
        [true, false, true],
      )
    })
  })

  describe('with a rack', () => {
    const partitions = () => [fakePartition(runs(3), { leader: 0, nearest: 1 }), fakePartition(runs(3), { leader: 0 })]
    const fetchesAt = (fake: FakeCluster, broker: number) =>
      fake.brokers[broker]?.requests.filter(({ key }) => key === API.fetch).length ?? 0
    const near = { brokers: 2, rack: 'a' }

    test('reads from the replica that the leader points to', () =>
      withStage(fakeTopic('orders', [], { partitions: partitions() }), near, async ({ fake, copies, events, run }) => {
        await run()
        assert.deepEqual(await ends(copies), [30n, 30n])
        assert.ok(fetchesAt(fake, 1) > 0)
        assert.deepEqual(
          events.filter(event => event.type === 'retry'),
          [],
          'that is no trouble',
        )
      }))

    test('without one stays at the leader', () =>
      withStage(
        fakeTopic('orders', [], { partitions: partitions() }),
        { brokers: 2 },
        async ({ fake, copies, run }) => {
          await run()
          assert.deepEqual([await ends(copies), fetchesAt(fake, 1)], [[30n, 30n], 0])
        },
      ))

    test('goes back to the leader, for good, when the replica points elsewhere', () => {
      const pointsOn = (brokerId: number, hasRack: boolean) => (hasRack ? 1 - brokerId : -1)
      const turning = fakePartition(runs(3), { leader: 0, nearest: 1, pointsOn })
      return withStage(fakeTopic('orders', [], { partitions: [turning] }), near, async ({ fake, copies, run }) => {
        await run()
        assert.deepEqual([await ends(copies), fetchesAt(fake, 1)], [[30n], 1])
      })
    })

    test('stops reading a partition whose brokers always point to each other', () => {
      const turning = fakePartition(runs(3), { leader: 0, nearest: 1, pointsOn: brokerId => 1 - brokerId })
      return withStage(fakeTopic('orders', [], { partitions: [turning] }), near, async ({ run }) => {
        await assert.rejects(run(), { code: 'KAFKA_NOT_READY', message: /orders\/0 points to broker 1/ })
      })
    })

    for (const errorCode of [1, 3, 6, 78]) {
      test(`goes back to the leader, for good, when the replica answers with error ${errorCode}`, () =>
        withStage(fakeTopic('orders', [], { partitions: partitions() }), near, async ({ fake, copies, run }) => {
          fake.state.fetchError = (_topic, _partition, brokerId) => (brokerId === 1 ? errorCode : 0)
          await run()
          assert.deepEqual(await ends(copies), [30n, 30n])
          assert.equal(fetchesAt(fake, 1), 1)
          assert.deepEqual(
            copies.map(copy => copy.durable.gaps),
            [[], []],
          )
        }))
    }
  })

  test('follows it while the rest of its lane is still read', () => {
    const partitions = [fakePartition(large(8), { leader: 0 }), fakePartition(runs(3), { leader: 0 })]
    return withStage(fakeTopic('orders', [], { partitions }), { brokers: 2 }, async ({ fake, copies, events, run }) => {
      fake.state.fetchError = (topic, partition, brokerId) => {
        const log = topic.partitions[partition]
        if (partition !== 1 || brokerId === 1 || !log) return 0
        log.leader = 1
        return 6
      }
      // The old leader answers no more until the partition that left it has arrived.
      fake.state.intercept = async ({ key, nth }, brokerId) => {
        const isHeldUp = () => key === API.fetch && brokerId === 0 && nth > 3 && !copies[1]?.isDone
        for (let tries = 0; isHeldUp() && tries < 200; tries++) await new Promise(resolve => setTimeout(resolve, 5))
        return undefined
      }
      await run()
      const order = events.flatMap(event => (event.type === 'copied' ? [event.partition] : []))
      assert.deepEqual(await ends(copies), [80n, 30n])
      assert.ok(order.lastIndexOf(0) > order.lastIndexOf(1), `copied in the order ${order}`)
    })
  })

  test('waits for a leader to be elected, and goes on after connections were lost', () =>
    withStage(
      fakeTopic('orders', [], { partitions: [fakePartition(runs(3), { leader: -1 })] }),
      {},
      async ({ fake, copies, run }) => {
        let asked = 0
        fake.state.intercept = ({ key }) => {
          asked++
          const [log] = fake.state.topics[0]?.partitions ?? []
          if (log && asked > 4) log.leader = 0
          return key === API.fetch && asked < 9 ? 'hang-up' : undefined
        }
        await run()
        assert.deepEqual(await ends(copies), [30n])
      },
    ))

  test('outlives a cluster that is gone for a minute', () =>
    withStage(fakeTopic('orders', [runs(3)]), {}, async ({ fake, copies, run }) => {
      const backAt = fake.clock.monotonic() + 60_000
      fake.state.intercept = () => (fake.clock.monotonic() < backAt ? 'hang-up' : undefined)
      await run()
      assert.deepEqual(await ends(copies), [30n])
    }))

  test('gives up on a partition that does not move for two minutes, with what stood in its way', () =>
    withStage(fakeTopic('orders', [runs(1), runs(1)]), {}, async ({ fake, copies, run }) => {
      fake.state.fetchError = (_, partition) => (partition === 1 ? 6 : 0)
      const before = fake.clock.monotonic()
      await assert.rejects(run(), { code: 'KAFKA_NOT_READY', message: /orders\/1/ })
      const waitedMs = fake.clock.monotonic() - before
      assert.ok(waitedMs > 120_000 && waitedMs < 130_000, `${waitedMs} ms`)
      assert.deepEqual(await ends(copies), [10n, 0n])
    }))

  test('does not give up on partitions that wait their turn while others move', () =>
    withStage(fakeTopic('orders', [large(4), large(4), large(4)]), { maxActive: 1 }, async ({ fake, copies, run }) => {
      // The connection breaks at every third fetch, and hours pass between: some partition has moved each time.
      let fetches = 0
      fake.state.intercept = ({ key }) => {
        if (key !== API.fetch) return undefined
        fake.clock.pass(3_600_000)
        return ++fetches % 3 === 0 ? 'hang-up' : undefined
      }
      await run()
      assert.deepEqual(await ends(copies), [40n, 40n, 40n])
      assert.ok(fetches > 12)
    }))

  test('does not give up on a partition that had to wait for the rest of its lane', () => {
    const logs = [runs(1), large(6)]
    return withStage(fakeTopic('orders', logs), {}, async ({ fake, copies, run }) => {
      let refusals = 2
      fake.state.fetchError = (_, partition) => (partition === 0 && refusals-- > 0 ? 6 : 0)
      fake.state.intercept = ({ key, nth }) => {
        if (key !== API.fetch) return undefined
        fake.clock.pass(600_000)
        return nth === 2 ? 'hang-up' : undefined
      }
      await run()
      assert.deepEqual(await ends(copies), [10n, 60n])
    })
  })

  test('asks again for a batch that came damaged', () =>
    withStage(fakeTopic('orders', [runs(2)]), {}, async ({ fake, copies, run }) => {
      const [log] = fake.state.topics[0]?.partitions ?? []
      assert.ok(log)
      const good = log.batches
      const bad = good.map(batch => Buffer.from(batch))
      const last = bad.at(-1)
      if (last) last[70] = (last[70] ?? 0) ^ 1
      log.batches = bad
      fake.state.intercept = ({ key, nth }) => {
        if (key === API.fetch && nth === 2) log.batches = good
        return undefined
      }
      await run()
      assert.deepEqual(await ends(copies), [20n])
    }))
})

describe('what the source has lost', () => {
  test('to retention while it was read is a gap, and reading goes on behind it', () =>
    withStage(fakeTopic('orders', [runs(9)]), {}, async ({ fake, copies, events, run }) => {
      const [log] = fake.state.topics[0]?.partitions ?? []
      assert.ok(log)
      log.logStart = 45n
      await run()
      const gap = { from: 0n, to: 45n, reason: 'retention' }
      assert.deepEqual(await ends(copies), [90n])
      assert.deepEqual(
        copies[0]?.durable.gaps.map(({ found_at: _, ...rest }) => rest),
        [gap],
      )
      assert.deepEqual(
        events.filter(event => event.type === 'gap'),
        [{ type: 'gap', topic: 'orders', partition: 0, ...gap }],
      )
      assert.equal(copies[0]?.durable.records, 45)
    }))

  test('is asked for again where nobody could tell its bounds', () =>
    withStage(fakeTopic('orders', [runs(9)]), {}, async ({ fake, copies, run }) => {
      const [log] = fake.state.topics[0]?.partitions ?? []
      assert.ok(log)
      log.logStart = 45n
      let silentUntil = 0
      fake.state.intercept = ({ key }) => {
        if (key !== API.listOffsets) return undefined
        silentUntil ||= fake.clock.monotonic() + 60_000
        return fake.clock.monotonic() < silentUntil ? 'hang-up' : undefined
      }
      await run()
      assert.deepEqual(await ends(copies), [90n])
      assert.equal(copies[0]?.durable.gaps.length, 1)
    }))

  test('is an error where it went back behind what was read', () =>
    withStage(fakeTopic('orders', [runs(3)]), {}, async ({ fake, copies, run }) => {
      const [copy] = copies
      const [log] = fake.state.topics[0]?.partitions ?? []
      assert.ok(copy && log)
      copy.position = 25n
      Object.assign(log, { highWatermark: 20n, lastStable: 20n })
      await assert.rejects(run(), { code: 'SOURCE_TRUNCATED', message: /ends at 20, .* up to 25/ })
    }))

  test('is nothing where only the epoch is unknown: the next fetch leaves it out, and the batches show it', () =>
    withStage(fakeTopic('orders', [inEpoch(runs(3), 9)]), {}, async ({ fake, copies, run }) => {
      const [copy] = copies
      assert.ok(copy)
      copy.lastEpoch = 9
      let refusals = 0
      fake.state.fetchError = () => (refusals++ === 0 ? 1 : 0)
      await run()
      assert.deepEqual(await ends(copies), [30n])
      assert.deepEqual(copy.durable.gaps, [])
    }))

  test('is an error where the leader does not know the epoch and has batches of a lower one', () =>
    withStage(fakeTopic('orders', [inEpoch(runs(3), 8)]), {}, async ({ fake, copies, run }) => {
      const [copy] = copies
      assert.ok(copy)
      copy.lastEpoch = 9
      let refusals = 0
      fake.state.fetchError = () => (refusals++ === 0 ? 1 : 0)
      await assert.rejects(run(), { code: 'SOURCE_TRUNCATED', message: /orders\/0: .*offset 0 .*epoch 8.*epoch 9/ })
      assert.deepEqual(await ends(copies), [0n])
    }))

  test('is an error where a batch has a lower epoch than what is stored, though the leader does not refuse', () =>
    withStage(fakeTopic('orders', [inEpoch(runs(3), 8)]), {}, async ({ copies, run }) => {
      const [copy] = copies
      assert.ok(copy)
      copy.lastEpoch = 9
      await assert.rejects(run(), { code: 'SOURCE_TRUNCATED' })
      assert.deepEqual(await ends(copies), [0n])
    }))

  for (const [how, errorCode, change, reason] of [
    ['deleted', 100, (fake: FakeCluster) => fake.state.topics.pop(), 'topic_deleted'],
    [
      'deleted, as a broker tells it that knows the topic no more',
      3,
      (fake: FakeCluster) => fake.state.topics.pop(),
      'topic_deleted',
    ],
    [
      're-created',
      100,
      (fake: FakeCluster) => fake.state.topics.splice(0, 1, fakeTopic('orders', [[]], { id: 'f'.repeat(32) })),
      'topic_recreated',
    ],
  ] as const) {
    test(`with its topic, which was ${how}, is a gap without end`, () =>
      withStage(fakeTopic('orders', [runs(3), runs(3)]), {}, async ({ fake, copies, run }) => {
        let isGone = false
        fake.state.fetchError = (_, partition) => {
          if (partition === 1) isGone = true
          return isGone ? errorCode : 0
        }
        fake.state.intercept = ({ key }) => {
          if (key === API.metadata && isGone && fake.state.topics[0]?.id === copies[0]?.topicId) change(fake)
          return undefined
        }
        await run()
        await ends(copies)
        assert.deepEqual(
          copies.map(copy => copy.durable.gaps.map(gap => [gap.from, gap.to, gap.reason])),
          [[], [[0n, null, reason]]],
        )
      }))
  }

  test('or cannot read is a gap, too', () =>
    withStage(fakeTopic('orders', [runs(3)]), {}, async ({ fake, copies, run }) => {
      const [log] = fake.state.topics[0]?.partitions ?? []
      assert.ok(log)
      log.batches = log.batches.slice(0, 1)
      await run()
      assert.deepEqual(await ends(copies), [10n])
      assert.deepEqual(
        copies[0]?.durable.gaps.map(({ from, to, reason }) => [from, to, reason]),
        [[10n, null, 'unreadable']],
      )
    }))
})

describe('one failure stops all', () => {
  test('with the error that was first, not with what it did to the others', () => {
    const partitions = [0, 1].map(leader => fakePartition(runs(50, 20_000), { leader }))
    return withStage(fakeTopic('orders', [], { partitions }), { brokers: 2 }, async ({ fake, copies, run }) => {
      fake.state.fetchError = (_, partition) => (partition === 1 ? 29 : 0)
      await assert.rejects(run(), { code: 'KAFKA_DENIED', message: /orders\/1/ })
      for (const copy of copies) await settle(copy)
    })
  })

  test('when the store fails', () => {
    const storage = withFaults(openMemoryStorage(), [{ on: 'write', nth: 2, effect: { kind: 'throw-before' } }])
    return withStage(fakeTopic('orders', [runs(3), runs(3), runs(3)]), { storage }, async ({ run }) => {
      await assert.rejects(run(), { code: 'STORAGE_UNAVAILABLE' })
      storage.verifyAllFaultsExercised()
    })
  })

  test('and leaves no connection open', () =>
    withStage(fakeTopic('orders', [runs(3)]), {}, async ({ fake, run }) => {
      fake.state.fetchError = () => 29
      const before = fake.brokers[0]?.openConnections
      await assert.rejects(run(), { code: 'KAFKA_DENIED' })
      for (let i = 0; i < 1000 && fake.brokers[0]?.openConnections !== before; i++)
        await new Promise(resolve => setImmediate(resolve))
      assert.equal(fake.brokers[0]?.openConnections, before)
    }))

  test('an abort ends all with its reason', () =>
    withStage(fakeTopic('orders', [runs(3)]), {}, async ({ fake, run }) => {
      const controller = new AbortController()
      const reason = new Error('stopped')
      fake.state.intercept = ({ key }) => {
        if (key === API.fetch) controller.abort(reason)
        return undefined
      }
      await assert.rejects(run(controller.signal), error => error === reason)
    }))
})
