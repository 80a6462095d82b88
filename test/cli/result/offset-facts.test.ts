import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparisonFacts } from '../../../src/cli/result/offset-facts.ts'

test('counts the compared groups, and names the first difference', () => {
  const at = { topic: 'orders', was: 10n }
  const groups = [
    { group: 'audit', positions: [{ ...at, partition: 0, is: 12n, change: 'ahead' as const }], isDifferent: false },
    {
      group: 'billing',
      positions: [
        { ...at, partition: 0, is: 12n, change: 'ahead' as const },
        { ...at, partition: 1, is: 5n, change: 'behind' as const },
      ],
      isDifferent: true,
    },
    { group: 'mail', positions: [], error: 'not authorized', isDifferent: true },
  ]
  const comparison = { snapshotId: 's1', isStrict: false, ok: false, groups }
  assert.deepEqual(comparisonFacts(comparison), {
    totals: { groups: 3, groups_different: 2 },
    problem: {
      message:
        '2 of 3 groups differ from snapshot s1; billing: orders/1 is at 5, was at 10 (behind); see the log for all groups',
    },
  })
  const strict = { ...comparison, isStrict: true }
  assert.match(comparisonFacts(strict).problem?.message ?? '', /billing: orders\/0 is at 12, was at 10 \(ahead\)/)
  const unread = { ...comparison, groups: groups.slice(2) }
  assert.match(comparisonFacts(unread).problem?.message ?? '', /^1 of 1 group .* mail: not authorized/)
  assert.deepEqual(comparisonFacts({ ...comparison, ok: true, groups: groups.slice(0, 1) }), {
    totals: { groups: 1, groups_different: 0 },
  })
})
