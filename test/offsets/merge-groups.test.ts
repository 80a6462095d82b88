import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import { mergeGroups, positionsOf, sectionFor } from '../../src/offsets/survey-groups.ts'

function group(name: string, offsets: Record<string, bigint>, error: string | null = null): StoredGroup {
  const positions = Object.entries(offsets).map(([topic, offset]) => {
    return { topic, partition: 0, offset, leader_epoch: -1, metadata: '', lag: null }
  })
  return { group: name, type: 'classic', state: 'Empty', members: 0, error, positions }
}

const shown = (groups: readonly StoredGroup[]) =>
  groups.map(({ group: name, error, positions }) => [name, error, positions.map(one => [one.topic, one.offset])])

describe('committed offsets of several incarnations', () => {
  const now = [group('g1', { orders: 5n }), group('g2', {}, 'denied'), group('idle', {})]
  const then = [group('g1', { orders: 900n, other: 1n }), group('g2', { orders: 7n }), group('gone', { orders: 3n })]

  test('are kept apart by the label of their topic', () => {
    const old = positionsOf(then, 'orders', 'orders@1a2b3c4d')
    assert.deepEqual(shown(mergeGroups([now, old])), [
      [
        'g1',
        null,
        [
          ['orders', 5n],
          ['orders@1a2b3c4d', 900n],
        ],
      ],
      ['g2', 'denied', [['orders@1a2b3c4d', 7n]]],
      ['idle', null, []],
      ['gone', null, [['orders@1a2b3c4d', 3n]]],
    ])
  })

  test('are known to be incomplete where one of the lists could not be read', () => {
    const old = positionsOf([group('g1', {}, 'unread then')], 'orders', 'orders@1a2b3c4d')
    assert.deepEqual(shown(mergeGroups([now, old])).slice(0, 1), [['g1', 'unread then', [['orders', 5n]]]])
  })

  test('do not bring groups that had none on the topic', () => {
    assert.deepEqual(shown(mergeGroups([[], positionsOf(then, 'nope', 'nope')])), [])
  })

  test('of older incarnations count also where the generation holds none by choice, and not where it failed to', () => {
    const old = {
      state: 'taken',
      taken_at: 'then',
      key: 'k',
      size: 1,
      blake3: '',
      groups: 1,
      positions: 1,
      errors: 0,
    } as const
    const now = { ...old, taken_at: 'now' }
    const failed = { state: 'failed', taken_at: '', error: 'no leader' } as const
    assert.equal(sectionFor({ state: 'off' }, [undefined, old]), old)
    assert.equal(sectionFor(undefined, [undefined, old]), old)
    assert.equal(sectionFor(failed, [old]), old)
    assert.equal(sectionFor(failed, [undefined, old]), failed)
    assert.equal(sectionFor(now, [undefined, old]), now)
    assert.equal(sectionFor(now, [undefined]), now)
    assert.equal(sectionFor(undefined, []), undefined)
  })
})
