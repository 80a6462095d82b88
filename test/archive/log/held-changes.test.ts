import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Change, emptyState } from '../../../src/archive/log/change.ts'
import { CommitLog } from '../../../src/archive/log/commit-log.ts'
import { composeAll } from '../../../src/archive/log/compose-changes.ts'
import { HeldChanges } from '../../../src/archive/log/held-changes.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'
import { type FullState, randomFrom, randomStep } from './random-state.ts'

const { signal } = new AbortController()

function randomChanges(count: number): Change[] {
  const random = randomFrom(5)
  let state: FullState = { ...emptyState, segments: new Map() }
  return Array.from({ length: count }, () => {
    const { after, change } = randomStep(random, state)
    state = after
    return change
  })
}

test('a writer holds the changes of commits for the next roll-up, and of all since a checkpoint', () => {
  const changes = randomChanges(30)
  const held = new HeldChanges(1)
  const add = (from: number, to: number) => {
    for (let i = from; i <= to; i++) held.add(i, changes[i - 1] as Change)
  }
  add(1, 10)
  assert.deepEqual(held.take(1, 8), composeAll(changes.slice(0, 8)))
  assert.equal(held.take(1, 8), undefined, 'it is rolled up')
  add(11, 20)
  assert.deepEqual(held.take(9, 16), composeAll(changes.slice(8, 16)))
  assert.deepEqual(held.takeAll(1, 20), composeAll(changes.slice(0, 20)))
  add(21, 28)
  assert.deepEqual(held.take(21, 28), composeAll(changes.slice(20, 28)))
  assert.equal(held.takeAll(20, 28), undefined, 'one of them was made before')
  add(29, 30)
  assert.deepEqual(held.takeAll(29, 30), composeAll(changes.slice(28)))
})

test('a writer that has not made all commits since a checkpoint has them read', () => {
  const [change] = randomChanges(1) as [Change]
  const held = new HeldChanges(5)
  held.add(9, change)
  held.add(10, change)
  assert.equal(held.take(5, 12), undefined)
  assert.equal(held.takeAll(5, 10), undefined)
})

test('a writer rolls up its commits and writes its first checkpoint without reading them', async () => {
  const storage = openMemoryStorage()
  const readRange = () => assert.fail('a document is read')
  // Each commit looks at the one before it, and no more.
  let newest = ''
  const read: Storage['read'] = (key, own) => (key === newest ? storage.read(key, own) : readRange())
  let names = 0
  const log = new CommitLog({ ...storage, read, readRange }, 'b', () => `w${names++}`)
  const facts = { tool_version: '', run: 'r', complete: true, created_at: '', started_at: '' }
  for (const change of randomChanges(27)) {
    newest = log.generation === 0 ? '' : log.key
    await log.commit(facts, change, signal)
    newest = ''
    await log.tidy(signal)
  }
  await log.checkpoint(signal)
  assert.ok(log.checkpointKey)
})
