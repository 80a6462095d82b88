import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyState, noChange } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { keepGeneration } from '../../../src/archive/log/keep-generation.ts'
import { commitKey, commitsPrefix, keptKey } from '../../../src/archive/log/keys.ts'
import { listCommits } from '../../../src/archive/log/list-commits.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }

function flip(bytes: Buffer | undefined): Buffer {
  const flipped = Buffer.from(bytes ?? [])
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1
  return flipped
}

test('a damaged commit is read from what retention has begun to keep in its place, while both are there', async () => {
  const storage = openMemoryStorage()
  const log = new CommitLog(storage, 'b', () => `w${storage.objects.size}`)
  for (let i = 0; i < 12; i++) await log.commit(facts, { ...noChange, head: { warnings: [`${i + 1}`] } }, signal)
  await keepGeneration(storage, 'b', 9, signal)
  const [commit, kept] = [commitKey('b', 9), keptKey('b', 9)]
  storage.objects.set(commit, flip(storage.objects.get(commit)))
  const { state, ref } = await openGeneration(storage, 'b', 9, signal)
  assert.deepEqual(state, { ...emptyState, head: { ...emptyState.head, warnings: ['9'] } })
  assert.equal(ref.key, kept)
  // Later generations need the commit itself: what is kept is not the one that they follow.
  await assert.rejects(openGeneration(storage, 'b', 10, signal), {
    code: 'ARCHIVE_DAMAGED',
    message: new RegExp(commit),
  })
  storage.objects.delete(kept)
  await assert.rejects(openGeneration(storage, 'b', 9, signal), {
    code: 'ARCHIVE_DAMAGED',
    message: new RegExp(commit),
  })
})

test('a generation that a prune moves while generations are listed is listed', async () => {
  const near = openMemoryStorage()
  const log = new CommitLog(near, 'b', () => `w${near.objects.size}`)
  for (let i = 0; i < 12; i++) await log.commit(facts, { ...noChange, head: { warnings: [`${i + 1}`] } }, signal)
  const list: Storage['list'] = async function* (prefix, own) {
    if (prefix.startsWith(commitsPrefix('b'))) {
      // Everything else that was asked for at the same time is answered before this.
      await new Promise(resolve => setImmediate(resolve))
      await keepGeneration(near, 'b', 9, signal)
      await near.remove(commitKey('b', 9), signal)
    }
    yield* near.list(prefix, own)
  }
  const listed = await listCommits({ ...near, list }, 'b', signal)
  assert.deepEqual(
    listed,
    Array.from({ length: 12 }, (_, i) => i + 1),
  )
})
