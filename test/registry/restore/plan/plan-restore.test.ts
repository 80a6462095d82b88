import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { traitsOf } from '../../../../src/registry/restore/plan/target-traits.ts'
import { snapshotOf, versionOf } from '../../../fakes/registry-snapshots.ts'
import { fixed, forced, importedOf, kinds, listVersions, lossy, outline, plan, restore } from './restore-stage.ts'

const none = { setCompatibility: 'NONE' } as const

describe('numbers of versions', () => {
  const sparse = snapshotOf([versionOf('a', 1, 1), versionOf('a', 3, 2), versionOf('a', 7, 3)])

  test('with holes are the same with force_ids (edge 3)', () => {
    assert.deepEqual(restore(sparse, undefined, forced).versions, ['a@1 1', 'a@3 2', 'a@7 3'])
  })

  test('with holes are the same by fillers where no level forbids them (edge 3)', () => {
    const { plan, after } = restore(sparse, undefined, none)
    assert.deepEqual(
      after.versions.map(({ version, schema }) => [version, schema]),
      sparse.versions.map(({ version, schema }) => [version, schema]),
    )
    assert.deepEqual(lossy(plan), [])
  })

  test('with holes are others where a level forbids fillers, which is told, and references follow (edge 3)', () => {
    const backup = snapshotOf([...sparse.versions, versionOf('b', 1, 9, { refs: ['a@7'] })])
    const { plan, after } = restore(backup, undefined, { setCompatibility: 'BACKWARD' })
    assert.deepEqual(listVersions(after.versions), ['a@1 1', 'a@2 2', 'a@3 3', 'b@1 4'])
    assert.deepEqual(after.versions.at(-1)?.references, [{ name: 'a', subject: 'a', version: 3 }])
    assert.equal(lossy(plan).length, 2)
    assert.match(lossy(plan)[1] ?? '', /^version 7 of subject a is version 3 on the target; references follow/)
  })

  test('may begin above 1 (edge 4)', () => {
    const backup = snapshotOf([versionOf('a', 2, 5)])
    assert.deepEqual(restore(backup, undefined, forced).versions, ['a@2 5'])
    assert.deepEqual(restore(backup, undefined, none).versions, ['a@2 2'])
  })

  test('are not filled over a gap of thousands', () => {
    const { plan } = restore(snapshotOf([versionOf('a', 5000, 5)]), undefined, none)
    assert.equal(outline(plan).filter(line => line.startsWith('register')).length, 1)
    assert.equal(lossy(plan).length, 1)
  })
})

describe('IDs', () => {
  test('are one for a schema under fifty subjects, which all come (edge 5)', () => {
    const versions = Array.from({ length: 50 }, (_, i) => versionOf(`s${i}`, 1, 7))
    for (const options of [{}, forced]) {
      const { versions: after, model } = restore(snapshotOf(versions), undefined, options)
      assert.equal(after.length, 50)
      assert.equal(new Set(after.map(line => line.split(' ')[1])).size, 1)
      assert.equal(model.ids.get('7'), options === forced ? 7 : 1)
    }
  })

  test('two of one schema are both kept with force_ids, and refused by a registry that takes one (edge 7)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1, { schema: '"int"' }), versionOf('b', 1, 2, { schema: '"int"' })])
    assert.deepEqual(restore(backup, undefined, forced).versions, ['a@1 1', 'b@1 2'])
    const traits = { ...forced, traits: { ...fixed.traits, allowsTwinIds: false } }
    const refused = plan(backup, undefined, traits)
    assert.deepEqual(kinds(refused), ['unsupported'])
    assert.match(
      refused.conflicts[0]?.message ?? '',
      /one schema under the IDs 1 and 2; set restore.force_ids to false/,
    )
    const { model } = restore(backup)
    assert.deepEqual([model.ids.get('1'), model.ids.get('2')], [1, 1])
  })

  test('that others have on the target are found before any write, all of them (edge 24)', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])
    const target = snapshotOf([versionOf('x', 1, 1, { schema: '"int"' }), versionOf('y', 4, 2, { schema: '"long"' })])
    const refused = plan(backup, target, forced)
    assert.deepEqual(refused.steps, [])
    assert.deepEqual(kinds(refused), ['not-empty', 'id-taken', 'id-taken'])
    assert.match(
      refused.conflicts[2]?.message ?? '',
      /^schema ID 2 of version 1 of subject b is taken on the target by version 4 of subject y, another schema/,
    )
  })

  test('of hard-deleted schemas are not given again after force_ids (edge 27)', () => {
    const backup = snapshotOf([versionOf('a', 1, 3)], { maxIds: new Map([['.', 17]]) })
    const { after, plan } = restore(backup, undefined, forced)
    assert.deepEqual(listVersions(after.versions), ['a@1 3', '-kafka-backup.reserved-ids@1 17'])
    assert.deepEqual(after.maxIds.get('.'), 17)
    assert.deepEqual(outline(plan).at(-1), 'mode * READWRITE')
    assert.deepEqual(restore(backup, undefined).versions, ['a@1 1'])
  })

  test('of versions that the backup leaves out do not become those of another schema', () => {
    const leftOut = [{ subject: 'a', version: 2, id: 17 }]
    const backup = snapshotOf([versionOf('a', 1, 3)], { maxIds: new Map([['.', 17]]), leftOut })
    const { after } = restore(backup, undefined, forced)
    assert.deepEqual(listVersions(after.versions), ['a@1 3', '-kafka-backup.reserved-ids@1 18'])
  })

  test('of two contexts are kept apart (edge 33)', () => {
    const backup = snapshotOf(
      [
        versionOf('a', 1, 5),
        versionOf(':.eu:a', 1, 5, { schema: '"int"' }),
        versionOf(':.eu:b', 1, 6, { refs: ['a@1'] }),
      ],
      {
        contexts: ['.', '.eu'],
      },
    )
    const target = snapshotOf([versionOf('other', 1, 1)])
    const { model, versions, plan } = restore(backup, target)
    assert.deepEqual(versions, [':.eu:a@1 1', ':.eu:b@1 2', 'a@1 2', 'other@1 1'])
    assert.deepEqual(Object.fromEntries(model.ids), { '5': 2, ':.eu:5': 1, ':.eu:6': 2 })
    assert.equal(plan.unmappedIds.size, 0)
    assert.deepEqual(restore(backup, undefined, forced).versions, [':.eu:a@1 5', ':.eu:b@1 6', 'a@1 5'])
  })

  test('that a mapping takes to two contexts are refused', () => {
    const backup = snapshotOf([versionOf('a', 1, 5), versionOf('b', 1, 5)])
    const refused = plan(backup, undefined, { subjectMapping: new Map([['b', ':.eu:b']]) })
    assert.deepEqual(kinds(refused), ['mapping'])
    assert.match(refused.conflicts[0]?.message ?? '', /takes schema ID 5 to the contexts \. and \.eu/)
  })

  test('given by hand come first, and must be on the target', () => {
    const backup = snapshotOf([versionOf('a', 1, 5)])
    const target = snapshotOf([versionOf('z', 1, 12, { schema: '"int"' })])
    assert.equal(plan(backup, target, { idOverrides: new Map([['5', 12]]) }).knownIds.get('5'), 12)
    const refused = plan(backup, target, { idOverrides: new Map([['5', 13]]) })
    assert.match(refused.conflicts[0]?.message ?? '', /^Schema ID 13 not found in target registry: /)
  })
})

describe('force_ids needs an empty registry', () => {
  const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])
  const refusal =
    'restore.force_ids needs an empty target registry: it holds 1 version that no journal of this restore lists, such as ' +
    'version 1 of subject x (ID 9); use an empty registry, or set restore.force_ids to false'

  test('whatever the strategy is', () => {
    for (const strategy of ['preserve', 'overwrite', 'skip'] as const) {
      const refused = plan(backup, snapshotOf([versionOf('x', 1, 9)]), { ...forced, strategy })
      assert.deepEqual(
        [refused.steps, refused.conflicts.map(({ message }) => message)],
        [[], [refusal]],
        `strategy ${strategy}`,
      )
    }
  })

  test('and replaces nothing that this restore did not import, also with overwrite', () => {
    for (const theirs of [versionOf('a', 1, 1, { schema: '"int"' }), versionOf('a', 1, 8), versionOf('a', 7, 70)]) {
      const refused = plan(backup, snapshotOf([theirs]), { ...forced, strategy: 'overwrite' })
      assert.deepEqual([refused.steps, kinds(refused).includes('not-empty')], [[], true])
    }
  })

  test('but for what is there already as it would be imported, as after a run whose journal is lost', () => {
    const { versions } = restore(backup, snapshotOf([versionOf('a', 1, 1)]), forced)
    assert.deepEqual(versions, ['a@1 1', 'b@1 2'])
    const other = plan(backup, snapshotOf([versionOf('a', 1, 1), versionOf('x', 1, 9)]), forced)
    assert.deepEqual([other.steps, other.conflicts.map(({ message }) => message)], [[], [refusal]])
  })

  test('in which versions that are marked as deleted count', () => {
    const refused = plan(backup, snapshotOf([versionOf('x', 1, 9, { isDeleted: true })]), forced)
    assert.match(refused.conflicts[0]?.message ?? '', /version 1 of subject x \(ID 9, marked as deleted\)/)
  })

  test('of which only the contexts that are restored into have to be empty', () => {
    const others = snapshotOf([versionOf(':.other:x', 1, 1)], { contexts: ['.', '.other'] })
    assert.deepEqual(restore(backup, others, forced).versions, [':.other:x@1 1', 'a@1 1', 'b@1 2'])
    const inUse = snapshotOf([versionOf('x', 1, 1)])
    const subjectMapping = new Map([
      ['a', ':.dr:a'],
      ['b', ':.dr:b'],
    ])
    const moved = restore({ ...backup, maxIds: new Map([['.', 5]]) }, inUse, { ...forced, subjectMapping })
    assert.deepEqual(moved.versions, [':.dr:a@1 1', ':.dr:b@1 2', '-:.dr:kafka-backup.reserved-ids@1 5', 'x@1 1'])
    const taken = snapshotOf([versionOf(':.dr:x', 1, 9)], { contexts: ['.', '.dr'] })
    assert.match(
      plan(backup, taken, { ...forced, subjectMapping }).conflicts[0]?.message ?? '',
      /^restore\.force_ids needs an empty target registry: the context \.dr holds 1 version/,
    )
  })

  test('or one in which everything is already there, and then writes nothing', () => {
    const target = snapshotOf([...backup.versions, versionOf('x', 1, 9)])
    const { steps, conflicts } = plan(backup, target, forced)
    assert.deepEqual([steps, conflicts], [[], []])
  })

  test('and takes settings of an empty registry for nothing', () => {
    const target = snapshotOf([], { subjects: { x: { compatibility: 'FULL' } } })
    assert.deepEqual(restore(backup, target, forced).versions, ['a@1 1', 'b@1 2'])
  })
})

describe('deleted versions', () => {
  test('of the same schema as a live one are as they were with force_ids, and one of them otherwise (edge 6)', () => {
    const backup = snapshotOf([versionOf('a', 1, 5, { isDeleted: true }), versionOf('a', 2, 6), versionOf('a', 3, 5)])
    assert.deepEqual(restore(backup, undefined, forced).versions, ['-a@1 5', 'a@2 6', 'a@3 5'])
    const { versions, plan, model } = restore(backup, undefined, none)
    assert.deepEqual(versions, ['a@2 2', 'a@3 3'])
    assert.equal(model.ids.get('5'), 3)
    assert.match(lossy(plan)[0] ?? '', /^version 1 of subject a is the same schema as its version 3/)
  })

  test('of a subject that is wholly deleted, in a live one and as its newest end up deleted (edge 8, 9, 42)', () => {
    const backup = snapshotOf([
      versionOf('gone', 1, 1, { isDeleted: true }),
      versionOf('gone', 2, 2, { isDeleted: true }),
      versionOf('part', 1, 3),
      versionOf('part', 2, 4, { isDeleted: true }),
      versionOf('part', 3, 5),
      versionOf('part', 4, 6, { isDeleted: true }),
    ])
    for (const options of [forced, {}]) {
      assert.deepEqual(restore(backup, undefined, options).versions, [
        '-gone@1 1',
        '-gone@2 2',
        'part@1 3',
        '-part@2 4',
        'part@3 5',
        '-part@4 6',
      ])
    }
  })

  test('are deleted before what they refer to (edge 10)', () => {
    const backup = snapshotOf([
      versionOf('a', 1, 1, { isDeleted: true }),
      versionOf('b', 1, 2, { isDeleted: true, refs: ['a@1'] }),
    ])
    for (const options of [forced, {}]) {
      const { plan, versions } = restore(backup, undefined, options)
      const deletes = outline(plan).filter(line => line.startsWith('delete'))
      assert.deepEqual(deletes, ['delete b@1', 'delete a@1'])
      assert.deepEqual(versions, ['-a@1 1', '-b@1 2'])
    }
  })

  test('that live ones refer to are so with force_ids, and stay live with a note otherwise (edge 11)', () => {
    const backup = snapshotOf([
      versionOf('a', 1, 1, { isDeleted: true }),
      versionOf('b', 1, 2, { refs: ['a@1'] }),
      versionOf('c', 1, 3, { refs: ['a@1'], isDeleted: true }),
    ])
    assert.deepEqual(restore(backup, undefined, forced).versions, ['-a@1 1', 'b@1 2', '-c@1 3'])
    const { versions, plan } = restore(backup)
    assert.deepEqual(versions, ['a@1 1', 'b@1 2', '-c@1 3'])
    assert.match(
      lossy(plan)[0] ?? '',
      /^version 1 of subject a is deleted at the source, but another version refers to it/,
    )
  })

  test('that live ones refer to wait for later versions with their ID (edge 11)', () => {
    const backup = snapshotOf([
      versionOf('a', 1, 5, { isDeleted: true }),
      versionOf('a', 2, 5),
      versionOf('b', 1, 2, { refs: ['a@1'] }),
    ])
    assert.deepEqual(restore(backup, undefined, forced).versions, ['-a@1 5', 'a@2 5', 'b@1 2'])
  })
})

describe('references', () => {
  test('of a diamond, of five levels, across subjects and contexts come first (edge 12)', () => {
    const backup = snapshotOf(
      [
        versionOf('l1', 1, 50),
        versionOf('l2', 1, 40, { refs: ['l1@1'] }),
        versionOf('l3a', 1, 30, { refs: ['l2@1'] }),
        versionOf('l3b', 1, 20, { refs: ['l2@1'] }),
        versionOf('l4', 1, 10, { refs: ['l3a@1', 'l3b@1'] }),
        versionOf(':.us:l4', 1, 10),
        versionOf(':.eu:l5', 1, 1, { refs: [':.us:l4@1'] }),
      ],
      { contexts: ['.', '.eu', '.us'] },
    )
    const expected = [':.us:l4@1', ':.eu:l5@1', 'l1@1', 'l2@1', 'l3b@1', 'l3a@1', 'l4@1']
    for (const options of [forced, {}]) {
      const { plan } = restore(backup, undefined, options)
      const registered = outline(plan)
        .filter(line => line.startsWith('register'))
        .map(line => line.split(' ')[1])
      assert.deepEqual(registered, expected)
    }
  })

  test('go back and forth between two subjects (edge 12)', () => {
    const backup = snapshotOf([
      versionOf('a', 1, 3),
      versionOf('a', 2, 1, { refs: ['b@1'] }),
      versionOf('b', 1, 2, { refs: ['a@1'] }),
    ])
    for (const options of [forced, {}]) assert.equal(restore(backup, undefined, options).versions.length, 3)
  })

  test('that lead back to themselves are told, and the rest comes', () => {
    const backup = snapshotOf([
      versionOf('a', 1, 1, { refs: ['b@1'] }),
      versionOf('b', 1, 2, { refs: ['a@1'] }),
      versionOf('c', 1, 3),
    ])
    const { versions, plan } = restore(backup)
    assert.deepEqual(versions, ['c@1 1'])
    assert.equal(lossy(plan).length, 2)
  })

  test('that are missing are named before any write, with what to do (edge 13)', () => {
    const backup = snapshotOf([versionOf('orders', 1, 1, { refs: ['common-address@2'] }), versionOf('z', 1, 2)])
    const refused = plan(backup)
    assert.deepEqual(refused.steps, [])
    assert.deepEqual(
      refused.conflicts.map(({ message }) => message),
      [
        'Reference to subject common-address not found: version 1 of orders refers to its version 2, which is neither in ' +
          'the backup nor on the target. Include the subject in backup.subjects and set backup.include_references to true',
      ],
    )
    const target = snapshotOf([versionOf('common-address', 2, 8)])
    assert.deepEqual(restore(backup, target).versions.slice(1), ['orders@1 9', 'z@1 10'])
  })

  test('of many versions to one that is missing are one conflict', () => {
    const versions = [1, 2, 3].map(at => versionOf('orders', at, at, { refs: ['gone@1'] }))
    const { conflicts } = plan(snapshotOf([...versions, versionOf('z', 1, 9, { refs: ['orders@1'] })]))
    assert.equal(conflicts.length, 1)
    assert.match(
      conflicts[0]?.message ?? '',
      /^Reference to subject gone not found: .* \(2 more versions refer to it\)$/,
    )
  })

  test('to what a filter of types leaves out are missing, too', () => {
    const backup = snapshotOf([versionOf('a', 1, 1, { schemaType: 'JSON' }), versionOf('b', 1, 2, { refs: ['a@1'] })])
    const refused = plan(backup, undefined, { schemaTypes: ['AVRO'] })
    assert.deepEqual(
      refused.conflicts.map(({ message }) => message),
      [
        'Reference to subject a not found: version 1 of b refers to its version 1, which is in the backup, but is of type ' +
          'JSON, which schema_types leaves out. Name JSON in schema_types',
      ],
    )
  })

  test('follow subjects that get other names', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] })])
    const { after } = restore(backup, undefined, { subjectMapping: new Map([['a', 'new.a']]) })
    assert.deepEqual(after.versions.find(({ subject }) => subject === 'b')?.references, [
      { name: 'a', subject: 'new.a', version: 1 },
    ])
    const both = new Map([
      ['a', ':.us:a'],
      ['b', ':.eu:b'],
    ])
    const moved = restore(backup, undefined, { subjectMapping: both })
    assert.deepEqual(moved.after.versions.find(({ subject }) => subject === ':.eu:b')?.references, [
      { name: 'a', subject: ':.us:a', version: 1 },
    ])
  })

  test('out of a context into the default one are refused once a subject, since no registry resolves them', () => {
    const versions = [1, 2, 3].map(at => versionOf('b', at, at + 1, { refs: ['a@1'] }))
    const backup = snapshotOf([versionOf('a', 1, 1), ...versions])
    const subjectMapping = new Map([['b', ':.eu:b']])
    for (const options of [forced, {}]) {
      const refused = plan(backup, undefined, { ...options, subjectMapping })
      assert.deepEqual(refused.steps, [])
      assert.deepEqual(
        refused.conflicts.map(({ message }) => message),
        [
          'subject :.eu:b refers to a, of the default context, which the target registry (confluent) looks for in the ' +
            'context .eu; map both to one context by restore.subject_mapping, as a to :.eu:a',
        ],
      )
    }
    const both = new Map([...subjectMapping, ['a', ':.us:a']])
    const axonops = plan(backup, undefined, { subjectMapping: both, traits: traitsOf('axonops', '1.2.0') })
    assert.match(
      axonops.conflicts[0]?.message ?? '',
      /refers to :\.us:a, of the context \.us, .* as :\.us:a to :\.eu:a$/,
    )
    const karapace = plan(backup, undefined, { subjectMapping, traits: traitsOf('karapace', null) })
    assert.deepEqual(karapace.conflicts, [])
  })

  test('do not follow into one subject that two others become', () => {
    const backup = snapshotOf([versionOf('a', 1, 1), versionOf('b', 1, 2)])
    assert.deepEqual(kinds(plan(backup, undefined, { subjectMapping: new Map([['a', 'b']]) })), ['mapping'])
  })
})

test('force_ids keeps a deleted version that a registry would remove with a later one of the same ID', () => {
  const text = { schema: '"string"' }
  const older = versionOf('a', 2, 24, { ...text, isDeleted: true })
  const backup = snapshotOf([older, versionOf('a', 3, 25), versionOf('a', 5, 24, text)])
  const part = [older, versionOf('a', 3, 25)]
  const { versions } = restore(backup, snapshotOf(part), { ...forced, imported: importedOf(part) })
  assert.deepEqual(versions, ['-a@2 24', 'a@3 25', 'a@5 24'])
})
