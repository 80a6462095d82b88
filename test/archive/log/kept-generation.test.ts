import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyState, noChange } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { keepGeneration } from '../../../src/archive/log/keep-generation.ts'
import { commitKey, keptKey } from '../../../src/archive/log/keys.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
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
