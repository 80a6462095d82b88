import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaBackupError } from '../../../src/errors.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, forced, openStage } from './schema-stage.ts'

const chain = snapshotOf([versionOf('a', 1, 5), versionOf('a', 2, 6), versionOf('b', 1, 7, { refs: ['a@1'] })])

describe('an ordinary restore', () => {
  for (const vendor of ['confluent', 'karapace', 'axonops'] as const) {
    test(`into an empty ${vendor} keeps numbers and references, and a second run writes nothing`, async t => {
      const stage = await openStage(t, await backUp(chain), { vendor, firstId: 50 })
      await stage.restore()
      const held = await stage.snapshot()
      assert.deepEqual(
        held.versions.map(({ subject, version }) => `${subject}@${version}`),
        ['a@1', 'a@2', 'b@1'],
      )
      assert.deepEqual(held.versions[2]?.references, [{ name: 'a', subject: 'a', version: 1 }])
      stage.takeWrites()
      await stage.restore()
      assert.deepEqual(stage.takeWrites(), [])
    })
  }

  for (const vendor of ['confluent', 'axonops'] as const) {
    test(`into an empty ${vendor} keeps IDs with force_ids`, async t => {
      const stage = await openStage(t, await backUp(chain), { vendor })
      await stage.restore(forced)
      assert.deepEqual(brief(await stage.snapshot()), ['a@1 #5', 'a@2 #6', 'b@1 #7'])
      assert.equal((await stage.snapshot()).global.mode, 'READWRITE')
    })
  }

  test('keeps subjects of AxonOps with characters that its router compares as they came', async t => {
    const names = ['com.acme.Outer$Inner', 'a+b@c=d&e,f;g', "it's (1) *!", '50%', 'größe']
    const backup = snapshotOf(names.map((name, at) => versionOf(name, 1, at + 1)))
    const stage = await openStage(t, await backUp(backup), { vendor: 'axonops' })
    await stage.restore()
    assert.deepEqual(new Set((await stage.snapshot()).subjects.keys()), new Set(names))
  })
})

describe('a vendor registry that is in use', () => {
  const theirs = versionOf('theirs', 1, 40, { schema: '"int"' })
  const differing = snapshotOf([versionOf('a', 1, 41, { schema: '"long"' }), theirs])

  for (const vendor of ['confluent', 'axonops'] as const) {
    test(`${vendor} refuses force_ids with every strategy, and nothing is deleted; its own second run writes nothing`, async t => {
      const used = await openStage(t, await backUp(chain), { vendor, start: snapshotOf([theirs]) })
      for (const strategy of ['preserve', 'overwrite', 'skip'] as const) {
        const { plan } = await used.survey({ ...forced, strategy })
        assert.ok(plan.conflicts.some(({ kind }) => kind === 'not-empty'))
        await assert.rejects(used.restore({ ...forced, strategy }), /conflicts/)
      }
      assert.deepEqual(used.takeWrites(), [])
      assert.deepEqual(brief(await used.snapshot()), ['theirs@1 #40'])
      const own = await openStage(t, await backUp(chain), { vendor })
      await own.restore(forced)
      own.takeWrites()
      for (const strategy of ['preserve', 'overwrite', 'skip'] as const) await own.restore({ ...forced, strategy })
      assert.deepEqual(own.takeWrites(), [])
    })
  }

  for (const vendor of ['confluent', 'karapace', 'axonops'] as const) {
    test(`${vendor} keeps a version that differs with preserve, which adds what is missing and reports it`, async t => {
      const backup = snapshotOf([versionOf('a', 1, 5), versionOf('c', 1, 6)])
      const stage = await openStage(t, await backUp(backup), { vendor, start: differing })
      const { plan } = await stage.survey()
      assert.deepEqual(plan.conflicts, [])
      await stage.restore()
      const held = await stage.snapshot()
      const first = held.versions.find(({ subject, version }) => subject === 'a' && version === 1)
      assert.deepEqual([first?.id, first?.schema], [41, '"long"'])
      assert.ok(held.versions.some(({ subject }) => subject === 'c'))
      assert.ok(
        plan.notes.some(({ message }) => /\ba\b/.test(message)),
        JSON.stringify(plan.notes),
      )
      stage.takeWrites()
      await stage.restore()
      assert.deepEqual(stage.takeWrites(), [])
    })

    test(`${vendor} gets nothing of a subject that it has with skip, and all of one that it lacks`, async t => {
      const backup = snapshotOf([versionOf('a', 1, 5), versionOf('a', 2, 7), versionOf('c', 1, 6)])
      const stage = await openStage(t, await backUp(backup), { vendor, start: differing })
      await stage.restore({ strategy: 'skip' })
      const held = (await stage.snapshot()).versions.map(({ subject, version }) => `${subject}@${version}`)
      assert.deepEqual(held.sort(), ['a@1', 'c@1', 'theirs@1'])
    })
  }
})

describe('Karapace, which has no modes', () => {
  const subjects = { a: { mode: 'READONLY' } }
  const readOnly = snapshotOf([versionOf('a', 1, 5)], { subjects })

  for (const isTold of [true, false]) {
    test(`takes a read-only subject as lossy, in every run, ${isTold ? 'by' : 'also without'} its version`, async t => {
      const stage = await openStage(t, await backUp(readOnly), { vendor: 'karapace' })
      const json = { status: { schema_registry_ready: true }, healthy: true }
      await stage.setProxy(({ target }) =>
        target === '/_health' && !isTold ? { kind: 'answer', status: 200, json } : { kind: 'pass' },
      )
      for (const writes of [1, 0]) {
        const { plan } = await stage.survey()
        const lossy = plan.notes.filter(({ kind }) => kind === 'lossy').map(({ message }) => message)
        assert.deepEqual(lossy, ['the target registry (karapace) does not keep the mode READONLY of a'])
        await stage.restore()
        assert.equal(stage.takeWrites().filter(({ method }) => method === 'POST').length, writes)
      }
    })
  }

  test('refuses force_ids in the plan, before any write', async t => {
    const stage = await openStage(t, await backUp(chain), { vendor: 'karapace' })
    const { plan } = await stage.survey(forced)
    assert.match(plan.conflicts[0]?.message ?? '', /^the target registry \(karapace\) gives IDs itself, so that/)
    assert.deepEqual(plan.steps, [])
    assert.deepEqual(stage.takeWrites(), [])
  })
})

describe('Confluent 8.0.0', () => {
  test('takes no mode FORWARD: it is lossy, and no run fails at it', async t => {
    const subjects = { a: { mode: 'FORWARD' } }
    const global = { compatibility: 'FULL', mode: 'FORWARD', config: null }
    const stage = await openStage(t, snapshotOf([versionOf('a', 1, 5)], { subjects, global }), { vendor: 'confluent' })
    const { plan } = await stage.survey()
    const lossy = plan.notes.filter(({ kind }) => kind === 'lossy').map(({ message }) => message)
    assert.deepEqual(lossy, [
      'the target registry (confluent) does not keep the mode FORWARD of a',
      'the target registry (confluent) does not keep the mode FORWARD of the whole registry',
    ])
    await stage.restore()
    stage.takeWrites()
    await stage.restore()
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('takes no schema of a megabyte, and the error says what to raise', async t => {
    const schema = JSON.stringify({ type: 'record', name: 'Large', doc: 'd'.repeat(2 ** 20), fields: [] })
    const stage = await openStage(t, snapshotOf([versionOf('a', 1, 5, { schema })]), { vendor: 'confluent' })
    await assert.rejects(stage.restore(), (error: KafkaBackupError) => {
      assert.match(error.message, /^Schema registration failed for subject a: version 1: .*42209/)
      assert.match(error.help, /raise max\.message\.bytes of its topic/)
      return true
    })
  })
})
