import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { splitSubject } from '../../../src/archive/registry-model.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { sampleRegistry } from './sample-registry.ts'
import { backUp, brief, essence, forced, openStage } from './schema-stage.ts'

const free = { setCompatibility: 'NONE' } as const

describe('a restore with force_ids', () => {
  test('makes an empty registry what the source was: numbers, IDs, marks, references, contracts, settings', async t => {
    const backup = await backUp(sampleRegistry())
    assert.deepEqual(brief(backup), brief(sampleRegistry()))
    const stage = await openStage(t, backup, { firstId: 500 })
    const { report, idMap } = await stage.restore(forced)
    assert.deepEqual(essence(await stage.snapshot()), essence(backup))
    assert.deepEqual(report.notes, [])
    assert.ok(['.', '.eu'].every(context => idMap.isIdentity(context)))
  })

  test('writes nothing in a second run, which finds the same IDs (case 26)', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()))
    const first = await stage.restore(forced)
    assert.ok(stage.takeWrites().length > 40)
    const second = await stage.restore(forced)
    assert.deepEqual(stage.takeWrites(), [])
    assert.equal(second.idMap.digest, first.idMap.digest)
    assert.deepEqual(second.report.ids, first.report.ids)
    assert.ok(second.report.wasComplete)
  })

  test('keeps IDs that the source has given from being given again (case 27)', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()))
    await stage.restore(forced)
    const content = { schemaType: 'AVRO', references: [], metadata: null, ruleSet: null } as const
    const fresh = { ...content, schema: '{"type":"fixed","name":"new","size":9}', id: null, version: 0 }
    assert.equal(stage.store.register('fresh', fresh).id, 401)
    assert.equal(stage.store.register(':.eu:fresh', fresh).id, 12)
  })

  test('restores an empty registry, and one of deleted subjects only (case 42)', async t => {
    const nothing = await openStage(t, await backUp(snapshotOf([])))
    await nothing.restore(forced)
    assert.deepEqual(nothing.takeWrites(), [])
    const backup = await backUp(snapshotOf([versionOf('a', 2, 7, { isDeleted: true })]))
    const stage = await openStage(t, backup)
    await stage.restore(forced)
    assert.deepEqual(brief(await stage.snapshot()), ['-a@2 #7'])
  })

  test('leaves one schema under fifty subjects with one ID (case 5)', async t => {
    const { schema } = versionOf('', 0, 9)
    const many = Array.from({ length: 50 }, (_, at) => versionOf(`s${String(at).padStart(2, '0')}`, 1, 9, { schema }))
    const stage = await openStage(t, await backUp(snapshotOf(many)))
    await stage.restore(forced)
    assert.equal(stage.store.versionsOfId(9, ':.:', 'live').length, 50)
  })
})

describe('a restore into a registry that gives its own IDs', () => {
  test('maps every ID to one that means the same schema, context by context (case 33)', async t => {
    const backup = await backUp(sampleRegistry())
    const stage = await openStage(t, backup, { firstId: 500 })
    const { idMap, report } = await stage.restore(free)
    for (const { subject, id, schema, schemaType } of backup.versions) {
      const { context } = splitSubject(subject)
      const mapped = idMap.get(context, id) ?? 0
      assert.ok(mapped >= 500, `${context} ${id}`)
      const found = stage.store.byId(mapped, `:${context}:`)
      assert.deepEqual([found.schema, found.schemaType], [schema, schemaType])
    }
    assert.deepEqual(report.unmappedIds, [])
  })

  test('writes nothing in a second run, which finds the same IDs', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()), { firstId: 500 })
    const first = await stage.restore(free)
    stage.takeWrites()
    const second = await stage.restore(free)
    assert.deepEqual(stage.takeWrites(), [])
    assert.equal(second.idMap.digest, first.idMap.digest)
  })

  test('keeps the numbers of versions by fillers, and leaves none of them behind (case 3)', async t => {
    const backup = await backUp(snapshotOf([versionOf('a', 1, 1), versionOf('a', 3, 2), versionOf('late', 2, 3)]))
    const stage = await openStage(t, backup, { firstId: 500 })
    await stage.restore(free)
    const { versions } = await stage.snapshot()
    assert.deepEqual(
      versions.map(({ subject, version }) => `${subject}@${version}`),
      ['a@1', 'a@3', 'late@2'],
    )
  })

  test('tells what such a registry cannot hold, and never calls it complete (cases 6, 11)', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()))
    const { report } = await stage.restore(free)
    const lossy = report.notes.filter(({ kind }) => kind === 'lossy').map(({ subject }) => subject)
    assert.deepEqual(lossy, ['again', 'Hidden'])
    const second = await stage.restore(free)
    assert.deepEqual(
      second.report.notes.map(({ kind, subject }) => [kind, subject]),
      report.notes.map(({ kind, subject }) => [kind, subject]),
    )
  })

  test('tells in every run that a version got the metadata of the one before it (cases 26, 31)', async t => {
    const metadata = { properties: { owner: 'sales' } }
    const backup = await backUp(snapshotOf([versionOf('a', 1, 1, { metadata }), versionOf('a', 2, 2)]))
    const stage = await openStage(t, backup)
    for (const isFirst of [true, false]) {
      const { report } = await stage.restore(free)
      assert.match(
        report.notes[0]?.message ?? '',
        /^a version of a without metadata gets the metadata of the version before it/,
      )
      assert.equal(stage.takeWrites().length > 0, isFirst)
    }
    assert.deepEqual(
      (await stage.snapshot()).versions.map(one => one.metadata),
      [metadata, metadata],
    )
  })

  test('leaves the levels and modes of the source, or none where it had none (case 18)', async t => {
    const backup = await backUp(sampleRegistry())
    const stage = await openStage(t, backup)
    await stage.restore(free)
    const after = await stage.snapshot()
    assert.deepEqual(Object.fromEntries(after.subjects), Object.fromEntries(backup.subjects))
    assert.deepEqual(after.global, backup.global)
    assert.deepEqual(after.contextSettings, backup.contextSettings)
  })

  test('leaves other subjects as they are, and writable all the time (case 23)', async t => {
    const start = snapshotOf([versionOf('theirs', 1, 1), versionOf('gone', 1, 2, { isDeleted: true })])
    const stage = await openStage(t, await backUp(sampleRegistry()), { start })
    let count = 0
    stage.onRequest = ({ method }) => {
      if (method === 'GET') return
      const schema = `{"type":"fixed","name":"n${++count}","size":1}`
      const content = { schemaType: 'AVRO', references: [], metadata: null, ruleSet: null } as const
      stage.store.register('busy', { ...content, schema, id: null, version: 0 }, true)
    }
    await stage.restore(free)
    assert.ok(count > 50)
    const { versions } = await stage.snapshot()
    const theirs = versions.filter(({ subject }) => subject === 'theirs' || subject === 'gone')
    assert.deepEqual(
      theirs.map(({ guid: _, ...rest }) => rest),
      [start.versions[1], start.versions[0]]
        .map(one => ({ ...one, guid: undefined }))
        .map(({ guid: _, ...rest }) => rest),
    )
    assert.equal(versions.filter(({ subject }) => subject === 'busy').length, count)
  })
})

describe('settings of a restore', () => {
  test('subject_mapping takes references along', async t => {
    const backup = await backUp(snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] })]))
    const stage = await openStage(t, backup, { firstId: 500 })
    await stage.restore({ subjectMapping: new Map([['a', 'renamed']]) })
    const { versions } = await stage.snapshot()
    assert.deepEqual(
      versions.map(({ subject, references }) => [subject, references.map(one => `${one.name} ${one.subject}`)]),
      [
        ['b', ['a renamed']],
        ['renamed', []],
      ],
    )
    stage.takeWrites()
    await stage.restore({ subjectMapping: new Map([['a', 'renamed']]) })
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('subject_mapping takes a subject into another context, with IDs of that one', async t => {
    const backup = await backUp(snapshotOf([versionOf('a', 1, 1)]))
    const stage = await openStage(t, backup, { firstId: 500 })
    const { idMap } = await stage.restore({ subjectMapping: new Map([['a', ':.eu:a']]) })
    assert.deepEqual(brief(await stage.snapshot()), [':.eu:a@1 #500'])
    assert.equal(idMap.get('.', 1), 500)
  })

  test('set_compatibility lets an incompatible history in, and the level of the source is there afterwards (case 28)', async t => {
    const stage = await openStage(t, await backUp(incompatible()))
    await stage.restore(free)
    const after = await stage.snapshot()
    assert.deepEqual(brief(after), ['a@1 #1', 'a@2 #2'])
    assert.equal(after.subjects.get('a')?.compatibility, 'BACKWARD')
    assert.equal(after.global.compatibility, 'FULL')
  })

  test('force_register lets it in without touching a level, where the registry can', async t => {
    const stage = await openStage(t, await backUp(incompatible()))
    await stage.restore({ forceRegister: true })
    const writes = stage.takeWrites().map(({ method, target }) => `${method} ${target}`)
    assert.deepEqual(writes.slice(0, 2), Array(2).fill('POST /subjects/a/versions?force=true'))
    assert.equal((await stage.snapshot()).subjects.get('a')?.compatibility, 'BACKWARD')
  })

  test('lookup maps IDs and writes nothing', async t => {
    const backup = await backUp(snapshotOf([versionOf('a', 1, 1)]))
    const stage = await openStage(t, backup, {
      start: snapshotOf([versionOf('x', 1, 77, { schema: versionOf('', 0, 1).schema })]),
    })
    const { idMap } = await stage.restore({ strategy: 'lookup' })
    assert.equal(idMap.get('.', 1), 77)
    assert.deepEqual([stage.takeWrites(), [...stage.storage.objects]], [[], []])
  })

  test('schema_types leaves the other types out', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()))
    await stage.restore({ ...forced, schemaTypes: ['PROTOBUF'] })
    const { versions } = await stage.snapshot()
    assert.deepEqual(
      versions.filter(({ subject }) => !subject.includes('kafka-backup.')).map(({ subject }) => subject),
      ['geo/point.proto', 'path'],
    )
  })
})

describe('a survey of a target', () => {
  test('sends nothing but questions, whatever it finds (case 40)', async t => {
    const spaced = versionOf('Chain5', 1, 15, {
      schema: `{ "type":"record", "name":"Chain5", "fields":[{"name":"fint","type":"int"}]}`,
    })
    const stage = await openStage(t, await backUp(sampleRegistry()), {
      start: snapshotOf([spaced, versionOf('late', 2, 9)]),
    })
    for (const strategy of ['preserve', 'overwrite', 'skip', 'lookup'] as const) {
      for (const forceIds of [false, true]) await stage.survey({ strategy, forceIds })
    }
    const methods = new Set(stage.calls.map(({ method }) => method))
    assert.deepEqual(stage.takeWrites(), [])
    assert.deepEqual([...methods], ['GET', 'POST'])
    assert.deepEqual([...stage.storage.objects], [])
  })

  test('takes a text that the registry calls the same schema for the same', async t => {
    const spaced = versionOf('a', 1, 9, { schema: '{ "type": "fixed", "name": "s1", "size": 1 }' })
    const stage = await openStage(t, await backUp(snapshotOf([versionOf('a', 1, 1)])), { start: snapshotOf([spaced]) })
    const { plan } = await stage.survey()
    assert.deepEqual(
      plan.versions.map(({ action, id }) => [action, id]),
      [['keep', 9]],
    )
  })
})

function incompatible() {
  const record = (type: string) => `{"type":"record","name":"r","fields":[{"name":"f","type":"${type}"}]}`
  const versions = [versionOf('a', 1, 5, { schema: record('int') }), versionOf('a', 2, 6, { schema: record('string') })]
  return snapshotOf(versions, {
    subjects: { a: { compatibility: 'BACKWARD' } },
    global: { compatibility: 'FULL', mode: 'READWRITE', config: null },
  })
}
