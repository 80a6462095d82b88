import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { forced, openStage } from './schema-stage.ts'

/** A backup that lacks what its schema refers to, as with include_references: false. */
const backup = snapshotOf([versionOf('orders', 1, 5, { refs: ['common@1'] })])
const common = versionOf('common', 1, 3)
const message =
  'version 1 of subject orders refers to version 1 of subject common, which the backup does not have: the one of the target ' +
  '(ID 3) takes its place, and may be another schema'

describe('a schema that refers to a version that is not in the backup', () => {
  test('is a loss where it is registered, before and after that, and not in a later run', async t => {
    const stage = await openStage(t, backup, { start: snapshotOf([common]) })
    const losses = ({ notes }: { notes: readonly object[] }) => notes.filter(note => 'loss' in note)
    const expected = [{ kind: 'lossy', loss: 'reference_outside', subject: 'orders', message }]
    assert.deepEqual(losses((await stage.survey()).plan), expected)
    assert.deepEqual(losses((await stage.restore()).report), expected)
    assert.deepEqual(losses((await stage.restore()).report), [])
    assert.deepEqual(losses((await stage.restore({ strategy: 'lookup' })).report), [])
  })

  test('is a loss also where a filter of types leaves out what the backup has, unless the target has the same', async t => {
    const own = { ...common, schemaType: 'JSON', schema: '{"type":"string"}' } as const
    const whole = snapshotOf([own, versionOf('orders', 1, 5, { refs: ['common@1'] })])
    for (const [theirs, losses] of [
      [own, []],
      [common, ['reference_outside']],
    ] as const) {
      const stage = await openStage(t, whole, { start: snapshotOf([theirs]) })
      const { plan } = await stage.survey({ schemaTypes: ['AVRO'] })
      assert.deepEqual(
        plan.notes.flatMap(note => (note.kind === 'lossy' ? [note.loss] : [])),
        losses,
      )
    }
  })

  test('is a conflict where the target does not have it, with whatever IDs', async t => {
    const stage = await openStage(t, backup)
    for (const options of [{}, forced]) {
      const { plan } = await stage.survey(options)
      assert.deepEqual([plan.steps, plan.conflicts.map(({ kind }) => kind)], [[], ['reference-missing']])
    }
  })
})
