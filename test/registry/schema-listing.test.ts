import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listSubjects } from '../../src/registry/schema-listing.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

test('a subject is listed with its latest live version, its own settings, and what is deleted or pulled in', () => {
  const snapshot = snapshotOf(
    [
      versionOf('b', 1, 4, { schemaType: 'PROTOBUF', isPulledIn: true }),
      versionOf('a', 1, 1, { isDeleted: true }),
      versionOf('a', 3, 2),
      versionOf('a', 7, 3, { isDeleted: true }),
    ],
    { subjects: { a: { compatibility: 'FULL' }, alias: { config: { alias: 'a' }, mode: 'READONLY' } } },
  )
  const plain = { compatibility: null, mode: null, alias: null, deletedVersions: 0, pulledInVersions: 0 }
  assert.deepEqual(listSubjects(snapshot), [
    {
      ...plain,
      name: 'a',
      schemaType: 'AVRO',
      versions: 3,
      latestVersion: 3,
      latestId: 2,
      compatibility: 'FULL',
      deletedVersions: 2,
    },
    {
      ...plain,
      name: 'alias',
      schemaType: null,
      versions: 0,
      latestVersion: null,
      latestId: null,
      mode: 'READONLY',
      alias: 'a',
    },
    {
      ...plain,
      name: 'b',
      schemaType: 'PROTOBUF',
      versions: 1,
      latestVersion: 1,
      latestId: 4,
      pulledInVersions: 1,
    },
  ])
})
