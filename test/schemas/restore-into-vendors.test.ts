import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
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
