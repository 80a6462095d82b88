import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addMarks } from '../../src/restore/group-marks.ts'
import { noCounts } from '../../src/restore/id-counts.ts'
import { type ProgressNote, readProgress, type StreamProgress, writeProgress } from '../../src/restore/progress.ts'
import { type FakeCluster, startFakeCluster } from '../fakes/fake-cluster.ts'
import { type Committed, keepNotes } from './fake-group.ts'
import { identity } from './samples.ts'

const never = new AbortController().signal

async function withGroup(work: (fake: FakeCluster, committed: Committed[]) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster([])
  try {
    await work(fake, keepNotes(fake))
  } finally {
    await fake.close()
  }
}

describe('the notes of a restore', () => {
  const mark = {
    identity,
    generation: 9,
    fingerprint: 'abc',
    schemasAddedAt: '2026-11-16T13:00:00.000Z',
    backupId: 'b1',
  }
  const noted = (partition: number, isFilled: boolean, isDone: boolean): StreamProgress => ({
    topic: 'a',
    partition,
    targetOffset: 12n,
    sourcePartition: 99_999,
    sourceOffset: 2n ** 62n,
    sequence: 2_147_483_647,
    isFilled,
    isDone,
  })

  test('come back as they were written', () =>
    withGroup(async (fake, committed) => {
      const cluster = await fake.open()
      const shard = { index: 3, count: 4, version: '1.2.3-rc.1' }
      const ids = noCounts()
      ids.key.unknown = 7
      ids.value.kept = 2 ** 53 - 1
      const tally = { records: 12, ids }
      const streams = [
        noted(0, false, false),
        noted(1, true, false),
        { ...noted(2, true, true), isMade: true },
        { ...noted(3, false, false), shard },
        { ...noted(4, false, false), shard: { ...shard, existingTopics: 'append' as const }, isFilledByShard: true },
        { ...noted(6, false, false), checked: tally },
        { ...noted(7, false, false), topicId: '0123456789abcdef'.repeat(2), version: '1.2.3-rc.1' },
        { ...noted(5, false, false), shard: { ...shard, existingTopics: 'fail' as const } },
        { ...noted(7, true, true), given: addMarks('', [{ group: 'g', source: 'h' }]) },
      ]
      const confirmed: string[][] = []
      const runsOf = (some: readonly ProgressNote[]) => [...new Set(some.map(one => one.run))]
      await writeProgress(cluster, 'r1', { ...mark, run: '5', streams }, never, some => confirmed.push(runsOf(some)))
      await writeProgress(cluster, 'r1', { ...mark, run: '5', streams }, never, some => confirmed.push(runsOf(some)))
      assert.deepEqual(confirmed, [[], ['5']])
      for (const { metadata } of committed) assert.ok(metadata.length < 1024, 'a broker takes 4096')
      const found = await readProgress(cluster, 'r1', new Set(['a']), never)
      assert.deepEqual(found, {
        ...mark,
        streams: new Map(streams.map(one => [`a/${one.partition}`, one])),
      })
    }))

  test('are there only when they are ours', () =>
    withGroup(async (fake, committed) => {
      const cluster = await fake.open()
      assert.equal(await readProgress(cluster, 'r1', new Set(['a']), never), undefined)
      for (const metadata of [
        '',
        'x',
        'null',
        '{"v":2}',
        '{"v":1,"s":0,"o":"-5","p":"7","e":0,"q":0,"g":1,"h":"","r":"","d":0}',
        '{"v":1,"o":"5","p":"7","e":0,"q":0,"g":1,"h":"","d":0}',
        '{"v":1,"o":"5","p":"7"}',
        ...[
          { e: 32_768 },
          { q: 2 ** 31 },
          { q: -1 },
          { s: -1 },
          { d: 3 },
          { k: 5 },
          { b: 5 },
          { i: 'x' },
          { i: [1] },
          { i: Array(15).fill(-1) },
          { i: Array(15).fill('1') },
          { a: 2 },
          { t: 5 },
          { w: 5 },
          { w: 'a b' },
          { t: 'x'.repeat(32) },
          { x: 'short' },
          { x: '' },
          { k: 'x'.repeat(65) },
          { p: String(2n ** 63n) },
          { o: String(2n ** 63n) },
          { o: '9'.repeat(4000) },
        ].map(change =>
          JSON.stringify({ v: 1, s: 0, o: '5', p: '7', e: 0, q: 0, g: 1, h: '', r: '', d: 0, ...change }),
        ),
      ]) {
        committed.push({ topic: 'a', partition: committed.length, offset: 3n, metadata })
      }
      assert.equal(await readProgress(cluster, 'r1', new Set(['a']), never), undefined)
    }))
})
