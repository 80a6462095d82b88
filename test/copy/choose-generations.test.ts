import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseGenerations, type RequestedGeneration } from '../../src/copy/choose-generations.ts'

const cases: {
  name: string
  source: number[]
  target: number[]
  requested?: RequestedGeneration
  isThorough?: boolean
  missing: number[]
  walked: number[]
  older?: number[]
}[] = [
  { name: 'an empty target gets all', source: [1, 2, 3], target: [], missing: [1, 2, 3], walked: [1, 2, 3] },
  { name: 'a target gets what is new', source: [1, 2, 3], target: [1, 2], missing: [3], walked: [3] },
  { name: 'an up-to-date target is looked at all the same', source: [1, 2], target: [1, 2], missing: [], walked: [2] },
  { name: 'a hole is tried again', source: [1, 2, 3, 4], target: [1, 3], missing: [2, 4], walked: [2, 4] },
  {
    name: 'what retention removed there stays away',
    source: [1, 2, 3, 4],
    target: [3],
    missing: [4],
    walked: [4],
    older: [1, 2],
  },
  {
    name: 'what retention removed here is not missed',
    source: [3, 4],
    target: [1, 2],
    missing: [3, 4],
    walked: [3, 4],
  },
  { name: 'one alone', source: [1, 2, 3], target: [], requested: 2, missing: [2], walked: [2] },
  { name: 'one that is older than all there', source: [1, 2, 3], target: [3], requested: 1, missing: [1], walked: [1] },
  { name: 'one that is there', source: [1, 2, 3], target: [2], requested: 2, missing: [], walked: [2] },
  { name: 'the newest alone', source: [1, 2, 3], target: [], requested: 'newest', missing: [3], walked: [3] },
  {
    name: 'thoroughly, all that is shared',
    source: [1, 2, 3],
    target: [1, 2],
    isThorough: true,
    missing: [3],
    walked: [1, 2, 3],
  },
  {
    name: 'thoroughly, one',
    source: [1, 2, 3],
    target: [1, 2],
    requested: 2,
    isThorough: true,
    missing: [],
    walked: [2],
  },
]

for (const { name, source, target, requested, isThorough = false, missing, walked, older = [] } of cases) {
  test(`which generations are copied: ${name}`, () => {
    const chosen = chooseGenerations(source, target, requested, isThorough)
    assert.deepEqual([chosen.missing, chosen.walked, chosen.older], [missing, walked, older])
    assert.deepEqual(
      chosen.shared,
      source.filter(one => target.includes(one)),
    )
  })
}
