import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RegistryPlan } from '../../../../src/registry/restore/plan/restore-step.ts'
import { traitsOf } from '../../../../src/registry/restore/plan/target-traits.ts'
import { snapshotOf, unset, versionOf } from '../../../fakes/registry-snapshots.ts'
import { forced, importedOf, kinds, outline, plan, restore } from './restore-stage.ts'

describe('settings', () => {
  test('that are unset stay unset, and no default is written (edge 18)', () => {
    const backup = snapshotOf([versionOf('full', 1, 1), versionOf('none', 1, 2), versionOf('unset', 1, 3)], {
      subjects: {
        full: { compatibility: 'FULL' },
        none: { compatibility: 'NONE' },
        aliased: { config: { alias: 'full' } },
      },
      global: { compatibility: 'FULL', mode: 'READWRITE', config: null },
    })
    for (const options of [{}, forced, { setCompatibility: 'NONE' }]) {
      const { after } = restore(backup, undefined, options)
      assert.deepEqual(after.subjects, backup.subjects)
      assert.deepEqual(after.global, backup.global)
    }
  })

  test('a job that sets a level has it during registrations alone (edge 18, 28)', () => {
    const incompatible = { schema: '"incompatible with what was before"' }
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2, incompatible)], {
      subjects: { a: { compatibility: 'BACKWARD' } },
    })
    const { plan, after } = restore(backup, undefined, { setCompatibility: 'NONE' })
    assert.deepEqual(outline(plan), ['config a NONE', 'register a@1', 'register a@2', 'config a BACKWARD'])
    assert.equal(after.subjects.get('a')?.compatibility, 'BACKWARD')
  })

  test('force_register asks the registry, or takes the level away for the time, where it cannot be asked (edge 28)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2, { schema: '"incompatible"' })])
    const asked = restore(backup, undefined, { forceRegister: true })
    assert.deepEqual(outline(asked.plan), ['register a@1', 'register a@2'])
    const traits = traitsOf('confluent', '7.4.0')
    const lifted = restore(backup, undefined, { forceRegister: true, traits })
    assert.deepEqual(outline(lifted.plan), ['config a NONE', 'register a@1', 'register a@2', 'config a unset'])
  })

  test('a registry whose subjects have no level before they are there gets one as a whole', () => {
    const traits = traitsOf('apicurio', '3.0.9')
    const { plan } = restore(snapshotOf([versionOf('a', 1, 1)]), undefined, { setCompatibility: 'NONE', traits })
    assert.deepEqual(outline(plan), ['config * NONE', 'register a@1', 'config * BACKWARD'])
  })

  test('what changes schemas on their way in is turned off for the time', () => {
    const target = snapshotOf([versionOf('x', 1, 9)], {
      global: { compatibility: 'FULL', mode: 'READWRITE', config: { normalize: true } },
    })
    const { plan } = restore(snapshotOf([versionOf('a', 1, 1)]), target)
    assert.deepEqual(outline(plan), ['config a null {"normalize":false}', 'register a@1', 'config a unset'])
  })

  test('of subjects that a filter of types leaves out are left out, too', () => {
    const backup = snapshotOf([versionOf('a', 1, 1, { schemaType: 'JSON' }), versionOf('b', 1, 2)], {
      subjects: { a: { compatibility: 'FULL' } },
    })
    assert.deepEqual(outline(restore(backup, undefined, { schemaTypes: ['AVRO'] }).plan), ['register b@1'])
  })

  test('let a subject be filled anew that has lost its mode with its versions, in a registry that imports', () => {
    const global = { compatibility: 'BACKWARD', mode: 'IMPORT', config: null }
    const target = snapshotOf([versionOf('a', 1, 7)], { global })
    const { versions, after } = restore(snapshotOf([versionOf('a', 1, 1)], { global }), target, {
      strategy: 'overwrite',
    })
    assert.deepEqual([versions, after.global.mode], [['a@1 8'], 'IMPORT'])
  })

  test('that close a subject are lifted before its alias is taken away', () => {
    const a = { compatibility: null, mode: 'READONLY', config: { alias: 'b' } }
    const target = snapshotOf([versionOf('a', 1, 1)], { subjects: { a } })
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2)])
    for (const options of [{}, { ...forced, imported: importedOf(target.versions) }]) {
      const { versions, after } = restore(backup, target, options)
      assert.deepEqual([versions, after.subjects.get('a')], [['a@1 1', 'a@2 2'], a])
    }
    assert.deepEqual(restore(backup, target, { strategy: 'overwrite' }).after.subjects.get('a'), unset)
  })

  test('of all contexts together are those of the backup only where the target holds nothing', () => {
    const closed = { ...unset, compatibility: 'NONE', mode: 'READONLY' }
    const backup = snapshotOf([versionOf('a', 1, 1)], { contextSettings: new Map([['.__GLOBAL', closed]]) })
    for (const options of [{}, forced]) {
      assert.deepEqual(restore(backup, undefined, options).after.contextSettings.get('.__GLOBAL'), closed)
    }
    const full = { ...unset, compatibility: 'FULL' }
    const target = snapshotOf([versionOf('b', 1, 1)], { contextSettings: new Map([['.__GLOBAL', full]]) })
    assert.deepEqual(restore(backup, target).after.contextSettings.get('.__GLOBAL'), full)
    assert.deepEqual(outline(plan(backup, target, { strategy: 'skip' })), ['register a@1'])
  })

  test('of contexts come with their first schemas', () => {
    const eu = { compatibility: 'NONE', mode: 'READONLY', config: null }
    const backup = snapshotOf([versionOf(':.eu:a', 1, 1)], { contextSettings: new Map([['.eu', eu]]) })
    const moved = { subjectMapping: new Map([[':.eu:a', ':.dr:a']]) }
    assert.deepEqual(
      plan(backup, undefined, moved).notes.map(note => [note.kind === 'lossy' && note.loss, note.message]),
      [
        [
          'context_settings',
          'subjects of the context .eu are restored to the context .dr, which does not get its settings',
        ],
      ],
    )
    const same = snapshotOf([], { contextSettings: new Map([['.dr', eu]]) })
    assert.deepEqual(plan(backup, same, moved).notes, [])
    for (const options of [{}, forced]) {
      assert.deepEqual(restore(backup, undefined, options).after.contextSettings.get('.eu'), eu)
    }
  })
})

describe('modes', () => {
  test('of a source that is READONLY come last, and a second run works (edge 20)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1)], {
      subjects: { a: { mode: 'READONLY', compatibility: 'FULL' } },
      global: { compatibility: 'BACKWARD', mode: 'READONLY', config: null },
    })
    for (const options of [{}, forced]) {
      const { plan, after } = restore(backup, undefined, options)
      assert.deepEqual(outline(plan).slice(-2), ['mode a READONLY', 'mode * READONLY'])
      assert.equal(after.subjects.get('a')?.mode, 'READONLY')
    }
  })

  test('of a subject that is in IMPORT at the source are so again, with its versions in place', () => {
    const backup = snapshotOf([versionOf('a', 1, 1)], { subjects: { a: { mode: 'IMPORT' } } })
    for (const options of [{}, forced]) {
      assert.equal(restore(backup, undefined, options).after.subjects.get('a')?.mode, 'IMPORT')
    }
  })

  test('of a subject that is READONLY on the target are lifted for the time, and put back (edge 20)', () => {
    const target = snapshotOf([versionOf('a', 1, 1)], { subjects: { a: { mode: 'READONLY' } } })
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2)])
    const { plan } = restore(backup, target)
    assert.deepEqual(outline(plan), ['mode a READWRITE', 'register a@2', 'mode a READONLY'])
  })

  test('of a target that is READONLY as a whole are not lifted: nothing is written (edge 21)', () => {
    for (const mode of ['READONLY', 'READONLY_OVERRIDE', 'FORWARD']) {
      const target = snapshotOf([], { global: { compatibility: null, mode, config: null } })
      for (const options of [{}, forced]) {
        const refused = plan(snapshotOf([versionOf('a', 1, 1)]), target, options)
        assert.deepEqual([refused.steps, kinds(refused)], [[], ['read-only']])
        assert.match(
          refused.conflicts[0]?.message ?? '',
          new RegExp(`^the target registry is in mode ${mode}, and takes no`),
        )
      }
    }
  })

  test('of a context, or of what stands behind all contexts, are not lifted either (edge 21)', () => {
    for (const context of ['.eu', '.__GLOBAL']) {
      const closed = { compatibility: null, mode: 'READONLY', config: null }
      const target = snapshotOf([], { contextSettings: new Map([[context, closed]]) })
      const refused = plan(snapshotOf([versionOf(':.eu:a', 1, 1), versionOf('a', 1, 1)]), target)
      assert.deepEqual([refused.steps, kinds(refused)], [[], ['read-only']])
      assert.match(
        refused.conflicts[0]?.message ?? '',
        new RegExp(`context \\${context} of the target registry is in mode`),
      )
    }
  })

  test('IMPORT is for the whole of an empty registry, and of what is missing in one that has a part', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])
    assert.deepEqual(outline(restore(backup, undefined, forced).plan), [
      'mode * IMPORT',
      'register a@1 1',
      'register b@1 2',
      'mode * READWRITE',
    ])
    const part = [versionOf('a', 1, 1)]
    const { plan } = restore(backup, snapshotOf(part), { ...forced, imported: importedOf(part) })
    assert.deepEqual(outline(plan), ['mode b IMPORT', 'register b@1 2', 'mode b unset'])
  })
})

describe('the journal', () => {
  test('comes before every write, with all settings that are touched as they were (edge 26)', () => {
    const target = snapshotOf([versionOf('x', 1, 9)], { subjects: { a: { compatibility: 'FORWARD' } } })
    const { steps } = plan(snapshotOf([versionOf('a', 1, 1)]), target, { setCompatibility: 'NONE' })
    assert.deepEqual(steps[0], {
      type: 'journal',
      journal: {
        settings: [{ scope: { kind: 'subject', subject: 'a' }, compatibility: 'FORWARD', mode: null, config: null }],
        emptyContexts: [],
        createdSubjects: [],
        registered: ['a@1'],
        fillers: [],
        modesNotRead: [],
        imported: [],
      },
    })
  })

  test('is none where nothing is to be done (edge 26, 42)', () => {
    for (const options of [{}, forced]) {
      assert.deepEqual(plan(snapshotOf([]), undefined, options).steps, [])
      const same = snapshotOf([versionOf('a', 1, 1)])
      assert.deepEqual(plan(same, same, options).steps, [])
    }
  })
})

describe('aliases', () => {
  test('come last, after all was looked at again (edge 34)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1)], { subjects: { short: { config: { alias: 'a' } } } })
    const { plan, after } = restore(backup)
    assert.deepEqual(
      plan.steps.map(({ type }) => type),
      ['journal', 'register', 'verify', 'set-config'],
    )
    assert.deepEqual(after.subjects.get('short')?.config, { alias: 'a' })
  })

  test('follow subjects that get other names', () => {
    const backup = snapshotOf([versionOf('a', 1, 1)], { subjects: { short: { config: { alias: 'a' } } } })
    const { after } = restore(backup, undefined, { subjectMapping: new Map([['a', 'b']]) })
    assert.deepEqual(after.subjects.get('short')?.config, { alias: 'b' })
  })

  test('that the target has are taken away for the time, so that no schema goes astray (edge 34)', () => {
    const alias = { subjects: { a: { config: { alias: 'x' } } } }
    const target = snapshotOf([versionOf('x', 1, 9)], alias)
    const { plan, after } = restore(snapshotOf([versionOf('a', 1, 1)]), target)
    assert.deepEqual(outline(plan), ['config a unset', 'register a@1', 'config a null {"alias":"x"}'])
    assert.deepEqual(
      after.versions.find(({ subject }) => subject === 'x'),
      target.versions[0],
    )
  })
})

describe('a history that breaks its own level', () => {
  const broken = [versionOf('a', 1, 1), versionOf('a', 2, 2, { schema: '"incompatible"' })]
  const settings = { subjects: { a: { compatibility: 'BACKWARD' } } }

  test('is taken as it was by a subject that has nothing, with its level afterwards (edge 28)', () => {
    const { plan, after } = restore(snapshotOf(broken, settings))
    assert.deepEqual(outline(plan), ['register a@1', 'register a@2', 'config a BACKWARD'])
    const lift = { during: { compatibility: 'NONE', config: null }, after: { compatibility: null, config: null } }
    assert.deepEqual(
      plan.steps.flatMap(step => (step.type === 'register' ? [step.lift] : [])),
      [lift, lift],
      'the level of a is lifted where the registry refuses a version',
    )
    assert.deepEqual(journaled(plan), ['a'])
    assert.equal(after.subjects.get('a')?.compatibility, 'BACKWARD')
  })

  test('has its level lifted from the start where fillers take missing numbers', () => {
    const [first] = broken
    const gap = [...(first ? [first] : []), versionOf('a', 3, 3)]
    assert.deepEqual(outline(restore(snapshotOf(gap)).plan).slice(0, 3), [
      'config a NONE',
      'register a@1',
      'register a@2',
    ])
  })

  test('is not added to what others use: there the level of the target counts', () => {
    const target = snapshotOf([versionOf('a', 1, 1)], settings)
    const { steps } = plan(snapshotOf(broken, settings), target)
    assert.deepEqual(
      steps.flatMap(step => (step.type === 'register' ? [step.lift] : [])),
      [null],
    )
  })

  test('needs no level where there is one version, or where the level lets everything pass', () => {
    assert.deepEqual(outline(restore(snapshotOf([versionOf('a', 1, 1)])).plan), ['register a@1'])
    const open = snapshotOf([], { global: { compatibility: 'NONE', mode: null, config: null } })
    assert.deepEqual(outline(restore(snapshotOf(broken), open).plan).slice(0, 2), ['register a@1', 'register a@2'])
  })
})

/** The subjects whose settings the journal has. */
function journaled({ steps }: RegistryPlan): string[] {
  return steps.flatMap(step => {
    const scopes = step.type === 'journal' ? step.journal.settings.map(({ scope }) => scope) : []
    return scopes.flatMap(scope => (scope.kind === 'subject' ? [scope.subject] : []))
  })
}
