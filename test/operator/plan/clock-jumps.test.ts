import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConditionType } from '../../../src/operator/crd/status.ts'
import type { Plan } from '../../../src/operator/plan/plan.ts'
import { at, endOf, hourMs, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

test('a run that a clock ahead has ended does not hide the result of later runs', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *', concurrencyPolicy: 'Replace' }))
  story.plan(startMs)
  const ahead = story.plan(at('16T02:00:00') + 6 * hourMs, [])
  assert.deepEqual(reasons(ahead).at(-1), 'BackupStarted')
  const early = jobOf('scheduled-20261116t0800z', {
    end: endOf({ completedMs: at('16T08:00:30'), totals: { records: 1 } }),
  })
  assert.equal(story.plan(at('16T08:01:00'), [early]).status.phase, 'Completed')
  const failed = jobOf('scheduled-20261116t0200z', {
    createdMs: at('16T02:00:00'),
    end: endOf({ isSuccess: false, reason: 'KAFKA_DENIED', message: 'No.', completedMs: at('16T02:00:30') }),
  })
  const right = story.plan(at('16T02:01:00'), [early, failed])
  assert.deepEqual([right.status.phase, right.status.reason], ['Failed', 'KAFKA_DENIED'])
  assert.deepEqual(conditionOf(right, 'Succeeded'), ['False', 'KAFKA_DENIED'])
  assert.deepEqual(conditionOf(right, 'RecoveryPoint'), ['False', 'LastRunFailed'])
  assert.deepEqual(
    right.status.history?.map(({ run }) => run),
    ['scheduled-20261116t0200z', 'scheduled-20261116t0800z'],
  )
  assert.deepEqual(
    story.plan(at('16T02:02:00'), [early, failed]).status.history,
    right.status.history,
    'the order stays',
  )
})

test('the last round that a clock ahead has recorded does not hide that rounds are overdue', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs)
  const pod = [{ pod: 'p', ip: '127.0.0.2' }]
  const jobs = [jobOf('generation-1', { isContinuous: true, running: pod })]
  const aheadMs = startMs + 6 * hourMs
  const ahead = story.plan(aheadMs, jobs, { lastRoundMs: aheadMs })
  assert.deepEqual(conditionOf(ahead, 'Ready'), ['True', 'RoundsSucceed'])
  const nowMs = startMs + hourMs
  assert.equal(story.plan(nowMs, jobs).status.lastSuccessfulTime, '2026-11-16T02:30:00Z')
  const late = story.plan(nowMs + 10 * 60_000, jobs, { lastRoundMs: aheadMs })
  assert.deepEqual(conditionOf(late, 'Ready'), ['False', 'RoundOverdue'])
  assert.equal(late.status.lastSuccessfulTime, '2026-11-16T02:30:00Z')
  const again = story.plan(nowMs + 11 * 60_000, jobs, { lastRoundMs: nowMs + 11 * 60_000 })
  assert.deepEqual(conditionOf(again, 'Ready'), ['True', 'RoundsSucceed'])
})

test('a Job that commits shards is created again without delay although the clock of the Job controller is ahead', () => {
  const story = new Story(resourceOf({ parallelism: 2 }))
  story.plan(startMs)
  const end = endOf({ completedMs: startMs + 6 * hourMs })
  const copied = jobOf('once', { stage: 'shards', shards: 2, end })
  assert.deepEqual(startedRuns(story.plan(startMs + 60_000, [copied])), ['once'])
  const gone = story.plan(startMs + 10 * 60_000, [copied])
  assert.deepEqual(startedRuns(gone), ['once'], 'the Job is not there, and no cache lags for so long')
})

function conditionOf({ status }: Plan, type: ConditionType): (string | undefined)[] {
  const condition = status.conditions?.find(one => one.type === type)
  return [condition?.status, condition?.reason]
}
