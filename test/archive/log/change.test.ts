import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  applyChange,
  applyParts,
  type Change,
  emptyState,
  type ListPart,
  noChange,
  objectOf,
} from '../../../src/archive/log/change.ts'
import { composeChanges, composeParts } from '../../../src/archive/log/compose-changes.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { type FullState, randomFrom, randomSegment, randomStep } from './random-state.ts'

const ROUNDS = 300
const empty: FullState = { ...emptyState, segments: new Map() }

function segmentsAfter(
  before: ReadonlyMap<string, readonly Segment[]>,
  change: Change,
): Map<string, readonly Segment[]> {
  const after = new Map(before)
  for (const [key, one] of change.lists) {
    if (one === null) after.delete(key)
    else if (one.parts) after.set(key, applyParts(one.isNew ? [] : (before.get(key) ?? []), one.parts) ?? assert.fail())
    else if (one.isNew) after.set(key, [])
  }
  return after
}

test('a change makes the state after it of the state before it, whatever both are', () => {
  const random = randomFrom(1)
  let state = empty
  for (let i = 0; i < ROUNDS; i++) {
    const { after, change } = randomStep(random, state)
    const { segments, ...expected } = after
    assert.deepEqual(applyChange(state, change), expected)
    assert.deepEqual(segmentsAfter(state.segments, change), segments)
    state = after
  }
  assert.ok(state.lists.size > 5)
})

test('a composed change has the effect of all its changes, in whatever groups they are composed', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomFrom(seed)
    const changes: Change[] = []
    let begin = empty
    for (let i = random(6); i > 0; i--) begin = randomStep(random, begin).after
    let end = begin
    for (let i = 1 + random(12); i > 0; i--) {
      const { after, change } = randomStep(random, end)
      changes.push(change)
      end = after
    }
    const oneByOne = changes.reduce(composeChanges, noChange)
    const half = random(changes.length + 1)
    const inHalves = composeChanges(
      changes.slice(0, half).reduce(composeChanges, noChange),
      changes.slice(half).reduce(composeChanges, noChange),
    )
    for (const composed of [oneByOne, inHalves]) {
      const { segments, ...expected } = end
      assert.deepEqual(applyChange(begin, composed), expected)
      assert.deepEqual(segmentsAfter(begin.segments, composed), segments)
    }
  }
})

test('a composed change names every object that a state in between named: in its parts, or as passing', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomFrom(seed)
    let composed = noChange
    let state = empty
    const named = new Set<string>()
    for (let i = 0; i < 12; i++) {
      const { after, change } = randomStep(random, state)
      for (const segment of [...after.segments.values()].flat()) named.add(objectOf(segment).key)
      composed = composeChanges(composed, change)
      state = after
    }
    const parts = [...composed.lists.values()].flatMap(one => one?.parts ?? [])
    const known = new Set([...parts.flatMap(part => ('key' in part ? [part.key] : [])), ...composed.passing.keys()])
    assert.deepEqual(
      [...named].filter(key => !known.has(key)),
      [],
    )
  }
})

test('an append behind an append is one range and both segments', () => {
  const random = randomFrom(7)
  const [a, b] = [randomSegment(random, 'a/0'), randomSegment(random, 'a/0')]
  const first: ListPart[] = [[0, 4], a]
  assert.deepEqual(composeParts(first, [[0, 5], b]), [[0, 4], a, b])
  assert.deepEqual(
    composeParts(
      [
        [0, 2],
        [4, 6],
      ],
      [[0, 4]],
    ),
    [
      [0, 2],
      [4, 6],
    ],
  )
  assert.deepEqual(
    composeParts(
      [[0, 2], a, [2, 4]],
      [
        [0, 2],
        [3, 5],
      ],
    ),
    [[0, 4]],
  )
})
