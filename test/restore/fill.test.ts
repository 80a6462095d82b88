import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { type FillParts, fill } from '../../src/restore/fill.ts'
import { markOf } from '../../src/restore/group-marks.ts'
import type { RunMark } from '../../src/restore/run-mark.ts'
import type { Stream } from '../../src/restore/stream.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type Committed, keepNotes } from './fake-group.ts'
import { plainOptions } from './plain-options.ts'
import { identity, sampleStream } from './samples.ts'
import { type ScriptedTarget, withTarget } from './scripted-target.ts'

const never = new AbortController().signal
const foreign = encodeRun(0n, 3, { producerId: 5n })
const isConflict = (error: unknown) => hasCode(error, 'RESTORE_CONFLICT')

async function run(
  { fake }: ScriptedTarget,
  streams: Stream[],
  {
    isShared = false,
    parts: more,
    ...mark
  }: Partial<RunMark> & { isShared?: boolean; parts?: Partial<FillParts> } = {},
): Promise<void> {
  const cluster = await fake.open()
  const parts = { cluster, clock: fake.clock, requestTimeoutMs: 300, onProgress: () => undefined, ...more }
  const alone = { run: 'mine', earlier: new Set<string>(), mayHaveTwin: false }
  const known = { identity, generation: 1, fingerprint: 'f', ...alone, ...mark }
  const options = plainOptions(isShared ? { existingTopics: 'append' } : {})
  await fill(options, { restoreId: 'r1', mark: known }, streams, parts, never)
}

const runsOf = (committed: Committed[]) => committed.map(({ metadata }) => JSON.parse(metadata).r)

describe('filling the partitions of a target', () => {
  test('finds a batch of somebody else behind the last record of a partition that was full', async () => {
    for (const isShared of [false, true]) {
      let target: ScriptedTarget | undefined
      await withTarget(
        nth => (nth === 2 ? () => void target?.append(foreign, 0) : undefined),
        async opened => {
          target = opened
          keepNotes(opened.fake)
          const streams = [sampleStream(10, 10, {}, isShared), sampleStream(30, 10, { partition: 1 }, isShared)]
          const running = run(opened, streams, { isShared })
          if (isShared) await running
          else await assert.rejects(running, /orders\/0: .*another producer/)
          assert.equal(opened.log(1).length, 3)
        },
        2,
      )
    }
  })

  test('finds a batch of its own that came a second time behind the last record', () =>
    withTarget(
      () => undefined,
      async target => {
        keepNotes(target.fake)
        const again = encodeRun(0n, 10, { producerId: identity.producerId })
        again.writeInt32BE(0, 53)
        const stream = sampleStream(10, 10)
        const { peek } = stream
        stream.peek = async () => {
          const batch = await peek.call(stream)
          if (!batch) target.append(again)
          return batch
        }
        await assert.rejects(run(target, [stream]), isConflict)
      },
    ))
})

describe('a topic that is filled while others are not', () => {
  const two = () => [sampleStream(10, 10), sampleStream(30, 10, { partition: 1 })]

  test('is handed on once, when all its partitions are filled and noted', () =>
    withTarget(
      () => undefined,
      async target => {
        const committed = keepNotes(target.fake)
        const handed: unknown[] = []
        const events: ProgressEvent[] = []
        const onTopicFilled = async (topic: string) => {
          handed.push([topic, committed.map(({ offset }) => offset)])
        }
        await run(target, two(), { parts: { onTopicFilled, onProgress: event => events.push(event) } })
        assert.deepEqual(handed, [['orders', [10n, 30n]]])
        assert.deepEqual(
          events.filter(({ type }) => type === 'filled'),
          [{ type: 'filled', topic: 'orders', done: 1, total: 1 }],
        )
      },
      2,
    ))

  test('has the groups that got their offsets on it in its note before anything follows, and in all later ones', () =>
    withTarget(
      () => undefined,
      async target => {
        const committed = keepNotes(target.fake)
        const given = { group: 'g-2', source: 'g' }
        const marksIn = () => committed.map(({ metadata }) => JSON.parse(metadata).x)
        const onTopicFilled: FillParts['onTopicFilled'] = async (topic, noteGiven, signal) => {
          await noteGiven([{ ...given, topic, partition: 1 }], signal)
          assert.deepEqual(marksIn(), [undefined, markOf(given)])
        }
        await run(target, two(), { parts: { onTopicFilled } })
        assert.deepEqual(marksIn(), [undefined, markOf(given)])
      },
      2,
    ))

  test('that another run has taken over ends this one, also where others may write', () =>
    withTarget(
      () => undefined,
      async target => {
        const committed = keepNotes(target.fake)
        const stream = sampleStream(10, 10, {}, true)
        const { peek } = stream
        stream.peek = async () => {
          const batch = await peek.call(stream)
          if (!batch) committed.forEach(takeOver)
          return batch
        }
        const onTopicFilled = () => assert.fail('nothing follows for it')
        await assert.rejects(run(target, [stream], { isShared: true, parts: { onTopicFilled } }), isConflict)
      },
    ))

  test('does not end the run for a fault that may pass, and does for another', () =>
    withTarget(
      () => undefined,
      async target => {
        keepNotes(target.fake)
        const warned: string[] = []
        const onProgress = (event: ProgressEvent) => event.type === 'warning' && warned.push(event.message)
        const failing = (code: 'KAFKA_NOT_READY' | 'KAFKA_DENIED') => ({
          onProgress: (event: ProgressEvent) => void onProgress(event),
          onTopicFilled: () => Promise.reject(new KafkaBackupError(code, 'no coordinator')),
        })
        await run(target, two(), { parts: failing('KAFKA_NOT_READY') })
        assert.deepEqual(warned, ['orders: its consumer groups wait for the end: no coordinator'])
        const again = [sampleStream(10, 10, { targetOffset: 10n, sourceOffset: 10n, sequence: 10 })]
        await assert.rejects(run(target, again, { parts: failing('KAFKA_DENIED') }), { code: 'KAFKA_DENIED' })
      },
      2,
    ))
})

describe('two runs of one restore', () => {
  test('the earlier one ends when the later one has noted something, and leaves its notes alone', async () => {
    let committed: Committed[] = []
    await withTarget(
      nth => (nth > 0 ? () => committed.forEach(takeOver) : undefined),
      async target => {
        committed = keepNotes(target.fake)
        await assert.rejects(run(target, [sampleStream(5000, 10)]), /another run of the restore r1 has taken over/)
        assert.deepEqual(runsOf(committed), ['other'])
        assert.ok(target.log().length < 500, 'it ended in the middle')
      },
    )
  })

  test('of two that begin at the same time the one that notes second ends before it writes anything', () =>
    withTarget(
      () => undefined,
      async target => {
        const committed = keepNotes(target.fake)
        await run(target, [sampleStream(10, 10)], { run: 'first' })
        await assert.rejects(run(target, [sampleStream(10, 10)], { run: 'second' }), isConflict)
        assert.deepEqual([runsOf(committed), target.requests], [['first'], [1]])
      },
    ))

  test('one that goes on takes over the notes of those before it', () =>
    withTarget(
      () => undefined,
      async target => {
        const committed = keepNotes(target.fake)
        await run(target, [sampleStream(10, 10)], { run: 'first' })
        await run(target, [sampleStream(20, 10)], { run: 'second', earlier: new Set(['first']) })
        assert.deepEqual(runsOf(committed), ['second'])
        assert.equal(target.log().length, 2)
      },
    ))
})

function takeOver(one: Committed): void {
  one.metadata = JSON.stringify({ ...JSON.parse(one.metadata), r: 'other' })
}
