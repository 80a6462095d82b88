import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import type { GivenOffset } from '../../src/offsets/given-offsets.ts'
import { givenIn, noteGiven } from '../../src/restore/given-groups.ts'
import { addMarks, MAX_MARKED } from '../../src/restore/group-marks.ts'
import { noCounts } from '../../src/restore/id-counts.ts'
import { readProgress, type StreamProgress, writeProgress } from '../../src/restore/progress.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { type Committed, keepNotes } from './fake-group.ts'
import { identity } from './samples.ts'

const never = new AbortController().signal
const mark = { identity, generation: 9, fingerprint: 'abc', backupId: 'b1', run: '5' }
const filled = (partition: number, more: Partial<StreamProgress> = {}): StreamProgress => ({
  ...{ topic: 'a', partition, targetOffset: 12n, sourcePartition: 0, sourceOffset: 4n, sequence: 7 },
  ...{ isFilled: true, isDone: true },
  ...more,
})
const offsetOf = (group: string, partition = 0): GivenOffset => ({
  group,
  source: 'at the source',
  topic: 'a',
  partition,
})

/** With the notes of these streams. */
async function withNotes(
  streams: readonly StreamProgress[],
  work: (cluster: Cluster, committed: Committed[]) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster([])
  try {
    const committed = keepNotes(fake)
    const cluster = await fake.open()
    await writeProgress(cluster, 'r1', { ...mark, streams }, never, () => undefined)
    await work(cluster, committed)
  } finally {
    await fake.close()
  }
}

const read = async (cluster: Cluster) => {
  const progress = await readProgress(cluster, 'r1', new Set(['a']), never)
  return { isGiven: givenIn(progress ?? { streams: new Map() }), streams: progress?.streams }
}

describe('the groups in the notes of a restore', () => {
  test('are added to those of earlier runs, by partition, and change nothing else', () =>
    withNotes([filled(0, { checked: { records: 3, ids: noCounts() } }), filled(1)], async cluster => {
      await noteGiven(cluster, 'r1', [offsetOf('g'), offsetOf('h', 1)], never)
      await noteGiven(cluster, 'r1', [offsetOf('i'), offsetOf('g')], never)
      const { isGiven, streams } = await read(cluster)
      const given = [0, 1].map(partition => ['g', 'h', 'i', 'j'].filter(group => isGiven(offsetOf(group, partition))))
      assert.deepEqual(given, [['g', 'i'], ['h']])
      const { given: _, ...rest } = streams?.get('a/0') ?? filled(0)
      assert.deepEqual(rest, filled(0, { checked: { records: 3, ids: noCounts() } }))
    }))

  test('are as many as the metadata of an offset has room for, next to the longest of everything else', () => {
    const shard = { index: 1022, count: 1023, version: '1'.repeat(64), existingTopics: 'append' as const }
    const ids = noCounts()
    for (const part of [ids.key, ids.value]) {
      for (const kind of Object.keys(part) as (keyof typeof part)[]) part[kind] = 10 ** 12
    }
    const long = {
      shard,
      checked: { records: 10 ** 12, ids },
      isMade: true,
      isFilledByShard: true,
      topicId: 'f'.repeat(32),
    }
    return withNotes([filled(0, long)], async (cluster, [note]) => {
      const names = Array.from({ length: MAX_MARKED + 1 }, (_, i) => `group-${i}`)
      await noteGiven(
        cluster,
        'r1',
        names.map(name => offsetOf(name)),
        never,
      )
      const { isGiven, streams } = await read(cluster)
      const without = names.filter(name => isGiven(offsetOf(name)) !== true)
      assert.deepEqual(without, [names.at(-1)])
      assert.equal(isGiven(offsetOf(names.at(-1) ?? '')), 'unknown')
      const undone = givenIn({
        streams: new Map([...(streams ?? [])].map(([key, one]) => [key, { ...one, isDone: false }])),
      })
      assert.equal(
        undone(offsetOf(names.at(-1) ?? '')),
        false,
        'it is not taken for given where the restore is not complete',
      )
      assert.ok(note && note.metadata.length < 4096 - 512)
    })
  })

  test('are added to those that another run notes at the same time', () =>
    withNotes([filled(0)], async (cluster, committed) => {
      const [note] = committed
      assert.ok(note)
      const marked = note.metadata.replace(/}$/, `,"x":"${addMarks('', [offsetOf('h')])}"}`)
      // Read once for the change, and once before it is written.
      let reads = 0
      const stored = note.metadata
      Object.defineProperty(note, 'metadata', { get: () => (reads++ === 0 ? stored : marked) })
      await noteGiven(cluster, 'r1', [offsetOf('g')], never)
      const { isGiven } = await read(cluster)
      assert.deepEqual([isGiven(offsetOf('g')), isGiven(offsetOf('h'))], [true, true])
    }))

  test('are not noted where there is no progress, and not where another run has noted something meanwhile', () =>
    withNotes([filled(0)], async (cluster, committed) => {
      await noteGiven(cluster, 'r1', [offsetOf('g', 1)], never)
      assert.equal(committed.length, 1)
      const [note] = committed
      assert.ok(note)
      // Read once for the change, and once before it is written.
      let reads = 0
      const stored = note.metadata
      Object.defineProperty(note, 'metadata', {
        get: () => (reads++ === 0 ? stored : stored.replace('"r":"5"', '"r":"6"')),
      })
      await assert.rejects(noteGiven(cluster, 'r1', [offsetOf('g')], never), { code: 'RESTORE_CONFLICT' })
    }))
})
