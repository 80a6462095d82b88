import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { traitsOf } from '../../../../src/registry/restore/plan/target-traits.ts'
import { snapshotOf, versionOf } from '../../../fakes/registry-snapshots.ts'
import { forced, importedOf, kinds, lossy, outline, plan, restore } from './restore-stage.ts'

const three = [versionOf('a', 1, 1), versionOf('a', 2, 2), versionOf('a', 3, 3)]
/** The same schemas as the backup's, under IDs of the target. */
const theirs = [versionOf('a', 1, 11, textOf(1)), versionOf('a', 2, 12, textOf(2))]

function textOf(id: number) {
  return { schema: versionOf('', 1, id).schema }
}

describe('preserve', () => {
  test('keeps what the target has, with its IDs, and adds what is missing (edge 29)', () => {
    const { versions, plan, model } = restore(snapshotOf(three), snapshotOf(theirs))
    assert.deepEqual(versions, ['a@1 11', 'a@2 12', 'a@3 13'])
    assert.deepEqual(outline(plan), ['register a@3'])
    assert.deepEqual(
      [...plan.knownIds],
      [
        ['1', 11],
        ['2', 12],
      ],
    )
    assert.equal(model.ids.get('3'), 13)
    assert.deepEqual(
      plan.versions.map(({ action }) => action),
      ['keep', 'keep', 'register'],
    )
  })

  test('keeps a version that is another schema on the target, adds what comes after it, and shifts nothing (edge 29)', () => {
    const target = snapshotOf([theirs[0] ?? assert.fail(), versionOf('a', 2, 12, { schema: '"int"' })])
    const { versions, plan } = restore(snapshotOf(three), target)
    assert.deepEqual(versions, ['a@1 11', 'a@2 12', 'a@3 13'])
    assert.deepEqual(outline(plan), ['register a@3'])
    assert.deepEqual(
      plan.versions.map(({ action, version }) => [action, version]),
      [
        ['keep', 1],
        ['leave', null],
        ['register', 3],
      ],
    )
    const reason =
      'version 2 of subject a is another schema on the target (ID 12) than in the backup (ID 2), and stays so'
    assert.deepEqual([...plan.unmappedIds], [['2', reason]])
    assert.deepEqual(lossy(plan), [
      `Schema ID 2 not found in target registry: ${reason}. Records with this ID stop the restore: map the ID by ` +
        'restore.id_mapping_file, set restore.strategy to overwrite, or restore.subject_mapping to another subject',
    ])
    assert.deepEqual(plan.textsToCompare, [{ subject: 'a', version: 2, schema: three[1]?.schema }])
  })

  test('maps the ID of a version that it leaves out to the same schema under another subject', () => {
    const other = versionOf('a', 2, 12, { schema: '"int"' })
    const target = snapshotOf([theirs[0] ?? assert.fail(), other, versionOf('elsewhere', 7, 40, textOf(2))])
    const { plan } = restore(snapshotOf(three), target)
    assert.deepEqual([plan.knownIds.get('2'), plan.unmappedIds.size], [40, 0])
    assert.match(
      lossy(plan)[0] ?? '',
      /^version 2 of subject a is another schema .*; its schema ID 2 is that of a schema/,
    )
  })

  test('leaves out what refers to a version that the target keeps otherwise, and what refers to that', () => {
    const backup = snapshotOf([
      ...three,
      versionOf('b', 1, 4, { refs: ['a@2'] }),
      versionOf('c', 1, 5, { refs: ['b@1'] }),
      versionOf('d', 1, 6, { refs: ['a@3'] }),
    ])
    const other = versionOf('a', 2, 12, { schema: '"int"' })
    // Text and references of b are the same, but what they refer to is another schema.
    const sameText = {
      ...versionOf('b', 1, 14, { refs: ['a@2'] }),
      schema: versionOf('b', 1, 4, { refs: ['a@2'] }).schema,
    }
    for (const more of [[], [sameText]]) {
      const { plan } = restore(backup, snapshotOf([theirs[0] ?? assert.fail(), other, ...more]))
      assert.deepEqual(outline(plan), ['register a@3', 'register d@1'])
      assert.deepEqual([...plan.unmappedIds.keys()], ['2', '4', '5'])
    }
    const { unmappedIds } = plan(backup, snapshotOf([theirs[0] ?? assert.fail(), other]))
    assert.match(
      unmappedIds.get('5') ?? '',
      /^version 1 of subject c refers to version 1 of subject b, which is not restored: version 1 of subject b refers to version 2 of subject a, which is not restored: version 2 of subject a is another/,
    )
  })

  test('takes a text that the registry calls the same as the same', () => {
    const target = snapshotOf([theirs[0] ?? assert.fail(), versionOf('a', 2, 12, { schema: ' "reformatted" ' })])
    const { versions } = restore(snapshotOf(three), target, { sameTexts: new Set(['a@2']) })
    assert.deepEqual(versions, ['a@1 11', 'a@2 12', 'a@3 13'])
  })

  test('leaves out a version that would lie between those that the target has', () => {
    const target = snapshotOf([versionOf('a', 1, 11, textOf(1)), versionOf('a', 3, 12, textOf(3))])
    const { versions, plan } = restore(snapshotOf(three), target)
    assert.deepEqual([versions, plan.steps], [['a@1 11', 'a@3 12'], []])
    assert.match(
      plan.unmappedIds.get('2') ?? '',
      /^version 2 of subject a is missing on the target, which has version 3 of it: registries add/,
    )
  })

  test('keeps what is marked as deleted on the target, and tells it', () => {
    const target = snapshotOf([versionOf('a', 1, 11, { ...textOf(1), isDeleted: true }), theirs[1] ?? assert.fail()])
    const { versions, plan } = restore(snapshotOf(three), target)
    assert.deepEqual(versions, ['-a@1 11', 'a@2 12', 'a@3 13'])
    assert.match(lossy(plan)[0] ?? '', /^version 1 of subject a is marked as deleted on the target/)
  })

  test('leaves out what refers to what is marked as deleted on the target, which only IMPORT takes', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] })])
    const target = snapshotOf([versionOf('a', 1, 1, { isDeleted: true })])
    const { plan } = restore(backup, target)
    assert.deepEqual(plan.steps, [])
    assert.equal(
      plan.unmappedIds.get('2'),
      'version 1 of subject b refers to version 1 of subject a, which is marked as deleted on the target',
    )
    const imported = importedOf(target.versions)
    assert.deepEqual(restore(backup, target, { ...forced, imported }).versions, ['-a@1 1', 'b@1 2'])
  })

  test('leaves settings of subjects that are there, and of the registry, as they are (edge 23)', () => {
    const backup = snapshotOf(three, {
      subjects: { a: { compatibility: 'FULL', mode: 'READONLY' } },
      global: { compatibility: 'NONE', mode: 'READONLY', config: null },
    })
    const target = snapshotOf([...theirs, versionOf('other', 1, 50)], { subjects: { a: { compatibility: 'FORWARD' } } })
    const { plan, after } = restore(backup, target, { setCompatibility: 'NONE' })
    assert.deepEqual(outline(plan), ['config a NONE', 'register a@3', 'config a FORWARD'])
    assert.deepEqual([after.global, after.subjects.get('other')], [target.global, target.subjects.get('other')])
    assert.deepEqual(after.versions.at(-1), target.versions.at(-1))
  })

  test('refuses to put another schema in a place that is taken with force_ids (edge 25)', () => {
    const target = snapshotOf([versionOf('a', 1, 9, { schema: '"int"' })])
    const refused = plan(snapshotOf([versionOf('a', 1, 1)]), target, forced)
    assert.deepEqual([refused.steps, kinds(refused)], [[], ['not-empty', 'version-differs']])
  })
})

describe('skip', () => {
  test('leaves subjects alone that have anything, and maps their IDs by what they hold (edge 29)', () => {
    const backup = snapshotOf([...three, versionOf('b', 1, 4), versionOf('c', 1, 5)])
    const target = snapshotOf([...theirs, versionOf('c', 1, 13, { isDeleted: true, schema: '"int"' })])
    const { versions, plan } = restore(backup, target, { strategy: 'skip' })
    assert.deepEqual(versions, ['a@1 11', 'a@2 12', 'b@1 14', '-c@1 13'])
    assert.deepEqual(outline(plan), ['register b@1'])
    assert.deepEqual([plan.knownIds.get('1'), plan.knownIds.get('2')], [11, 12])
    assert.deepEqual([...plan.unmappedIds.keys()], ['3', '5'])
    assert.equal(
      lossy(plan)[0],
      'Schema ID 3 not found in target registry: restore.strategy skip leaves subject a as it is there, and none of its ' +
        'versions is version 3 of the backup. Records with this ID stop the restore: set restore.strategy to preserve, or ' +
        'map the ID by restore.id_mapping_file',
    )
  })

  test('says of a reference into a subject that it leaves alone why it is not found', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] })])
    const refused = plan(backup, snapshotOf([versionOf('a', 1, 11, { schema: '"int"' })]), { strategy: 'skip' })
    assert.deepEqual(
      refused.conflicts.map(({ message }) => message),
      [
        'Reference to subject a not found: version 1 of b refers to its version 1, which is not restored: restore.strategy ' +
          'skip leaves subject a as it is there, and none of its versions is version 1 of the backup. Set restore.strategy ' +
          'to preserve, which adds missing versions, or to overwrite',
      ],
    )
  })
})

describe('lookup', () => {
  test('registers nothing, finds schemas under any subject of their context, and names IDs that are missing', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2), versionOf(':.eu:a', 1, 1)])
    const target = snapshotOf([versionOf('elsewhere', 4, 30, textOf(1))])
    const found = plan(backup, target, { strategy: 'lookup' })
    assert.deepEqual([found.steps, kinds(found)], [[], ['id-not-found', 'id-not-found']])
    assert.deepEqual([...found.knownIds], [['1', 30]])
    assert.match(
      found.conflicts[1]?.message ?? '',
      /^Schema ID 2 not found in target registry: .*\. Restore the schemas first: set restore\.enabled to true/,
    )
    assert.deepEqual([...found.unmappedIds.keys()], [':.eu:1', '2'])
  })
})

describe('overwrite', () => {
  const strategy = { strategy: 'overwrite' } as const

  test('writes nothing where all is the same (edge 30)', () => {
    const target = snapshotOf([...theirs, versionOf('a', 3, 13, textOf(3))])
    assert.deepEqual(plan(snapshotOf(three), target, strategy).steps, [])
  })

  test('replaces from the first difference on, and lists what can no longer be read', () => {
    const target = snapshotOf([...theirs, versionOf('a', 3, 13, { schema: '"int"' }), versionOf('a', 4, 14)])
    const { versions, plan } = restore(snapshotOf(three), target, strategy)
    assert.deepEqual(versions, ['a@1 11', 'a@2 12', 'a@3 15'])
    assert.deepEqual(outline(plan), ['remove a@4', 'remove a@3', 'register a@3'])
    assert.deepEqual(
      plan.notes.filter(({ kind }) => kind === 'undecodable').map(({ message }) => message),
      [
        'schema ID 13 of the target, version 3 of subject a, can no longer be read',
        'schema ID 14 of the target, version 4 of subject a, can no longer be read',
      ],
    )
  })

  test('removes referrers before what they refer to, and does all subjects of the backup', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] })])
    const target = snapshotOf([versionOf('a', 1, 11), versionOf('b', 1, 12, { refs: ['a@1'] })])
    const { plan } = restore(backup, target, strategy)
    assert.deepEqual(outline(plan), ['remove b@1', 'remove a@1', 'register a@1', 'register b@1'])
  })

  test('is refused where somebody outside refers to what it replaces, with its name (edge 30)', () => {
    const target = snapshotOf([versionOf('a', 1, 11), versionOf('outside', 7, 12, { refs: ['a@1'], isDeleted: true })])
    const refused = plan(snapshotOf([versionOf('a', 1, 1)]), target, strategy)
    assert.deepEqual([refused.steps, kinds(refused)], [[], ['referrer-outside']])
    assert.match(
      refused.conflicts[0]?.message ?? '',
      /version 7 of subject outside, which is not replaced, refers to it/,
    )
  })

  test('with force_ids replaces what an earlier generation has imported under other numbers and IDs', () => {
    const target = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 9, { schema: '"int"' })])
    const imported = importedOf(target.versions)
    const { versions, plan } = restore(snapshotOf(three), target, { ...strategy, ...forced, imported })
    assert.deepEqual(versions, ['a@1 1', 'a@2 2', 'a@3 3'])
    assert.deepEqual(outline(plan), [
      'mode * READWRITE',
      'remove a@2',
      'mode a IMPORT',
      'register a@2 2',
      'register a@3 3',
      'mode a unset',
    ])
  })

  test('sets again what a registry drops with the last version of a subject', () => {
    const settings = { subjects: { a: { compatibility: 'FULL', mode: 'READONLY' } } }
    const target = snapshotOf([versionOf('a', 1, 11)], settings)
    const { plan, after } = restore(snapshotOf([versionOf('a', 1, 1)], settings), target, strategy)
    assert.deepEqual(outline(plan).slice(2), ['register a@1', 'config a FULL', 'mode a READONLY'])
    assert.deepEqual(after.subjects, target.subjects)
  })

  test('does not call an ID lost that another subject has', () => {
    const target = snapshotOf([versionOf('a', 1, 11), versionOf('z', 1, 11)])
    const { notes } = plan(snapshotOf([versionOf('a', 1, 1)]), target, strategy)
    assert.deepEqual(
      notes.filter(({ kind }) => kind === 'undecodable'),
      [],
    )
  })

  test('makes settings those of the backup, and unset what it does not set (edge 19)', () => {
    const target = snapshotOf(theirs.slice(0, 1), {
      subjects: { a: { compatibility: 'FULL', mode: 'READONLY', config: { normalize: true } } },
    })
    const backup = snapshotOf([versionOf('a', 1, 1)], { subjects: { a: { compatibility: 'FULL' } } })
    const { plan, after } = restore(backup, target, strategy)
    assert.deepEqual(outline(plan), ['mode a READWRITE', 'config a FULL', 'mode a unset'])
    assert.deepEqual(after.subjects.get('a'), { compatibility: 'FULL', mode: null, config: null })
  })
})

describe('what registries cannot do', () => {
  test('IDs of the source are refused up front, and rewriting works all the same (edge 22, 32)', () => {
    for (const flavour of ['apicurio', 'karapace'] as const) {
      const traits = traitsOf(flavour, '3.0.9')
      const refused = plan(snapshotOf(three), undefined, { ...forced, traits })
      assert.deepEqual([refused.steps, kinds(refused)], [[], ['unsupported']])
      assert.match(
        refused.conflicts[0]?.message ?? '',
        /restore.force_ids cannot work; set it to false, and restore.rew/,
      )
      assert.equal(restore(snapshotOf(three), undefined, { traits }).versions.length, 3)
    }
  })

  test('metadata and rule sets that a target drops are told, and not sent (edge 31)', () => {
    const metadata = { properties: { owner: 'me' } }
    const backup = snapshotOf([versionOf('a', 1, 1, { metadata, ruleSet: { domainRules: [] } })])
    const kept = restore(backup)
    assert.deepEqual([kept.after.versions[0]?.metadata, lossy(kept.plan)], [metadata, []])
    for (const [flavour, options] of [
      ['karapace', {}],
      ['axonops', forced],
    ] as const) {
      const { plan, after } = restore(backup, undefined, { ...options, traits: traitsOf(flavour, '1.0.0') })
      assert.equal(after.versions[0]?.metadata, null)
      assert.deepEqual(lossy(plan), [
        `the target registry (${flavour}) does not keep the metadata of a`,
        `the target registry (${flavour}) does not keep the rule sets of a`,
      ])
    }
  })

  test('metadata that a registry hands on to the next version are told (edge 31)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1, { metadata: { tags: {} } }), versionOf('a', 2, 2)])
    assert.match(
      lossy(plan(backup))[0] ?? '',
      /^a version of a without metadata gets the metadata of the version before/,
    )
    assert.deepEqual(lossy(plan(backup, undefined, forced)), [])
  })

  test('references of JSON Schemas are refused where the target takes none', () => {
    const json = { schemaType: 'JSON' } as const
    const backup = snapshotOf([versionOf('a', 1, 1, json), versionOf('b', 1, 2, { ...json, refs: ['a@1'] })])
    assert.deepEqual(kinds(plan(backup, undefined, { traits: traitsOf('karapace', '6.2.0') })), ['unsupported'])
  })

  test('settings and contexts that a target does not have are told', () => {
    const backup = snapshotOf([versionOf(':.eu:a', 1, 1)], {
      subjects: { ':.eu:a': { mode: 'READONLY', config: { normalize: true } } },
    })
    const { plan } = restore(backup, undefined, { traits: traitsOf('apicurio', '3.0.9') })
    assert.equal(lossy(plan).length, 3)
    assert.deepEqual(outline(plan), ['register :.eu:a@1'])
  })
})
