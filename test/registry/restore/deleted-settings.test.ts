import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { brief, forced, openStage } from './schema-stage.ts'

/** A subject that is wholly marked as deleted, and was given settings after that. */
function deletedWith(settings: { compatibility?: string; mode?: string }) {
  const versions = [1, 3].map(version => versionOf('gone', version, version + 4, { isDeleted: true }))
  return snapshotOf([versionOf('live', 1, 9), ...versions], { subjects: { gone: settings } })
}

describe('a subject that loses its settings with its last live version', () => {
  for (const vendor of ['confluent', 'axonops'] as const) {
    for (const [name, settings] of Object.entries({
      'the level NONE': { compatibility: 'NONE' },
      'another level': { compatibility: 'FULL' },
      'a mode': { mode: 'READONLY' },
      'no settings': {},
    })) {
      test(`has ${name} after a restore into ${vendor}, and a second run writes nothing`, async t => {
        for (const options of [{}, forced, { setCompatibility: 'NONE' }] as const) {
          const stage = await openStage(t, deletedWith(settings), { vendor })
          await stage.restore(options)
          const held = await stage.snapshot()
          assert.deepEqual(
            brief(held).map(one => one.replace(/ #.*/, '')),
            ['-gone@1', '-gone@3', 'live@1'],
          )
          const { compatibility = null, mode = null } = settings as { compatibility?: string; mode?: string }
          assert.deepEqual(held.subjects.get('gone'), { compatibility, mode, config: null })
          stage.takeWrites()
          await stage.restore(options)
          assert.deepEqual(stage.takeWrites(), [])
        }
      })
    }
  }
})

test('a subject that loses its mode in the middle of an import is put into it again', async t => {
  const backup = snapshotOf([
    versionOf('a', 1, 5, { isDeleted: true }),
    versionOf('b', 1, 6, { refs: ['a@1'] }),
    versionOf('a', 2, 7, { refs: ['b@1'] }),
  ])
  // Another context is in use, so that subjects go into IMPORT one by one.
  const start = snapshotOf([versionOf(':.other:x', 1, 1)], { contexts: ['.', '.other'] })
  const stage = await openStage(t, backup, { vendor: 'confluent', start })
  await stage.restore(forced)
  const held = await stage.snapshot()
  assert.deepEqual(brief(held), [':.other:x@1 #1', '-a@1 #5', 'a@2 #7', 'b@1 #6'])
  assert.deepEqual(
    [...held.subjects.values()].map(({ mode }) => mode),
    [null, null, null],
  )
})
