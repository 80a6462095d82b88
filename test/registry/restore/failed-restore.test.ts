import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../../src/errors.ts'
import { isWrite } from '../../fakes/registry-proxy.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, forced, openJournals, openStage } from './schema-stage.ts'

const record = (...fields: string[]) =>
  JSON.stringify({ type: 'record', name: 'r', fields: fields.map(name => ({ name, type: 'int' })) })

/** Two subjects with histories, sparse numbers, levels and a reference. */
function histories() {
  const versions = [
    versionOf('a', 1, 11, { schema: record('x') }),
    versionOf('a', 3, 12, { schema: record('y') }),
    versionOf('b', 1, 13),
    versionOf('c', 1, 14, { refs: ['b@1'] }),
    versionOf('d', 1, 15),
    versionOf('d', 2, 16),
  ]
  return snapshotOf(versions, { subjects: { a: { compatibility: 'FULL' }, d: { mode: 'READONLY' } } })
}

const settings = ({ subjects, global }: ReturnType<typeof histories>) => [
  global,
  Object.fromEntries([...subjects].filter(([, one]) => Object.values(one).some(value => value !== null))),
]

describe('a registration that a registry refuses', () => {
  test('is reported after everything else is restored, with levels and modes as they are to be', async t => {
    const stage = await openStage(t, await backUp(histories()))
    let isRefusing = true
    await stage.setProxy(({ method, target }) => {
      const isRefused = isRefusing && method === 'POST' && target.startsWith('/subjects/b/versions')
      return isRefused
        ? { kind: 'answer', status: 422, json: { error_code: 42209, message: 'too large' } }
        : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(), (error: KafkaBackupError) => {
      assert.equal(error.code, 'REGISTRY_REFUSED')
      assert.match(
        error.message,
        /^Schema registration failed for subject b: version 1: .* error code 42209: too large/,
      )
      return true
    })
    assert.deepEqual(
      brief(await stage.snapshot()).map(line => line.split(' ')[0]),
      ['a@1', 'a@3', 'd@1', 'd@2'],
    )
    assert.deepEqual(settings(await stage.snapshot()), settings(histories()))
    assert.deepEqual(stage.warnings, ['everything else is restored; 2 versions are not'])

    stage.takeWrites()
    await assert.rejects(stage.restore(), /^KafkaBackupError: Schema registration failed for subject b/)
    assert.deepEqual(stage.takeWrites(), [], 'a second run sends what was refused, and changes nothing')

    isRefusing = false
    await stage.restore()
    assert.equal((await stage.snapshot()).versions.length, 6)
    assert.deepEqual([settings(await stage.snapshot()), openJournals(stage)], [settings(histories()), []])
  })

  test('holds back later versions of its subject, whose numbers it would lose, and takes them with force_ids', async t => {
    for (const [options, expected] of [
      [{}, ['b@1', 'c@1', 'd@1', 'd@2']],
      [forced, ['a@3', 'b@1', 'c@1', 'd@1', 'd@2']],
    ] as const) {
      const stage = await openStage(t, await backUp(histories()))
      await stage.setProxy(({ method, body }) => {
        const isRefused = method === 'POST' && JSON.parse(body).schema === record('x')
        return isRefused
          ? { kind: 'answer', status: 422, json: { error_code: 42201, message: 'no' } }
          : { kind: 'pass' }
      })
      await assert.rejects(
        stage.restore(options),
        /^KafkaBackupError: Schema registration failed for subject a: version 1/,
      )
      const places = brief(await stage.snapshot()).map(line => line.split(' ')[0])
      assert.deepEqual(
        places.filter(place => !place?.includes('kafka-backup')),
        expected,
      )
    }
  })

  test('by a fault of the server for one subject alone does not end the restore of the others', async t => {
    const stage = await openStage(t, await backUp(histories()))
    await stage.setProxy(({ method, target }) => {
      const isFaulty = method === 'POST' && target.startsWith('/subjects/d/versions')
      return isFaulty ? { kind: 'answer', status: 500, json: { error_code: 50001, message: 'oops' } } : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(), /answered 500, error code 50001: oops/)
    const after = await stage.snapshot()
    assert.deepEqual(
      brief(after).map(line => line.split(' ')[0]),
      ['a@1', 'a@3', 'b@1', 'c@1'],
    )
    assert.equal(after.subjects.get('a')?.compatibility, 'FULL')
  })

  test('by access rules for one subject alone does not end the restore of the others', async t => {
    const stage = await openStage(t, await backUp(histories()))
    await stage.setProxy(({ method, target }) => {
      const isDenied = method !== 'GET' && /^\/\w+\/d\b/.test(target)
      return isDenied
        ? { kind: 'answer', status: 403, json: { error_code: 40301, message: 'denied' } }
        : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(), /answered 403, error code 40301: denied/)
    assert.equal(brief(await stage.snapshot()).length, 4)
  })
})

describe('settings that a registry refuses or ignores', () => {
  for (const [way, treat] of [
    ['refuses', { kind: 'answer', status: 422, json: { error_code: 42204, message: 'Invalid mode' } }],
    ['ignores', { kind: 'answer', status: 200, json: { mode: 'READONLY' } }],
  ] as const) {
    test(`are reported as lossy where it ${way} them, and a second run writes nothing`, async t => {
      const stage = await openStage(t, await backUp(histories()))
      await stage.setProxy(({ method, target, body }) => {
        const isMode = method === 'PUT' && target.startsWith('/mode/d') && body.includes('READONLY')
        return isMode ? treat : { kind: 'pass' }
      })
      const { report } = await stage.restore()
      const lost = report.notes.flatMap(note => (note.kind === 'lossy' ? [[note.loss, note.subject]] : []))
      assert.deepEqual(lost, [['mode', 'd']])
      assert.match(report.notes[0]?.message ?? '', /does not keep the mode READONLY of subject d: /)
      assert.deepEqual(openJournals(stage), [])
      stage.takeWrites()
      const again = await stage.restore()
      assert.deepEqual([stage.takeWrites(), again.report.notes], [[], report.notes])
    })
  }
})

describe('a restore of schemas that does not end', () => {
  for (const [way, options] of [
    ['with force_ids', forced],
    ['into a registry that gives its own IDs', {}],
  ] as const) {
    test(`puts levels and modes back and removes fillers, ${way}, when it is aborted`, async t => {
      const before = snapshotOf([], { subjects: { a: { compatibility: 'FULL_TRANSITIVE' } } })
      const whole = await openStage(t, await backUp(histories()), { start: before })
      await whole.restore(options)
      const writes = whole.takeWrites().length
      for (let nth = 1; nth < writes; nth += 2) {
        const stage = await openStage(t, await backUp(histories()), { start: before })
        const stop = new AbortController()
        let seen = 0
        stage.onRequest = call => {
          if (isWrite(call) && ++seen === nth) stop.abort(new Error('stopped'))
        }
        await assert.rejects(stage.restore(options, { signal: stop.signal }), /stopped/)
        const after = await stage.snapshot()
        const modes = [after.global.mode, ...[...after.subjects.values()].map(({ mode }) => mode)]
        assert.ok(!modes.includes('IMPORT'), `after ${nth} writes`)
        const levels = [...after.subjects.values()].map(({ compatibility }) => compatibility)
        assert.ok(!levels.includes('NONE'), `after ${nth} writes`)
        assert.ok(!after.versions.some(({ schema }) => schema.includes('kafka_backup_filler')), `after ${nth} writes`)
        stage.onRequest = undefined
        await stage.restore(options)
        assert.deepEqual(settings(await stage.snapshot()), settings(await whole.snapshot()))
        assert.deepEqual(openJournals(stage), [])
      }
    })
  }

  test('writes nothing more once its lease is lost, since another restore may be at work', async t => {
    const stage = await openStage(t, await backUp(histories()))
    let isLost = false
    stage.onRequest = ({ method }) => {
      isLost ||= method === 'POST'
    }
    const assertHeld = () => {
      if (isLost) throw new KafkaBackupError('WRITER_CONFLICT', 'the lease could not be renewed in time')
    }
    await assert.rejects(stage.restore({ ...forced }, { hold: { assertHeld } }), { code: 'WRITER_CONFLICT' })
    const writes = stage.takeWrites().map(({ method }) => method)
    assert.deepEqual(
      writes.slice(writes.indexOf('POST')).filter(method => method !== 'POST'),
      [],
    )
    assert.match(stage.warnings[0] ?? '', /another restore may be writing .* run the same command again/)
    assert.equal(openJournals(stage).length, 1)
    stage.onRequest = undefined
    await stage.restore(forced)
    assert.deepEqual([settings(await stage.snapshot()), openJournals(stage)], [settings(histories()), []])
  })

  test('reports what it could not restore when the connection is lost, and the next run restores it', async t => {
    const stage = await openStage(t, await backUp(histories()))
    let isLost = false
    await stage.setProxy(({ method, target }) => {
      isLost ||= method === 'POST' && target.startsWith('/subjects/c/')
      return isLost ? { kind: 'cut-before' } : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(), { code: 'REGISTRY_UNREACHABLE' })
    assert.ok(stage.warnings.some(message => /could not restore the level of subject a: .+/.test(message)))
    assert.match(stage.warnings.at(-1) ?? '', /could not be undone: run the same command again/)
    isLost = false
    await stage.setProxy(() => ({ kind: 'pass' }))
    await stage.restore()
    assert.deepEqual([settings(await stage.snapshot()), openJournals(stage)], [settings(histories()), []])
  })

  test('restores every mode that it can when the registry refuses some of them, and reports each refusal', async t => {
    const names = Array.from({ length: 30 }, (_, nth) => `s${String(nth).padStart(2, '0')}`)
    const refused = new Set(['s00', 's11'])
    const subjects = Object.fromEntries(names.map(name => [name, { mode: 'READONLY' }]))
    const global = { compatibility: 'NONE', mode: 'READWRITE', config: null }
    const first = names.map((name, nth) => versionOf(name, 1, nth + 1))
    const second = names.map((name, nth) => versionOf(name, 2, nth + 101))
    const stage = await openStage(t, await backUp(snapshotOf([...first, ...second], { subjects, global })), {
      start: snapshotOf(first, { subjects, global }),
    })
    let isFailed = false
    await stage.setProxy(({ method, target, body }) => {
      const isCut = method === 'POST' && target.startsWith('/subjects/s29/versions')
      isFailed ||= isCut
      if (isCut) return { kind: 'cut-before' }
      const [, subject = ''] = /^\/mode\/(\w+)/.exec(target) ?? []
      const isRefused = isFailed && method === 'PUT' && refused.has(subject) && body.includes('READONLY')
      return isRefused
        ? { kind: 'answer', status: 422, json: { error_code: 42205, message: `${subject} is locked` } }
        : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(), { code: 'REGISTRY_UNREACHABLE' })
    const modes = (await stage.snapshot()).subjects
    const open = names.filter(name => modes.get(name)?.mode !== 'READONLY')
    assert.deepEqual(open, ['s00', 's11'])
    const refusals = stage.warnings.filter(message => message.includes('is locked'))
    assert.deepEqual(
      refusals.map(message => /mode of subject (\w+)/.exec(message)?.[1]),
      ['s00', 's11'],
    )
    assert.equal(openJournals(stage).length, 1)

    await stage.setProxy(() => ({ kind: 'pass' }))
    await stage.restore()
    const after = await stage.snapshot()
    assert.ok(names.every(name => after.subjects.get(name)?.mode === 'READONLY'))
    assert.equal(after.versions.length, 60)
    assert.deepEqual(openJournals(stage), [])
  })
})
