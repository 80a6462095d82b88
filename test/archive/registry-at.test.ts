import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinSnapshots } from '../../src/archive/join-snapshots.ts'
import { findFirst } from '../../src/archive/registry-at.ts'
import type { SchemaVersion } from '../../src/archive/registry-model.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

const names = (versions: readonly SchemaVersion[] = []) =>
  versions.map(({ subject, version, id }) => `${subject}/${version}=${id}`)

describe('two snapshots of one registry', () => {
  test('are the later one where it has everything', () => {
    const later = snapshotOf([versionOf('a', 1, 1, { isDeleted: true }), versionOf('b', 1, 2)])
    assert.equal(joinSnapshots(snapshotOf([versionOf('a', 1, 1)]), later), later)
  })

  test('are both together where versions were removed in between', () => {
    const earlier = snapshotOf([versionOf('a', 1, 1), versionOf('a', 2, 2)], {
      subjects: { a: { compatibility: 'FULL' } },
      maxIds: new Map([['.', 2]]),
    })
    const later = snapshotOf([versionOf('a', 2, 2), versionOf('b', 1, 3)], {
      subjects: { a: { compatibility: 'NONE' }, b: { compatibility: 'NONE' } },
      maxIds: new Map([['.', 3]]),
    })
    const joined = joinSnapshots(earlier, later)
    assert.deepEqual(names(joined?.versions), ['a/1=1', 'a/2=2', 'b/1=3'])
    assert.deepEqual([...(joined?.subjects ?? [])].map(([name, { compatibility }]) => [name, compatibility]).sort(), [
      ['a', 'FULL'],
      ['b', 'NONE'],
    ])
    assert.deepEqual(joined?.maxIds, new Map([['.', 3]]))
  })

  const others: [string, SchemaVersion][] = [
    ['the same version has another ID', versionOf('a', 1, 7)],
    ['the same version has another text', versionOf('a', 1, 1, { schema: '"int"' })],
    ['the same ID has another text', versionOf('b', 1, 1, { schema: '"int"' })],
  ]
  for (const [why, version] of others) {
    test(`cannot be joined where ${why}`, () => {
      assert.equal(joinSnapshots(snapshotOf([versionOf('a', 1, 1)]), snapshotOf([version])), undefined)
    })
  }

  test('may give an ID to another schema in another context', () => {
    const later = snapshotOf([versionOf('a', 1, 1), versionOf(':.other:b', 1, 1, { schema: '"int"' })])
    assert.equal(joinSnapshots(snapshotOf([versionOf('a', 1, 1)]), later), later)
  })
})

test('finds the first item of a list, whatever its length, and asks for few', async () => {
  for (let length = 0; length < 40; length++) {
    const items = Array.from({ length }, (_, at) => at)
    for (let first = 0; first <= length; first++) {
      let asked = 0
      const find = async (item: number) => {
        asked++
        return item >= first ? item : undefined
      }
      assert.equal(await findFirst(items, find), first < length ? first : undefined)
      assert.ok(asked <= 2 * Math.log2(first + 2) + 2, `${asked} of ${length} were asked for item ${first}`)
    }
  }
})
