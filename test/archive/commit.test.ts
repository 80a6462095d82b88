import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listBackupIds, newestState, openBackup } from '../../src/archive/catalog.ts'
import { commitGeneration, countKeptPages } from '../../src/archive/commit.ts'
import type { ManifestPartition, Segment } from '../../src/archive/manifest.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { draftManifest, indexAt, never, topicOf } from './sample-archive.ts'

function segments(from: number, count: number): Segment[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `b1/kafka/orders/0/${from + i}.log`,
    size: 1,
    blake3: '0'.repeat(64),
    compression: 'none',
    plain_size: 1,
    start_offset: BigInt(from + i),
    end_offset: BigInt(from + i + 1),
    batches: 1,
    records: 1,
    aborted_records: 0,
    first_timestamp: null,
    last_timestamp: null,
  }))
}

const draftOf = (partition: ManifestPartition, fresh: Segment[], generation = 1, run = 'run1', attempt = 1) => ({
  manifest: draftManifest([topicOf('orders', [partition])], { generation, run }),
  freshSegments: new Map([['id-orders/0', fresh]]),
  attempt,
})

describe('a commit', () => {
  test('writes the indexes before the manifest, and the copy last', async () => {
    const storage = withFaults(openMemoryStorage(), [])
    const partitions = [emptyPartition(0, 0n), emptyPartition(1, 0n), emptyPartition(2, 0n)]
    const manifest = draftManifest([topicOf('orders', partitions)])
    const freshSegments = new Map([
      ['id-orders/0', segments(0, 2)],
      ['id-orders/1', segments(0, 1)],
    ])
    const { manifest: committed } = await commitGeneration(storage, { manifest, freshSegments, attempt: 1 }, never)
    await renewManifestCopy(storage, committed, never)
    const writes = storage.calls.map(({ operation, key }) => `${operation} ${key}`)
    assert.deepEqual(writes.slice(0, 2).sort(), [
      'create b1/kafka/orders/0/index-1.run1.json',
      'create b1/kafka/orders/1/index-1.run1.json',
    ])
    assert.deepEqual(writes.slice(2), ['create b1/manifests/00000001.json', 'replace b1/manifest.json'])
    assert.deepEqual(await openBackup(storage, 'b1', never), committed)
    assert.deepEqual(committed.topics[0]?.partitions[2]?.indexes, [], 'what has nothing new needs no index')
  })

  test('that fails at any call leaves the state before it, or the new one whole', async () => {
    for (const moment of ['throw-before', 'throw-after'] as const) {
      for (let nth = 1; nth <= 4; nth++) {
        const memory = openMemoryStorage()
        const { manifest: first } = await commitGeneration(
          memory,
          draftOf(emptyPartition(0, 0n), segments(0, 1)),
          never,
        )
        const [partition] = first.topics[0]?.partitions ?? []
        assert.ok(partition)
        const storage = withFaults(memory, [{ nth, effect: { kind: moment } }])
        const draft = draftOf(partition, segments(1, 1), 2, 'run2')
        await assert.rejects(async () => {
          const { manifest } = await commitGeneration(storage, draft, never)
          await renewManifestCopy(storage, manifest, never)
        })
        storage.verifyAllFaultsExercised()
        const latest = await openBackup(memory, 'b1', never)
        const isCommitted = nth === 4 || (nth === 3 && moment === 'throw-after')
        assert.equal(latest.generation, isCommitted ? 2 : 1, `${moment} ${nth}`)
        for (const ref of latest.topics[0]?.partitions[0]?.indexes ?? []) {
          assert.equal((await indexAt(memory, ref)).segments.length, latest.generation)
        }
      }
    }
  })

  test('of a generation that exists is WRITER_CONFLICT, and nothing is overwritten', async () => {
    const storage = openMemoryStorage()
    await commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(0, 1)), never)
    const before = new Map(storage.objects)
    const late = commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(5, 1), 1, 'run2'), never)
    await assert.rejects(late, { code: 'WRITER_CONFLICT', exitCode: 5, message: /generation 1 of backup `b1`/ })
    for (const [key, body] of before) assert.equal(storage.objects.get(key), body, key)
    assert.equal((await openBackup(storage, 'b1', never)).run, 'run1')
  })

  test('that is tried again is not in its own way', async () => {
    const storage = withFaults(openMemoryStorage(), [
      { on: 'create', key: /manifests/, nth: 1, effect: { kind: 'throw-before' } },
    ])
    await assert.rejects(commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(0, 1)), never))
    const { manifest: again } = await commitGeneration(
      storage,
      draftOf(emptyPartition(0, 0n), segments(0, 2), 1, 'run1', 2),
      never,
    )
    const [ref] = again.topics[0]?.partitions[0]?.indexes ?? []
    assert.ok(ref)
    assert.equal((await indexAt(storage, ref)).segments.length, 2)
  })
})

test('a commit that finds its own earlier attempt in place says so, and leaves it', async () => {
  const storage = openMemoryStorage()
  const first = await commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(0, 1)), never)
  const second = await commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(0, 2), 1, 'run1', 2), never)
  assert.deepEqual([first.isEarlier, second.isEarlier], [false, true])
  assert.deepEqual(second.manifest, first.manifest)
})

describe('the index of a partition', () => {
  test('is a list of pages, merged so that none is rewritten at every commit and none is tiny for long', async () => {
    const storage = openMemoryStorage()
    let partition: ManifestPartition = emptyPartition(0, 0n)
    const counts: number[][] = []
    let from = 0
    for (const [i, count] of [1, 1, 1, 1, 1, 1, 1, 900, 1, 1, 1, 2500, 3].entries()) {
      const draft = draftOf(partition, segments(from, count), i + 1)
      from += count
      partition = (await commitGeneration(storage, draft, never)).manifest.topics[0]?.partitions[0] ?? assert.fail()
      counts.push(partition.indexes.map(ref => ref.segments))
    }
    const tail = [[907], [907, 1], [907, 2], [907, 3], [907, 3, 2500], [907, 3, 2500, 3]]
    assert.deepEqual(counts, [[1], [2], [3], [4], [5], [5, 1], [7], ...tail])
    const all = (await Promise.all(partition.indexes.map(ref => indexAt(storage, ref)))).flatMap(one => one.segments)
    assert.deepEqual(
      all.map(segment => segment.start_offset),
      Array.from({ length: from }, (_, i) => BigInt(i)),
    )
  })

  test('of ten thousand commits of one segment takes few pages and few rewrites', () => {
    let pages: { segments: number }[] = []
    let rewritten = 0
    let most = 0
    for (let i = 0; i < 10_000; i++) {
      const kept = countKeptPages(pages, 1)
      const segments = pages.slice(kept).reduce((sum, page) => sum + page.segments, 1)
      rewritten += segments - 1
      pages = [...pages.slice(0, kept), { segments }]
      most = Math.max(most, pages.length)
    }
    assert.ok(rewritten / 10_000 < 12, `each segment is written anew ${rewritten / 10_000} times`)
    assert.ok(most < 30, `${most} pages`)
  })

  test('that is damaged or gone stops the commit: nothing may be built on it', async () => {
    for (const damage of ['flip', 'remove'] as const) {
      const storage = openMemoryStorage()
      const { manifest: first } = await commitGeneration(storage, draftOf(emptyPartition(0, 0n), segments(0, 1)), never)
      const partition = first.topics[0]?.partitions[0] ?? assert.fail()
      const key = partition.indexes[0]?.key ?? ''
      const body = storage.objects.get(key)
      if (damage === 'remove') storage.objects.delete(key)
      else if (body) body[50] = (body[50] ?? 0) ^ 1
      const next = commitGeneration(storage, draftOf(partition, segments(1, 1), 2), never)
      await assert.rejects(next, { code: 'ARCHIVE_DAMAGED' })
      assert.equal((await openBackup(storage, 'b1', never)).generation, 1)
    }
  })
})

describe('the catalogue', () => {
  test('reads the highest generation, by number', async () => {
    const storage = openMemoryStorage()
    for (const generation of [1, 2, 10, 9]) {
      await commitGeneration(storage, draftOf(emptyPartition(0, 0n), [], generation), never)
    }
    assert.equal((await openBackup(storage, 'b1', never)).generation, 10)
    assert.equal((await newestState(storage, 'other', never)).manifest, undefined)
  })

  test('knows as backups only folders with a committed generation', async () => {
    const storage = openMemoryStorage()
    await commitGeneration(storage, draftOf(emptyPartition(0, 0n), []), never)
    await storage.create('unfinished/kafka/a/0/1.log', Buffer.from('x'), never)
    await storage.create('a file', Buffer.from('x'), never)
    assert.deepEqual(await listBackupIds(storage, never), ['b1'])
    await assert.rejects(openBackup(storage, 'b2', never), {
      code: 'BACKUP_NOT_FOUND',
      message: /no backup `b2` at memory; there are: b1/,
      details: { backup_id: 'b2', location: 'memory' },
    })
    await assert.rejects(openBackup(openMemoryStorage(), 'b2', never), { message: /there are no backups there/ })
  })

  test('refuses a manifest that stands under another name than its own', async () => {
    const storage = openMemoryStorage()
    await commitGeneration(storage, draftOf(emptyPartition(0, 0n), []), never)
    const body = storage.objects.get('b1/manifests/00000001.json') ?? Buffer.alloc(0)
    storage.objects.set('b1/manifests/00000002.json', body)
    await assert.rejects(openBackup(storage, 'b1', never), {
      code: 'ARCHIVE_DAMAGED',
      message: /generation 1 of backup `b1`/,
    })
    storage.objects.set('b9/manifests/00000001.json', body)
    await assert.rejects(openBackup(storage, 'b9', never), { code: 'ARCHIVE_DAMAGED' })
  })
})
