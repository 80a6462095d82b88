import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JournalBook } from '../../../src/registry/restore/journal.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const never = new AbortController().signal

test('journals of runs that died are read together, also where the clock of the last one was behind', async () => {
  const storage = openMemoryStorage()
  const bookAt = (ms: number, run: string) => {
    const clock = new JumpingClock()
    clock.pass(ms)
    return new JournalBook({ storage, clock, newRun: () => run }, { backupId: 'b', registry: 'r' })
  }
  const settings = (subject: string) => {
    const scope = { kind: 'subject' as const, subject }
    return { scope, compatibility: 'FULL', mode: null, config: null }
  }
  const first = {
    settings: [settings('a')],
    emptyContexts: ['.'],
    createdSubjects: ['b', 'd'],
    modesNotRead: ['b', 'd'],
    registered: ['b@1'],
    fillers: [],
    imported: ['b@1#7'],
  }
  await bookAt(60_000, 'first').write(first, never)
  const second = {
    settings: [settings('a'), settings('c')],
    emptyContexts: ['.'],
    createdSubjects: ['b'],
    modesNotRead: [],
    registered: ['b@1', 'c@1', 'c@2'],
    fillers: ['c@1'],
    imported: ['b@1#7', 'c@2#8'],
  }
  await bookAt(0, 'second').write(second, never)
  const book = bookAt(90_000, 'third')
  const { unfinished: found } = await book.read(never)
  assert.deepEqual(new Set(found?.settings), new Set(second.settings))
  assert.deepEqual(found?.registered.toSorted(), second.registered)
  assert.deepEqual([found?.fillers, found?.createdSubjects, found?.emptyContexts], [['c@1'], ['b', 'd'], ['.']])
  assert.deepEqual(found?.modesNotRead, ['d'], 'the second run has read the mode of b')
  await book.close(never)
  const after = await bookAt(0, 'fourth').read(never)
  assert.equal(after.unfinished, undefined)
  assert.deepEqual([...after.imported], second.imported)
})
