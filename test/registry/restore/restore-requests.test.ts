import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type RegistrySnapshot, versionKey } from '../../../src/archive/registry-model.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, forced, openStage, type Stage } from './schema-stage.ts'

const SUBJECTS = 30
const VERSIONS = 10
/** Reading the target before and after, whatever the number of subjects. */
const FIXED = 50

/** Records that get one field more with every version, as the benchmark has them. */
function histories(more: Parameters<typeof snapshotOf>[1] = {}): RegistrySnapshot {
  const versions = Array.from({ length: SUBJECTS }, (_, subject) =>
    Array.from({ length: VERSIONS }, (_, at) => {
      const fields = Array.from({ length: at + 1 }, (_, field) => ({ name: `f${field}`, type: 'int', default: 0 }))
      const schema = JSON.stringify({ type: 'record', name: `r${subject}`, fields })
      return versionOf(nameOf(subject), at + 1, subject * VERSIONS + at + 1, { schema })
    }),
  )
  return snapshotOf(versions.flat(), more)
}

function nameOf(subject: number): string {
  return `s${String(subject).padStart(2, '0')}`
}

/** How often each request was sent, with `S` for any subject. */
function tally({ calls }: Stage): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { method, target } of calls) {
    const key = `${method} ${target.replace(/s\d\d/, 'S')}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

describe('the requests of a restore of schemas', () => {
  for (const [name, options] of [
    ['one that gives its own IDs', {}],
    ['one that takes the old IDs', forced],
  ] as const) {
    test(`into an empty registry, ${name}: one a version and one a subject`, async t => {
      const stage = await openStage(t, await backUp(histories()))
      await stage.restore(options)
      const counts = tally(stage)
      assert.equal(counts.get('POST /subjects/S/versions'), SUBJECTS * VERSIONS)
      assert.equal(counts.get('GET /config/S'), SUBJECTS)
      const rest = stage.calls.length - SUBJECTS * (VERSIONS + 1)
      assert.ok(rest <= FIXED, `${rest} other requests: ${JSON.stringify([...counts])}`)
    })
  }

  test('into a registry in use: settings of other subjects are not asked for', async t => {
    const others = Array.from({ length: 50 }, (_, at) => versionOf(`other${at}`, 1, 1000 + at))
    const stage = await openStage(t, await backUp(histories()), { start: snapshotOf(others) })
    await stage.restore()
    assert.deepEqual(
      stage.calls.filter(({ target }) => /(config|mode)\/other/.test(target)),
      [],
    )
    assert.ok(stage.calls.length <= SUBJECTS * (VERSIONS + 1) + FIXED, String(stage.calls.length))
  })

  test('settings of subjects: each is set by one request, and read back once', async t => {
    const names = Array.from({ length: SUBJECTS }, (_, subject) => nameOf(subject))
    const subjects = Object.fromEntries(names.map(name => [name, { compatibility: 'FULL' }]))
    const stage = await openStage(t, await backUp(histories({ subjects })))
    await stage.restore()
    const counts = tally(stage)
    assert.deepEqual(
      [counts.get('PUT /config/S'), counts.get('DELETE /config/S'), counts.get('GET /config/S')],
      [SUBJECTS, undefined, 2 * SUBJECTS],
    )
    const { subjects: after } = await stage.snapshot()
    assert.deepEqual(
      names.filter(name => after.get(name)?.compatibility !== 'FULL'),
      [],
    )
  })

  test('a second run reads and writes nothing but what proves that all is there', async t => {
    const stage = await openStage(t, await backUp(histories()))
    await stage.restore()
    const before = stage.calls.length
    stage.takeWrites()
    const { report } = await stage.restore()
    assert.deepEqual([report.wasComplete, stage.takeWrites()], [true, []])
    assert.ok(stage.calls.length - before <= 2 * SUBJECTS + FIXED)
  })
})

describe('a history that breaks its level', () => {
  const record = (type: string) => `{"type":"record","name":"r","fields":[{"name":"f","type":"${type}"}]}`
  const broken = ['int', 'string', 'int'].map((type, at) => versionOf('a', at + 1, at + 1, { schema: record(type) }))

  test('has the level of its subject lifted, and put back, for that subject alone', async t => {
    const backup = await backUp(snapshotOf([...broken.slice(0, 2), versionOf('b', 1, 9)]))
    const stage = await openStage(t, backup)
    stage.store.updateConfig('a', { compatibility: 'FULL', normalize: false })
    await stage.restore()
    const after = await stage.snapshot()
    assert.deepEqual(brief(after), ['a@1 #1', 'a@2 #3', 'b@1 #2'].sort())
    assert.deepEqual(after.subjects.get('a'), { compatibility: 'FULL', mode: null, config: { normalize: false } })
    const settings = stage.takeWrites().filter(({ target }) => target.includes('/config'))
    assert.deepEqual(
      settings.map(({ method, target }) => `${method} ${target}`),
      ['PUT /config/a', 'PUT /config/a'],
    )
  })

  test('leaves the level as it was where a later version is refused for another reason', async t => {
    const backup = snapshotOf([...broken.slice(0, 2), versionOf('a', 3, 3, { schema: 'no schema' })])
    const stage = await openStage(t, backup)
    await assert.rejects(stage.restore(), { code: 'REGISTRY_REFUSED' })
    assert.equal((await stage.snapshot()).subjects.get('a')?.compatibility, null)
  })
})

describe('a subject without versions', () => {
  test('that somebody has closed is opened for the time, and closed again', async t => {
    const stage = await openStage(t, await backUp(snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])))
    stage.store.setMode('a', 'READONLY', false)
    await stage.restore()
    const after = await stage.snapshot()
    assert.deepEqual(after.versions.map(({ subject, version }) => versionKey(subject, version)).sort(), ['a@1', 'b@1'])
    assert.equal(after.subjects.get('a')?.mode, 'READONLY')
    stage.takeWrites()
    assert.ok((await stage.restore()).report.wasComplete)
    assert.deepEqual(stage.takeWrites(), [])
  })
})
