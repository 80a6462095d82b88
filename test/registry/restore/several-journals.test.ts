import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
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

test('a journal is found whatever the order in which a job lists the addresses of the registry', async () => {
  const storage = openMemoryStorage()
  const bookOf = (registry: string, run: string) =>
    new JournalBook({ storage, clock: new JumpingClock(), newRun: () => run }, { backupId: 'b', registry })
  const nothing = {
    settings: [],
    emptyContexts: [],
    createdSubjects: [],
    modesNotRead: [],
    registered: [],
    fillers: [],
  }
  await bookOf('http://b:1, http://a:1', 'first').write({ ...nothing, imported: ['a@1#1'] }, never)
  assert.deepEqual((await bookOf('http://a:1, http://b:1', 'second').read(never)).imported, new Set(['a@1#1']))
  assert.equal((await bookOf('http://a:1', 'third').read(never)).unfinished, undefined)
  const name = createHash('sha256').update('http://d:1, http://c:1').digest('hex').slice(0, 12)
  const [[key = '', bytes = Buffer.alloc(0)] = []] = storage.objects
  const older = key.replace(/registry-[0-9a-f]+/, `registry-${name}`)
  storage.objects.set(older, bytes)
  const book = bookOf('http://d:1, http://c:1', 'fourth')
  assert.deepEqual((await book.read(never)).imported, new Set(['a@1#1']))
  await book.close(never)
  assert.ok(storage.objects.has(`${older}.done`))
})
