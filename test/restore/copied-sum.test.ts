import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { CopiedSum } from '../../src/restore/copied-sum.ts'
import { ManualClock } from '../cli/manual-clock.ts'

test('reports the first batch at once, the next ones together, and at the end what is left', () => {
  const clock = new ManualClock()
  const events: ProgressEvent[] = []
  const sum = new CopiedSum({ topic: 'orders', partition: 3 }, event => void events.push(event), clock)
  const copied = (records: number, bytes: number) => ({
    ...{ type: 'copied', topic: 'orders', partition: 3 },
    ...{ offsets: BigInt(records), records, bytes },
  })
  sum.add(5, 100)
  sum.add(1, 10)
  sum.add(2, 20)
  assert.deepEqual(events.splice(0), [copied(5, 100)])
  clock.pass(60)
  sum.add(4, 40)
  assert.deepEqual(events.splice(0), [copied(7, 70)])
  sum.add(1, 1)
  sum.report()
  sum.report()
  assert.deepEqual(events, [copied(1, 1)])
})
