import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openLosses } from '../../../src/registry/restore/schema-report.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, essence, openStage } from './schema-stage.ts'

const three = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2), versionOf('a', 3, 3)])
const two = snapshotOf([11, 12].map((id, at) => ({ ...versionOf('a', at + 1, at + 1), id })))
/** Its second version is another one. */
const diverged = snapshotOf([{ ...versionOf('a', 1, 1), id: 11 }, versionOf('a', 2, 12)])
const free = { setCompatibility: 'NONE' } as const

describe('preserve', () => {
  test('keeps the versions that are there and adds the missing one (case 29)', async t => {
    const stage = await openStage(t, await backUp(three), { start: two })
    const { report, idMap } = await stage.restore(free)
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #11', 'a@2 #12', 'a@3 #13'])
    assert.deepEqual([report.versions.keep, report.versions.register], [2, 1])
    assert.deepEqual(
      [1, 2, 3].map(id => idMap.get('.', id)),
      [11, 12, 13],
    )
  })

  test('keeps a version that is another schema there, adds the one after it, and reports both (cases 25, 29)', async t => {
    const stage = await openStage(t, await backUp(three), { start: diverged })
    const { report, idMap } = await stage.restore(free)
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #11', 'a@2 #12', 'a@3 #13'])
    assert.deepEqual([report.versions.keep, report.versions.leave, report.versions.register], [1, 1, 1])
    assert.deepEqual([report.unmappedIds, idMap.get('.', 2)], [['2'], undefined])
    assert.match(report.notes[0]?.message ?? '', /^Schema ID 2 not found in target registry: version 2 of subject a is/)
    stage.takeWrites()
    await stage.restore(free)
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('leaves the settings of a subject that was there', async t => {
    const start = {
      ...two,
      subjects: new Map([['a', { compatibility: 'FORWARD', mode: null, config: { normalize: true } }]]),
    }
    const stage = await openStage(t, await backUp({ ...three, subjects: new Map() }), { start })
    await stage.restore(free)
    assert.deepEqual((await stage.snapshot()).subjects.get('a'), start.subjects.get('a'))
  })

  test('leaves the level that a subject without versions has been given', async t => {
    const stage = await openStage(t, await backUp(three))
    stage.store.updateConfig('a', { compatibility: 'NONE' })
    await stage.restore()
    assert.equal((await stage.snapshot()).subjects.get('a')?.compatibility, 'NONE')
  })

  test('writes to a subject that is read-only for the time, and again in a second run (case 20)', async t => {
    const closed = { compatibility: 'NONE', mode: 'READONLY', config: null }
    const backup = await backUp({ ...three, subjects: new Map([['a', closed]]) })
    const stage = await openStage(t, backup, { start: { ...two, subjects: new Map([['a', closed]]) } })
    await stage.restore()
    const after = await stage.snapshot()
    assert.deepEqual([brief(after).length, after.subjects.get('a')], [3, closed])
    stage.takeWrites()
    await stage.restore()
    assert.deepEqual(stage.takeWrites(), [])
  })
})

describe('skip', () => {
  test('leaves a subject that has versions wholly alone, maps its IDs, and fills empty ones (case 29)', async t => {
    const backup = await backUp(snapshotOf([...three.versions, versionOf('b', 1, 4)]))
    const stage = await openStage(t, backup, { start: two })
    const { report, idMap } = await stage.restore({ strategy: 'skip' })
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #11', 'a@2 #12', 'b@1 #13'])
    assert.deepEqual([idMap.get('.', 1), idMap.get('.', 4)], [11, 13])
    assert.deepEqual(report.unmappedIds, ['3'])
    assert.match(report.notes[0]?.message ?? '', /^Schema ID 3 not found in target registry/)
  })
})

describe('overwrite', () => {
  const lossOf = (version: string, id: string) =>
    `version ${version} of subject a on the target (ID ${id}) is not in the backup, and is deleted for good`

  test('names what it would delete before it does, and nothing that it registers again', async t => {
    const start = snapshotOf([...diverged.versions, versionOf('a', 3, 13, { schema: three.versions[1]?.schema ?? '' })])
    const stage = await openStage(t, await backUp(three), { start })
    const { plan } = await stage.survey({ ...free, strategy: 'overwrite' })
    assert.deepEqual(
      plan.notes.flatMap(note => (note.kind === 'lossy' ? [note.message] : [])),
      [lossOf('2', '12')],
    )
  })

  test('replaces what differs and takes away what the backup does not have', async t => {
    const start = snapshotOf([...diverged.versions, versionOf('a', 3, 13), versionOf('a', 4, 14, { isDeleted: true })])
    const stage = await openStage(t, await backUp(three), { start })
    const { report } = await stage.restore({ ...free, strategy: 'overwrite' })
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #11', 'a@2 #15', 'a@3 #16'])
    const lost = report.notes.filter(({ kind }) => kind === 'undecodable').map(({ message }) => message)
    assert.deepEqual(
      lost.map(message => /^schema ID (\d+) of the target/.exec(message)?.[1]),
      ['12', '13', '14'],
    )
    const deleted = report.notes.flatMap(note => (note.kind === 'lossy' ? [[note.loss, note.message]] : []))
    assert.deepEqual(deleted, [
      ['target_version_deleted', lossOf('2', '12')],
      ['target_version_deleted', lossOf('3', '13')],
      ['target_version_deleted', lossOf('4', '14, marked as deleted')],
    ])
    assert.deepEqual(openLosses(report), ['target_version_deleted'])
    assert.deepEqual(openLosses({ ...report, acceptLoss: ['target_version_deleted'] }), [])
  })

  test('deletes nothing where all is the same (case 30)', async t => {
    const stage = await openStage(t, await backUp(three), { start: two })
    await stage.restore({ ...free, strategy: 'overwrite' })
    assert.deepEqual(
      stage.takeWrites().filter(({ method, target }) => method === 'DELETE' && target.includes('/versions')),
      [],
    )
  })

  test('is refused where something else refers to what would go, and names it (case 30)', async t => {
    const start = snapshotOf([...diverged.versions, versionOf('theirs', 1, 13, { refs: ['a@2'] })])
    const stage = await openStage(t, await backUp(three), { start })
    const { plan } = await stage.survey({ strategy: 'overwrite' })
    assert.match(
      plan.conflicts[0]?.message ?? '',
      /^version 2 of subject a cannot be replaced: version 1 of subject theirs/,
    )
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('takes away a setting that the backup does not have (case 19)', async t => {
    const start = {
      ...two,
      subjects: new Map([['a', { compatibility: 'FULL', mode: null, config: { normalize: true } }]]),
    }
    const backup = await backUp(snapshotOf(three.versions, { subjects: { a: { compatibility: 'FULL' } } }))
    const stage = await openStage(t, backup, { start })
    await stage.restore({ ...free, strategy: 'overwrite' })
    assert.deepEqual((await stage.snapshot()).subjects.get('a'), { compatibility: 'FULL', mode: null, config: null })
  })

  test('puts nothing into the subject that an alias of the target leads to (case 34)', async t => {
    const start = snapshotOf([versionOf('other', 1, 11)], { subjects: { a: { config: { alias: 'other' } } } })
    const stage = await openStage(t, await backUp(three), { start })
    await stage.restore({ ...free, strategy: 'overwrite' })
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #12', 'a@2 #13', 'a@3 #14', 'other@1 #11'])
    stage.takeWrites()
    await stage.restore({ ...free, strategy: 'overwrite' })
    assert.deepEqual(stage.takeWrites(), [])
  })
})

describe('an alias', () => {
  const aliased = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)], {
    subjects: { nick: { config: { alias: 'a' } } },
  })

  test('is restored last, and a second restore is safe (case 34)', async t => {
    const backup = await backUp(aliased)
    const stage = await openStage(t, backup)
    for (const strategy of ['preserve', 'overwrite'] as const) {
      await stage.restore({ strategy })
      assert.deepEqual(essence(await stage.snapshot()), essence(backup))
    }
    const writes = stage.takeWrites()
    assert.equal(writes.at(-1)?.target, '/config/nick')
  })
})
