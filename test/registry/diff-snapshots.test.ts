import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RegistrySnapshot } from '../../src/archive/registry-model.ts'
import { diffSnapshots } from '../../src/registry/diff-snapshots.ts'
import { asOnTarget } from '../../src/registry/restore/plan/wanted-version.ts'
import { diffOf } from '../../src/registry/schema-listing.ts'
import { snapshotOf, unset, versionOf } from '../fakes/registry-snapshots.ts'

/** `subject/version kind left right`, one a line. */
function shown(left: RegistrySnapshot, right: RegistrySnapshot): string[] {
  return diffSnapshots(left, right).differences.map(
    ({ subject, version, kind, left: a, right: b }) => `${subject}/${version} ${kind} ${a} ${b}`,
  )
}

describe('the difference of two registries', () => {
  const base = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2), versionOf('b', 1, 3)])

  test('is nothing where they hold the same, whenever they were read and wherever from', () => {
    const same = { ...base, takenAt: '2027-01-01T00:00:00.000Z', flavour: 'other', registryVersion: null } as const
    assert.deepEqual(diffSnapshots(base, same), { differences: [], ids: [] })
  })

  test('names subjects and versions that only one side has', () => {
    const other = snapshotOf([versionOf('a', 1, 1), versionOf('a', 3, 9), versionOf('c', 1, 4), versionOf('c', 2, 5)])
    assert.deepEqual(shown(base, other), [
      'a/2 missing ID 2 null',
      'a/3 extra null ID 9',
      'b/null missing 1 version null',
      'c/null extra null 2 versions',
    ])
  })

  test('names each part of a version that is another', () => {
    const change = (changes: Parameters<typeof versionOf>[3]) => snapshotOf([versionOf('a', 1, 1, changes)])
    const plain = change({})
    assert.deepEqual(shown(plain, change({ schemaType: 'JSON' })), ['a/1 type AVRO JSON'])
    assert.deepEqual(shown(plain, change({ isDeleted: true })), ['a/1 deleted false true'])
    assert.deepEqual(shown(plain, change({ metadata: { properties: { o: 'x' } } })), [
      'a/1 metadata null {"properties":{"o":"x"}}',
    ])
    assert.deepEqual(shown(plain, change({ ruleSet: { domainRules: [] } })), ['a/1 rule_set null {"domainRules":[]}'])
    assert.deepEqual(shown(plain, change({ refs: ['b@1'] })), [
      'a/1 references [] [{"name":"b","subject":"b","version":1}]',
    ])
    assert.deepEqual(shown(plain, change({ isPulledIn: true, guid: 'x' })), [])
  })

  test('shows texts from where they part', () => {
    const text = (schema: string) => snapshotOf([versionOf('a', 1, 1, { schema })])
    const head = '{"type":"record","name":"Order","fields":'
    const [row] = diffSnapshots(text(`${head}[]}`), text(`${head}[{"name":"a","type":"string"}]}`)).differences
    assert.deepEqual([row?.left, row?.right], ['..."fields":[]}', '..."fields":[{"name":"a","type":"string"}]}'])
    assert.deepEqual(shown(text('"int"'), text('"int" ')), ['a/1 text "int" "int" '])
  })

  test('does not mind the order of keys in metadata and settings', () => {
    const settings = (config: Record<string, string | boolean>) => snapshotOf([], { subjects: { a: { config } } })
    assert.deepEqual(shown(settings({ alias: 'b', normalize: true }), settings({ normalize: true, alias: 'b' })), [])
  })

  test('names settings of the registry, of contexts and of subjects; unset is not a level', () => {
    const left = snapshotOf([versionOf('a', 1, 1)], {
      subjects: { a: { compatibility: 'FULL' } },
      contextSettings: new Map([['.eu', { ...unset, mode: 'READONLY' }]]),
    })
    const right = snapshotOf([versionOf('a', 1, 1)], {
      subjects: { a: { config: { normalize: true } } },
      global: { compatibility: 'NONE', mode: 'READWRITE', config: null },
    })
    assert.deepEqual(shown(left, right), [
      'null/null compatibility BACKWARD NONE',
      ':.eu:/null mode READONLY null',
      'a/null compatibility FULL null',
      'a/null config null {"normalize":true}',
    ])
  })

  test('has subjects without versions, such as aliases', () => {
    const alias = snapshotOf([], { subjects: { other: { config: { alias: 'a' } } } })
    assert.deepEqual(shown(alias, snapshotOf([])), ['other/null missing 0 versions null'])
  })

  test('has other IDs as information, and as differences where they are to be the same', () => {
    const other = { name: 'right', snapshot: snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 7, { schema: 'x' })]) }
    const ours = { name: 'left', snapshot: snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2, { schema: 'x' })]) }
    const idRow = { subject: 'a', version: 2, kind: 'id', left: '2', right: '7' }
    const loose = diffOf(ours, other, { wantsIds: false })
    assert.deepEqual([loose.ok, loose.differences, loose.ids], [true, [], [idRow]])
    const strict = diffOf(ours, other, { wantsIds: true })
    assert.deepEqual([strict.ok, strict.differences, strict.ids], [false, [idRow], []])
  })

  test('comes with the number of live subjects of each side, as the registry lists them', () => {
    const deleted = versionOf('b', 1, 2, { isDeleted: true })
    const { left } = diffOf(
      { name: 'l', snapshot: snapshotOf([versionOf('a', 1, 1), deleted], { subjects: { alias: {} } }) },
      { name: 'r', snapshot: snapshotOf([]) },
      { wantsIds: false },
    )
    const { subjects, deletedSubjects, versions, deletedVersions } = left
    assert.deepEqual([subjects, deletedSubjects, versions, deletedVersions], [1, 1, 2, 1])
  })
})

test('a backup is compared as a job restores it: under other names, and without types that it leaves out', () => {
  const snapshot = snapshotOf(
    [versionOf('a', 1, 1), versionOf('b', 1, 2, { refs: ['a@1'] }), versionOf('j', 1, 3, { schemaType: 'JSON' })],
    { subjects: { c: { config: { alias: 'a' } } } },
  )
  const restored = asOnTarget(snapshot, { subjectMapping: new Map([['a', 'z']]), schemaTypes: ['AVRO'] })
  assert.deepEqual(
    restored.versions.map(({ subject, references }) => [subject, references.map(one => one.subject)]),
    [
      ['z', []],
      ['b', ['z']],
    ],
  )
  assert.deepEqual([...restored.subjects.keys()].sort(), ['b', 'c', 'z'])
  assert.deepEqual(restored.subjects.get('c')?.config, { alias: 'z' })
})
