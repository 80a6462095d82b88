import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
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

test('a run that a clock ahead has ended does not hide that rounds are overdue since the backup became continuous', () => {
  const future = '2026-11-16T07:30:00Z'
  const once = { run: 'once', purpose: 'main', job: 'orders-1', startTime: '2026-11-16T01:30:00Z' } as const
  const status = {
    lastSuccessfulTime: future,
    history: [{ ...once, phase: 'Completed', completionTime: future }] as const,
  }
  const story = new Story(resourceOf({ backup: { continuous: true } }, { status: structuredClone(status) as never }))
  const jobs = [jobOf('generation-1', { isContinuous: true, running: [{ pod: 'p', ip: '127.0.0.2' }] })]
  assert.equal(story.plan(startMs, jobs).status.lastSuccessfulTime, '2026-11-16T01:30:00Z')
  const late = story.plan(startMs + 10 * 60_000, jobs)
  assert.deepEqual(conditionOf(late, 'Ready'), ['False', 'RoundOverdue'])
  assert.deepEqual(conditionOf(late, 'RecoveryPoint'), ['False', 'RoundOverdue'])
  assert.equal(late.status.lastSuccessfulTime, '2026-11-16T01:30:00Z')
})

test('a run that started while a clock was ahead does not hide that rounds are overdue', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs + 6 * hourMs)
  assert.equal(story.status?.active?.[0]?.startTime, '2026-11-16T07:30:00Z')
  const jobs = [jobOf('generation-1', { isContinuous: true, running: [{ pod: 'p', ip: '127.0.0.2' }] })]
  story.plan(startMs, jobs, { lastRoundMs: startMs })
  const late = story.plan(startMs + 10 * 60_000, jobs)
  assert.deepEqual(conditionOf(late, 'Ready'), ['False', 'RoundOverdue'])
  const failed = jobs.map(job => ({ ...job, running: [] }))
  const first = new Story(resourceOf({ backup: { continuous: true } }))
  first.plan(startMs + 6 * hourMs)
  assert.deepEqual(conditionOf(first.plan(startMs, failed), 'Ready'), ['False', 'NoRoundYet'])
})

test('the last success of a schedule does not stay in the future', () => {
  const story = new Story(
    resourceOf({ schedule: '0 * * * *' }, { status: { lastSuccessfulTime: '2026-11-16T07:30:00Z' } }),
  )
  assert.equal(story.plan(startMs).status.lastSuccessfulTime, '2026-11-16T01:30:00Z')
  assert.equal(story.plan(startMs + 60_000).status.lastSuccessfulTime, '2026-11-16T01:30:00Z')
})

test('a run that a clock ahead has ended does not become a new success when its time has come', () => {
  const story = new Story(resourceOf({ schedule: '0 0 1 1 *', verify: {} }))
  const end = endOf({ completedMs: startMs + 3 * hourMs })
  const jobs = [jobOf('trigger-1', { end }), jobOf('verify-trigger-1', { purpose: 'verify', end })]
  const timesOf = ({ status: { lastSuccessfulTime, lastVerifyTime } }: Plan) => [lastSuccessfulTime, lastVerifyTime]
  const ended = ['2026-11-16T01:30:00Z', '2026-11-16T01:30:00Z']
  assert.deepEqual(timesOf(story.plan(startMs, jobs)), ended)
  for (const hours of [1, 3, 4]) assert.deepEqual(timesOf(story.plan(startMs + hours * hourMs, jobs)), ended)
})

test('the last verification and the last drill do not stay in the future', () => {
  const future = '2026-11-16T07:30:00Z'
  const drill = { schedule: '@weekly', kafkaCluster: { bootstrapServers: ['kafka:9092'] } }
  const spec = { schedule: '0 * * * *', verify: {}, drill } as unknown as ResourceSpec
  const status = { lastVerifyTime: future, drill: { lastProvenTime: future } }
  const story = new Story(resourceOf(spec, { status }))
  for (const nowMs of [startMs, startMs + 60_000]) {
    const { lastVerifyTime, drill } = story.plan(nowMs).status
    assert.deepEqual([lastVerifyTime, drill?.lastProvenTime], ['2026-11-16T01:30:00Z', '2026-11-16T01:30:00Z'])
  }
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
