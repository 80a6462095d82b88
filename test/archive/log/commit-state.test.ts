import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writerManifestOf } from '../../../src/archive/log/as-manifest.ts'
import { noChange } from '../../../src/archive/log/change.ts'
import { decodeRows } from '../../../src/archive/log/change-document.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { commitState } from '../../../src/archive/log/commit-state.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { longLog } from './long-log.ts'

const { signal } = new AbortController()

test('a generation has the same state if it is opened without the segments of its lists', async () => {
  const storage = openMemoryStorage()
  await longLog(storage, 30)
  const [all, rows] = [
    await openGeneration(storage, 'b', 30, signal),
    await openGeneration(storage, 'b', 30, signal, decodeRows),
  ]
  assert.deepEqual(rows.state, all.state)
  assert.ok([...all.pending.lists.values()].some(list => list?.parts))
  assert.ok([...rows.pending.lists.values()].every(list => !list?.parts))
})

for (const isQuick of [false, true]) {
  test(`a state that is committed ${isQuick ? 'quickly leaves' : 'rolls up'} the commits that are due`, async () => {
    const storage = openMemoryStorage()
    let names = 0
    const newRun = () => `w${names++}`
    const log = new CommitLog(storage, 'b', newRun)
    const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }
    for (let i = 0; i < 8; i++) await log.commit(facts, { ...noChange, head: { warnings: [`${i}`] } }, signal)
    const opened = await openGeneration(storage, 'b', 8, signal, isQuick ? decodeRows : undefined)
    const manifest = writerManifestOf(opened)
    const next = { ...manifest, generation: 9, run: 's', warnings: ['later'] }
    await commitState(storage, { manifest, opened, isLog: true }, next, { newRun, nowMs: () => 0, isQuick }, signal)
    const { commit, state } = await openGeneration(storage, 'b', 9, signal)
    assert.equal(commit.rollups.length, isQuick ? 0 : 1)
    assert.deepEqual(state.head.warnings, ['later'])
  })
}
