import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Chain, dueRollup, withRollup } from '../../../src/archive/log/chain.ts'
import { noChange } from '../../../src/archive/log/change.ts'
import { CommitLog, startOf } from '../../../src/archive/log/commit-log.ts'
import { commitSchema, MAX_LEVEL } from '../../../src/archive/log/documents.ts'
import { commitKey } from '../../../src/archive/log/keys.ts'
import { openGeneration } from '../../../src/archive/log/open-generation.ts'
import { hasCode } from '../../../src/errors.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }
const document = { key: 'b/rollups/x', size: 1, blake3: 'a'.repeat(64) }

function tidied(newest: number, start: Chain = { checkpoint: null, rollups: [] }): Chain {
  let chain = start
  for (let due = dueRollup(chain, newest); due; due = dueRollup(chain, newest))
    chain = withRollup(chain, due, [document])
  return chain
}

test('roll-ups follow one another without a hole, however many commits were made before they are', () => {
  for (const newest of [1, 7, 8, 63, 64, 71, 72, 100, 600, 1000, 5000]) {
    let next = 1
    for (const { from, to } of tidied(newest).rollups) {
      assert.equal(from, next, `of ${newest} commits`)
      next = to + 1
    }
    assert.ok(newest - next + 1 < 8)
  }
})

test('a roll-up never has a level that readers refuse', () => {
  const level = MAX_LEVEL
  const rollups = Array.from({ length: 8 }, (_, i) => ({ from: i + 1, to: i + 1, level, documents: [document] }))
  const chain = tidied(8, { checkpoint: null, rollups })
  assert.deepEqual(commitSchema.shape.rollups.safeParse(chain.rollups).success, true)
  assert.equal(chain.rollups.length, 1)
})

test('a log that was not tidied for eighty commits can be read after it was', async () => {
  const storage = openMemoryStorage()
  let names = 0
  const log = new CommitLog(storage, 'b', () => `w${names++}`)
  for (let i = 0; i < 80; i++) await log.commit(facts, noChange, signal)
  await log.tidy(signal)
  await log.commit(facts, noChange, signal)
  assert.equal((await openGeneration(storage, 'b', 81, signal)).commit.rollups.length, 3)
})

test('a commit that was exchanged does not become part of a roll-up', async () => {
  for (const exchanged of [3, 8]) {
    const storage = openMemoryStorage()
    const log = new CommitLog(storage, 'b', () => 'w')
    for (let i = 0; i < 8; i++) await log.commit(facts, noChange, signal)
    const next = new CommitLog(storage, 'b', () => 'x', startOf(await openGeneration(storage, 'b', 8, signal)))
    const other = openMemoryStorage()
    const forged = new CommitLog(other, 'b', () => 'w')
    const change = { ...noChange, head: { warnings: ['forged'] } }
    for (let i = 0; i < 8; i++) await forged.commit(facts, change, signal)
    const key = commitKey('b', exchanged)
    await storage.replace(key, await other.read(key, signal), signal)
    // One who has to read the commits sees that, and the one who made them does not read them.
    await assert.rejects(next.tidy(signal), error => hasCode(error, 'ARCHIVE_DAMAGED'))
    await log.tidy(signal)
    // The next commit names the newest one as the one before it, and there the writer stops.
    if (exchanged === 8) {
      await assert.rejects(log.commit(facts, noChange, signal), error => hasCode(error, 'WRITER_CONFLICT'))
      continue
    }
    await log.commit(facts, noChange, signal)
    const opened = await openGeneration(storage, 'b', 9, signal)
    assert.equal(opened.commit.rollups[0]?.to, 8)
    assert.deepEqual(opened.state.head.warnings, [])
  }
})
