import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findDivergence } from '../../src/backup/observe-history.ts'

const stored = { last_epoch: 7, end_offset: 40n }

describe('the history of a log', () => {
  for (const [what, known, expected] of [
    ['is the same where the epoch reaches as far', { epoch: 7, endOffset: 40n, leaderEpoch: 9 }, undefined],
    ['is the same where the epoch reaches further', { epoch: 7, endOffset: 90n, leaderEpoch: 7 }, undefined],
    ['is another where the epoch ends earlier', { epoch: 7, endOffset: 39n, leaderEpoch: 9 }, 39n],
    ['is another where only a lower epoch is known', { epoch: 5, endOffset: 30n, leaderEpoch: 9 }, 30n],
  ] as const) {
    test(what, () => assert.equal(findDivergence(stored, known)?.endOffset, expected))
  }

  test('is another where the leader is in a lower epoch than the backup', () => {
    const known = { epoch: -1, endOffset: -1n, leaderEpoch: 6 }
    assert.deepEqual(findDivergence(stored, known), { storedEpoch: 7, endOffset: undefined })
  })

  test('is not judged where the leader keeps no epochs, or does not answer', () => {
    assert.equal(findDivergence(stored, { epoch: -1, endOffset: -1n, leaderEpoch: 7 }), undefined)
    assert.equal(findDivergence(stored, undefined), undefined)
    assert.equal(findDivergence(undefined, { epoch: 7, endOffset: 3n, leaderEpoch: 7 }), undefined)
  })
})
