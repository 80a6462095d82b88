import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createIdMap } from '../../../src/registry/ids/id-map.ts'

const pair = (context: string, source: number, target: number) => ({ context, source, target })

describe('a map of ids', () => {
  test('knows the same id in two contexts apart', () => {
    const map = createIdMap([pair('.', 1, 100), pair('.eu', 1, 7)])
    assert.deepEqual(
      [map.get('.', 1), map.get('.eu', 1), map.get('.us', 1), map.get('.', 2)],
      [100, 7, undefined, undefined],
    )
  })

  test('is an identity by context, but not where it knows no id of it', () => {
    const map = createIdMap([pair('.', 1, 1), pair('.', 2, 2), pair('.eu', 1, 1), pair('.eu', 2, 3)])
    assert.deepEqual([map.isIdentity('.'), map.isIdentity('.eu'), map.isIdentity('.us')], [true, false, false])
  })

  test('knows the GUIDs that are others on the target', () => {
    const [a, b] = ['00112233-4455-6677-8899-AABBCCDDEEFF', '00000000-0000-0000-0000-000000000001']
    const map = createIdMap(
      [pair('.', 1, 1)],
      [
        { source: a, target: b },
        { source: b, target: b },
      ],
    )
    assert.equal(map.getGuid('00112233445566778899aabbccddeeff'), '00000000000000000000000000000001')
    assert.equal(map.getGuid('00000000000000000000000000000001'), undefined)
    assert.equal(map.isIdentity('.'), false)
    assert.equal(createIdMap([pair('.', 1, 1)], [{ source: b, target: b }]).isIdentity('.'), true)
    assert.notEqual(map.digest, createIdMap([pair('.', 1, 1)]).digest)
  })

  test('knows the GUIDs that the target does not have, but takes no other bytes for one', () => {
    const [kept, lost, foreign] = ['0a', '0b', '0c'].map(byte => byte.repeat(16)) as [string, string, string]
    const map = createIdMap(
      [pair('.', 1, 1)],
      [
        { source: kept, target: kept },
        { source: lost, target: null },
      ],
    )
    const inHeader = [kept, lost, foreign].map(guid => map.isUnknownGuid(guid, true))
    const before = [kept, lost, foreign].map(guid => map.isUnknownGuid(guid, false))
    assert.deepEqual(
      [inHeader, before],
      [
        [false, true, true],
        [false, true, false],
      ],
    )
    const twice = createIdMap(
      [],
      [
        { source: kept, target: null },
        { source: kept, target: kept },
      ],
    )
    assert.equal(twice.isUnknownGuid(kept, true), false, 'another subject has it')
  })

  test('has a digest that the order of its pairs does not change, and any other pair does', () => {
    const pairs = [pair('.', 1, 10), pair('.', 2, 20), pair('.eu', 1, 30)]
    const { digest } = createIdMap(pairs)
    assert.equal(createIdMap(pairs.toReversed()).digest, digest)
    const others = [[], pairs.slice(1), [...pairs, pair('.', 3, 3)], [...pairs.slice(1), pair('.', 1, 11)]]
    for (const other of others) assert.notEqual(createIdMap(other).digest, digest)
  })
})
