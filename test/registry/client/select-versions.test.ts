import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveReference, type SchemaVersion } from '../../../src/archive/registry-model.ts'
import { everything, type Selection, selectVersions } from '../../../src/registry/client/select-versions.ts'
import { reference } from '../../fakes/registry-rows.ts'
import { brief } from './snapshots.ts'

/** Numbers in the names are those of the list of edge cases that the registry part is held to. */
const version = (subject: string, number: number, more: Partial<SchemaVersion> = {}): SchemaVersion => ({
  subject,
  version: number,
  id: number,
  schemaType: 'AVRO',
  schema: '"int"',
  references: [],
  metadata: null,
  ruleSet: null,
  guid: null,
  isDeleted: false,
  ...more,
})

describe('subjects', () => {
  const all = ['orders-key', 'orders-value', 'users-value', ':.eu:orders-value'].map(name => version(name, 1))

  test('are chosen by patterns over their whole names, less what is excluded', () => {
    assert.deepEqual(chosen(all, { subjects: ['orders-*'] }), ['orders-key@1#1', 'orders-value@1#1'])
    assert.deepEqual(chosen(all, { subjects: ['*'], exclude: ['*-key', ':.eu:*'] }), [
      'orders-value@1#1',
      'users-value@1#1',
    ])
    assert.deepEqual(chosen(all, { subjects: [':.eu:orders-*'] }), [':.eu:orders-value@1#1'])
  })

  test('of other types are left out where types are named', () => {
    const mixed = [
      version('a', 1),
      version('b', 1, { schemaType: 'JSON' }),
      version('c', 1, { schemaType: 'PROTOBUF' }),
    ]
    assert.deepEqual(chosen(mixed, { schemaTypes: ['JSON', 'PROTOBUF'] }), ['b@1#1', 'c@1#1'])
  })
})

describe('versions', () => {
  const all = [
    version('a', 1),
    version('a', 2),
    version('a', 3, { isDeleted: true }),
    version('gone', 4, { isDeleted: true }),
    version('gone', 5, { isDeleted: true }),
  ]

  test('9: the latest is the highest that is live', () => {
    assert.deepEqual(chosen(all, { includeVersions: 'latest', includeSoftDeleted: false }), ['a@2#2'])
    assert.deepEqual(chosen(all, { includeVersions: 'latest' }), ['a@2#2', 'gone@5#5-'])
    const { warnings } = selectVersions(all, { ...everything, includeVersions: 'latest' })
    assert.match(warnings.join(), /^\d+ versions are not the latest .* left out; messages .*include_versions: all/)
  })

  test('that are soft-deleted and left out are counted, with a warning that says so', () => {
    const { versions, skippedDeleted, leftOut, warnings } = selectVersions(all, {
      ...everything,
      includeSoftDeleted: false,
    })
    assert.deepEqual(brief(versions), ['a@1#1', 'a@2#2'])
    assert.equal(skippedDeleted, 3)
    assert.deepEqual(
      leftOut,
      all.filter(one => one.isDeleted).map(({ subject, version, id }) => ({ subject, version, id })),
    )
    assert.deepEqual(selectVersions(all, everything).leftOut, [])
    assert.deepEqual(selectVersions(all, { ...everything, subjects: ['none'] }).leftOut, [])
    assert.match(warnings[0] ?? '', /^3 versions are soft-deleted and left out; .*include_soft_deleted: true/)
    assert.deepEqual(selectVersions(all, everything).warnings, [])
  })
})

describe('references', () => {
  const chain = [
    version('common-address', 1),
    version('common-address', 2),
    version('common-city', 7, { isDeleted: true }),
    version('common-person', 3, { references: [reference('common-city', 7)] }),
    version('orders-value', 1, {
      references: [reference('common-address', 1, 'Address'), reference('common-person', 3)],
    }),
    version('users-value', 1),
  ]

  test('13, 11: pull in exact versions that the patterns leave out, transitively, soft-deleted ones too', () => {
    const { versions, skippedDeleted } = selectVersions(chain, {
      ...everything,
      subjects: ['orders-*'],
      includeSoftDeleted: false,
    })
    assert.deepEqual(brief(versions), [
      'common-address@1#1+',
      'common-city@7#7-+',
      'common-person@3#3+',
      'orders-value@1#1',
    ])
    assert.equal(skippedDeleted, 0)
  })

  test('13: are left alone where they are not asked for', () => {
    assert.deepEqual(chosen(chain, { subjects: ['orders-*'], includeReferences: false }), ['orders-value@1#1'])
  })

  test('of Protobuf alone are followed where only these are asked for', () => {
    const mixed = [
      version('avro', 1, { references: [reference('avro-part', 1)] }),
      version('avro-part', 1),
      version('proto', 1, { schemaType: 'PROTOBUF', references: [reference('proto-part', 1)] }),
      version('proto-part', 1, { schemaType: 'PROTOBUF' }),
    ]
    const one = { subjects: ['avro', 'proto'], includeReferences: false, includeProtobufDependencies: true }
    assert.deepEqual(chosen(mixed, one), ['avro@1#1', 'proto@1#1', 'proto-part@1#1+'])
    const other = { subjects: ['avro', 'proto'], includeProtobufDependencies: false }
    assert.deepEqual(chosen(mixed, other), ['avro@1#1', 'avro-part@1#1+', 'proto@1#1'])
  })

  test('12: in a diamond, five deep, and back to an older version of the same subject come to an end', () => {
    const deep = [
      version('a', 1),
      version('a', 2, { references: [reference('b', 1)] }),
      version('b', 1, { references: [reference('a', 1)] }),
      version('c', 1, { references: [reference('a', 2), reference('b', 1)] }),
      version('d', 1, { references: [reference('c', 1)] }),
      version('top', 1, { references: [reference('d', 1), reference('b', 1)] }),
    ]
    assert.deepEqual(chosen(deep, { subjects: ['top'] }), ['a@1#1+', 'a@2#2+', 'b@1#1+', 'c@1#1+', 'd@1#1+', 'top@1#1'])
  })

  test('12: without a context are looked for in the one of the schema that refers', () => {
    assert.equal(resolveReference('part', ':.eu:orders'), ':.eu:part')
    assert.equal(resolveReference(':.:part', ':.eu:orders'), 'part')
    assert.equal(resolveReference(':.eu:part', 'orders'), ':.eu:part')
    const contexts = [
      version(':.eu:orders', 1, { references: [reference('part', 1)] }),
      version(':.eu:part', 1),
      version('part', 1),
    ]
    assert.deepEqual(chosen(contexts, { subjects: [':.eu:orders'] }), [':.eu:orders@1#1', ':.eu:part@1#1+'])
  })

  test('to what the registry does not have are told', () => {
    const { warnings } = selectVersions([version('a', 1, { references: [reference('b', 4)] })], everything)
    assert.deepEqual(warnings, [
      'version 1 of subject "a" refers to version 4 of subject "b", which the registry does not show',
    ])
  })
})

function chosen(all: readonly SchemaVersion[], selection: Partial<Selection>): string[] {
  return brief(selectVersions(all, { ...everything, ...selection }).versions)
}
