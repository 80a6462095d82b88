import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode, type KafkaBackupError } from '../../src/errors.ts'
import { reconcileAll } from '../../src/restore/reconcile.ts'
import { Replay } from '../../src/restore/replay.ts'
import { Stream } from '../../src/restore/stream.ts'
import { encodeRun } from '../fakes/batches.ts'
import { identity, outgoings, sampleStream } from './samples.ts'
import { type Fate, type ScriptedTarget, withTarget } from './scripted-target.ts'

const never = new AbortController().signal
const whole: [number, number][] = [
  [0, 10],
  [10, 10],
  [20, 5],
]

async function replay({ fake }: ScriptedTarget, streams: Stream[], isShared = false): Promise<string[]> {
  const retries: string[] = []
  const cluster = await fake.open({ requestTimeoutMs: 300 })
  const parts = { cluster, connectionsPerBroker: 1, maxActive: 9, requestTimeoutMs: 300, isShared }
  const onProgress = (event: { type: string; what?: string }) =>
    void (event.type === 'retry' && retries.push(event.what ?? ''))
  await new Replay({ ...parts, onProgress }).run(streams, never)
  return retries
}

const nth = (which: number, fate: Fate) => (n: number) => (n === which ? fate : undefined)

describe('a replay', () => {
  test('writes every batch once, with the sequences in a row', () =>
    withTarget(
      () => undefined,
      async target => {
        const stream = sampleStream(25, 10)
        assert.deepEqual(await replay(target, [stream]), [])
        assert.deepEqual(target.log(), whole)
        assert.deepEqual(
          [stream.progress.targetOffset, stream.progress.sourceOffset, stream.progress.sequence],
          [25n, 25n, 25],
        )
        assert.equal(stream.records.sent, 25)
      },
    ))

  const troubles: [string, Fate][] = [
    ['the answer is lost and the batch is stored', 'answer-lost'],
    ['the answer is lost and the batch, too', 'batch-lost'],
    ['the leader has moved', { errorCode: 6 }],
    ['too few replicas have it, and it is stored', { errorCode: 20, isStored: true }],
    ['the broker took too long, and stored it', { errorCode: 7, isStored: true }],
    ['the broker says that it has it already, and it has', { errorCode: 46, isStored: true }],
    ['the broker expects another sequence for a moment', { errorCode: 45 }],
    ['the broker has forgotten the producer', { errorCode: 59 }],
  ]
  for (const [what, fate] of troubles) {
    test(`loses and repeats nothing when ${what}`, () =>
      withTarget(nth(1, fate), async target => {
        const retries = await replay(target, [sampleStream(25, 10)])
        assert.equal(retries.length, 1)
        assert.deepEqual(target.log(), whole)
      }))
  }

  test('goes on when every answer is lost', () =>
    withTarget(
      () => 'answer-lost',
      async target => {
        await replay(target, [sampleStream(250, 10)])
        assert.equal(target.log().length, 25)
      },
    ))

  test('does not send again before somebody has told what is there', () =>
    withTarget(nth(1, 'answer-lost'), async target => {
      let refusals = 30
      const { intercept } = target.fake.state
      target.fake.state.intercept = (request, brokerId) => {
        // The offsets cannot be told for a while, other streams go on.
        if (request.key === 2 && target.requests.length > 1 && refusals-- > 0) return 'hang-up'
        return intercept(request, brokerId)
      }
      await replay(target, [sampleStream(25, 10)])
      assert.deepEqual(target.log(), whole)
    }))

  test('ends at once with what is too large, and says so', () =>
    withTarget(nth(1, { errorCode: 10 }), async target => {
      await assert.rejects(replay(target, [sampleStream(25, 10)]), /writing orders\/0: .*MESSAGE_TOO_LARGE/)
      assert.equal(target.requests.length, 2)
    }))

  test('ends with a conflict where somebody else has written, and goes on where others may', async () => {
    const foreign = encodeRun(0n, 3, { producerId: 5n })
    for (const fate of ['stored', 'answer-lost'] as const) {
      const script = (target: () => ScriptedTarget) => (n: number) => {
        if (n === 1) target().append(foreign)
        return n === 1 ? fate : undefined
      }
      for (const isShared of [false, true]) {
        let target: ScriptedTarget | undefined
        await withTarget(
          script(() => target as ScriptedTarget),
          async opened => {
            target = opened
            const run = replay(opened, [sampleStream(25, 10, {}, isShared)], isShared)
            if (!isShared) return assert.rejects(run, error => hasCode(error, 'RESTORE_CONFLICT'))
            await run
            assert.deepEqual(
              opened.log().filter(([, count]) => count !== 3),
              whole,
            )
          },
        )
      }
    }
  })

  test('names the broker that refuses a producer it has forgotten, and no other writer', () =>
    withTarget(
      n => (n > 0 ? { errorCode: 59 } : undefined),
      async target => {
        await assert.rejects(replay(target, [sampleStream(25, 10)]), (error: KafkaBackupError) => {
          assert.equal(error.code, 'KAFKA_REFUSED')
          assert.match(error.message, /writing orders\/0: .*UNKNOWN_PRODUCER_ID/)
          assert.match(error.help, /upgrade the brokers to Kafka 2\.5/)
          return true
        })
        assert.deepEqual(target.log(), whole.slice(0, 1))
      },
    ))

  test('gives up when a partition does not move for two minutes, and not when it waited long for its turn', () =>
    withTarget(
      n => (n > 0 ? { errorCode: 19 } : undefined),
      async target => {
        const before = target.fake.clock.monotonic()
        await assert.rejects(replay(target, [sampleStream(25, 10)]), /NOT_ENOUGH_REPLICAS/)
        const waitedMs = target.fake.clock.monotonic() - before
        assert.ok(waitedMs > 120_000 && waitedMs < 130_000, `${waitedMs}`)
      },
    ))

  test('looks at the log before it writes on after a long silence: another run may have gone on', async () => {
    let target: ScriptedTarget | undefined
    const sleep = () => {
      target?.fake.clock.pass(60_000)
      const next = encodeRun(0n, 5, { producerId: identity.producerId })
      next.writeInt32BE(20, 53)
      queueMicrotask(() => target?.append(next))
    }
    await withTarget(nth(1, sleep), async opened => {
      target = opened
      assert.deepEqual(await replay(opened, [sampleStream(25, 10)]), [])
      assert.deepEqual(opened.log(), whole)
      assert.equal(opened.requests.length, 2)
    })
  })

  test('takes a slow limit for no standstill', () =>
    withTarget(
      n => {
        if (n === 1) return { errorCode: 19 }
        return () => undefined
      },
      async target => {
        const stream = sampleStream(25, 10)
        const { peek } = stream
        stream.peek = async () => {
          target.fake.clock.pass(500_000)
          return peek.call(stream)
        }
        await replay(target, [stream])
        assert.deepEqual(target.log(), whole)
      },
    ))

  test('sends the batches of several partitions together, never two of one', () =>
    withTarget(
      () => undefined,
      async target => {
        await replay(
          target,
          [0, 1, 2].map(partition => sampleStream(50, 10, { partition })),
        )
        assert.deepEqual(target.requests, [3, 3, 3, 3, 3])
        for (const partition of [0, 1, 2]) assert.equal(target.log(partition).length, 5)
      },
      3,
    ))
})

describe('looking for what is on the target', () => {
  async function look({ fake }: ScriptedTarget, stream: Stream, isShared = false): Promise<bigint> {
    await reconcileAll([stream], { cluster: await fake.open(), isShared, mayBeBehind: true }, never)
    return stream.progress.sourceOffset
  }
  const ours = (count: number, sequence: number): Buffer => {
    const batch = encodeRun(0n, count, { producerId: identity.producerId })
    batch.writeInt32BE(sequence, 53)
    return batch
  }

  test('finds all batches behind the note, cut otherwise than now', () =>
    withTarget(
      () => undefined,
      async target => {
        for (const [count, sequence] of [
          [4, 0],
          [9, 4],
          [1, 13],
        ] as const)
          target.append(ours(count, sequence))
        assert.equal(await look(target, sampleStream(25, 10)), 14n)
        assert.equal(await look(target, sampleStream(25, 10, { targetOffset: 4n, sourceOffset: 4n, sequence: 4 })), 14n)
      },
    ))

  test('leaves no reader of the archive open: those of many partitions would hold all memory for frames, and wait for each other', () =>
    withTarget(
      () => undefined,
      async target => {
        let open = 0
        const streams = [0, 1, 2].map(partition => {
          target.append(ours(10, 0), partition)
          const place = { topic: 'orders', partition }
          const start = { targetOffset: 0n, sourcePartition: 0, sourceOffset: 0n, sequence: 0 }
          const read = async function* () {
            open++
            try {
              yield outgoings(10, 10)
            } finally {
              open--
            }
          }
          const topicId = Buffer.from('orders'.padEnd(16)).toString('hex')
          const parts = { ...place, topicId, identity, open: read, countFrom: async () => 0, isShared: false }
          return new Stream(parts, { ...place, ...start, isFilled: false, isDone: false })
        })
        const cluster = await target.fake.open()
        await reconcileAll(streams, { cluster, isShared: false, mayBeBehind: true }, never)
        assert.deepEqual(
          streams.map(({ progress }) => progress.targetOffset),
          [10n, 10n, 10n],
        )
        assert.equal(open, 0)
      },
      3,
    ))

  test('knows records that compaction has removed since', () =>
    withTarget(
      () => undefined,
      async target => {
        target.append(ours(4, 0))
        target.append(ours(6, 4))
        target.append(ours(2, 10))
        const [partition] = target.fake.state.topics[0]?.partitions ?? []
        partition?.batches.splice(1, 1)
        assert.equal(await look(target, sampleStream(25, 10)), 12n)
      },
    ))

  test('sees its batches behind an open transaction of somebody else', () =>
    withTarget(
      () => undefined,
      async target => {
        target.append(encodeRun(0n, 3, { producerId: 5n, transactional: true }))
        target.append(ours(4, 0))
        const [partition] = target.fake.state.topics[0]?.partitions ?? []
        if (partition) partition.lastStable = 0n
        assert.equal(await look(target, sampleStream(25, 10, {}, true), true), 4n)
      },
    ))

  test('asks again when a leader has just moved', () =>
    withTarget(
      () => undefined,
      async target => {
        target.append(ours(4, 0))
        let refusals = 2
        target.fake.state.fetchError = () => (refusals-- > 0 ? 6 : 0)
        assert.equal(await look(target, sampleStream(25, 10)), 4n)
        refusals = 99
        await assert.rejects(look(target, sampleStream(25, 10)), /reading orders\/0: .*NOT_LEADER/)
      },
    ))

  for (const [errorCode, name] of [
    [1, 'OFFSET_OUT_OF_RANGE'],
    [3, 'UNKNOWN_TOPIC_OR_PARTITION'],
  ] as const) {
    test(`asks again when a leader that has just moved answers ${name}`, () =>
      withTarget(
        () => undefined,
        async target => {
          target.append(ours(4, 0))
          let refusals = 2
          target.fake.state.fetchError = () => (refusals-- > 0 ? errorCode : 0)
          assert.equal(await look(target, sampleStream(25, 10)), 4n)
        },
      ))
  }

  test('refuses sequences that do not follow, a log that was cut, and one that begins behind the note', () =>
    withTarget(
      () => undefined,
      async target => {
        const isConflict = (error: unknown) => hasCode(error, 'RESTORE_CONFLICT')
        target.append(ours(4, 3))
        await assert.rejects(look(target, sampleStream(25, 10)), isConflict)
        await assert.rejects(look(target, sampleStream(25, 10, { targetOffset: 5n })), {
          code: 'RESTORE_CONFLICT',
          message: 'orders/0: the target has lost records of this restore: it ends at offset 4, and was filled up to 5',
        })
        const [partition] = target.fake.state.topics[0]?.partitions ?? []
        if (partition) partition.logStart = 3n
        await assert.rejects(look(target, sampleStream(25, 10, { sequence: 3 })), isConflict)
      },
    ))
})
