import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { ConditionType } from '../../../src/operator/crd/status.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import type { Plan } from '../../../src/operator/plan/plan.ts'
import { endOf, hourMs, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

const pod = [{ pod: 'p', ip: '127.0.0.2' }]
const minuteMs = 60_000
const continuous = { backup: { continuous: true } }
const run = (rest: Partial<JobState> = {}) => jobOf('generation-1', { isContinuous: true, running: pod, ...rest })

test('a continuous backup is ready once it is accepted, has no recovery point yet, and is not ready when rounds are overdue', () => {
  const story = new Story(resourceOf(continuous))
  assert.deepEqual(readyOf(story.plan(startMs)), ['True', 'Accepted'])
  const first = story.plan(startMs + 30 * minuteMs, [run()])
  assert.deepEqual(readyOf(first), ['True', 'Accepted'], 'the first round of a large cluster takes long')
  assert.deepEqual(pointOf(first), ['False', 'NeverSucceeded'])
  const lastRoundMs = startMs + 31 * minuteMs
  const good = story.plan(lastRoundMs + 1000, [run()], { lastRoundMs })
  assert.deepEqual([readyOf(good), good.recheckAtMs], [['True', 'RoundsSucceed'], lastRoundMs + 5 * minuteMs + 1000])
  assert.deepEqual(pointOf(good), ['True', 'Available'])
  const late = story.plan(good.recheckAtMs ?? 0, [run()], { lastRoundMs })
  assert.deepEqual(pointOf(late), ['False', 'RoundOverdue'])
  assert.deepEqual([readyOf(late), reasons(late)], [['False', 'RoundOverdue'], ['RoundOverdue']])
  assert.deepEqual(reasons(story.plan(lastRoundMs + hourMs, [run()], { lastRoundMs })), [])
  const again = story.plan(lastRoundMs + hourMs, [run()], { lastRoundMs: lastRoundMs + hourMs })
  assert.deepEqual(readyOf(again), ['True', 'RoundsSucceed'])
})

test('a continuous backup with a long commit interval has more time for its rounds', () => {
  const story = new Story(resourceOf({ backup: { continuous: true, commitInterval: '10m' } }))
  story.plan(startMs, [run()], { lastRoundMs: startMs })
  const ready = (minutes: number) => readyOf(story.plan(startMs + minutes * minuteMs, [run()]))[0]
  assert.deepEqual([ready(32), ready(33)], ['True', 'False'])
})

test('a ready pod proves a recent round although the operator cannot reach the pod', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  const at = (minutes: number, rest: Partial<JobState>) => story.plan(startMs + minutes * minuteMs, [run(rest)])
  assert.deepEqual(pointOf(at(1, {})), ['False', 'NeverSucceeded'])
  const readySinceMs = startMs + 2 * minuteMs
  const first = at(2, { readySinceMs })
  assert.deepEqual([readyOf(first)[0], first.status.lastSuccessfulTime], ['True', '2026-11-16T01:32:00Z'])
  assert.equal(first.recheckAtMs, startMs + 3 * minuteMs, 'the time moves on though nothing changes')
  const later = at(60, { readySinceMs })
  assert.deepEqual([readyOf(later)[0], later.status.lastSuccessfulTime], ['True', '2026-11-16T02:27:00Z'])
  assert.deepEqual(readyOf(at(63, {})), ['False', 'RoundOverdue'])
  assert.equal(story.status?.lastSuccessfulTime, '2026-11-16T02:27:00Z')
})

test('a continuous backup whose pods fail is restarted, counted and reported by an event, and not ready after a while', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  story.plan(startMs + minuteMs, [run()], { lastRoundMs: startMs + minuteMs })
  const failedPods = { count: 3, reason: 'KAFKA_AUTH', message: 'User backup: wrong password.' }
  const down = run({ running: [], failedPods })
  const soon = story.plan(startMs + 2 * minuteMs, [down])
  assert.deepEqual([readyOf(soon)[0], reasons(soon), soon.status.restarts], ['True', ['BackupRetried'], 3])
  assert.deepEqual([soon.status.phase, conditionOf(soon, 'Stalled').status, soon.after], ['Running', 'False', []])
  const late = story.plan(startMs + 10 * minuteMs, [down])
  assert.deepEqual(readyOf(late), ['False', 'RoundOverdue'])
  assert.match(conditionOf(late, 'Ready').message, /failed and were replaced: 3\. User backup: wrong password\.$/)
  const works = story.plan(startMs + 11 * minuteMs, [run({ failedPods })], { lastRoundMs: startMs + 11 * minuteMs })
  assert.deepEqual([readyOf(works)[0], works.status.phase], ['True', 'Running'])
})

test('a continuous backup whose pods fail before its first round is not ready', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  const failedPods = { count: 3, reason: 'KAFKA_AUTH', message: 'User backup: wrong password.' }
  const failing = story.plan(startMs + minuteMs, [run({ failedPods })])
  assert.deepEqual([readyOf(failing), pointOf(failing)[1]], [['False', 'NoRoundYet'], 'NeverSucceeded'])
  assert.match(conditionOf(failing, 'Ready').message, /were replaced: 3\. User backup: wrong password\.$/)
  assert.equal(conditionOf(failing, 'Reconciling').status, 'True')
})

test('a continuous backup whose first pod does not start is not ready after a while', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  const waiting = { reason: 'ImagePullBackOff', message: 'No such image.' }
  const pulls = (minutes: number) => story.plan(startMs + minutes * minuteMs, [run({ running: [], waiting })])
  const soon = pulls(1)
  assert.deepEqual([readyOf(soon), soon.recheckAtMs], [['True', 'Accepted'], startMs + 5 * minuteMs + 1000])
  assert.deepEqual(readyOf(pulls(6)), ['False', 'NoRoundYet'])
  story.resource.metadata.generation = 2
  const changed = story.plan(startMs + 7 * minuteMs)
  assert.deepEqual(readyOf(changed), ['True', 'Accepted'], 'a changed spec gets the same time')
})

test('a continuous backup that a restart cannot help is stalled until it is triggered or changed', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  const end = endOf({ isSuccess: false, isStillTrying: true, reason: 'SOURCE_TRUNCATED', message: 'It is shorter.' })
  const stalled = story.plan(startMs + minuteMs, [run({ running: [], end })])
  assert.deepEqual(reasons(stalled), ['BackupStalled'])
  assert.deepEqual([stalled.status.phase, stalled.status.reason], ['Failed', 'SOURCE_TRUNCATED'])
  for (const type of ['Ready', 'Stalled'] as const) {
    const { status, reason, message } = conditionOf(stalled, type)
    assert.deepEqual([status, reason], [type === 'Ready' ? 'False' : 'True', 'SOURCE_TRUNCATED'])
    assert.match(message, /It is shorter\. It is not restarted automatically.*trigger annotation/)
  }
  assert.deepEqual(
    stalled.after.map(({ type }) => type),
    ['stop-job'],
  )
  const failed = run({ running: [], end: { ...end, isStillTrying: false } })
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs, [failed])), [])
  story.resource.metadata.annotations = { 'kafka-backup.dev/trigger': 'mended' }
  const triggered = story.plan(startMs + 2 * hourMs, [failed])
  const [again = ''] = startedRuns(triggered)
  assert.match(again, /^trigger-/)
  assert.equal(conditionOf(triggered, 'Stalled').status, 'False')
  const live = jobOf(again, { isContinuous: true, running: pod })
  const lastRoundMs = startMs + 3 * hourMs
  assert.deepEqual(readyOf(story.plan(lastRoundMs, [failed, live], { lastRoundMs })), ['True', 'RoundsSucceed'])
})

test('reports a lost node in phase, condition and event', () => {
  for (const spec of [continuous, {}]) {
    const story = new Story(resourceOf(spec))
    story.plan(startMs)
    const name = 'backup' in spec ? 'generation-1' : 'once'
    const lost = { atMs: startMs + 4 * minuteMs, message: 'Pod p has not been heard of.' }
    const job = jobOf(name, { running: pod, lost })
    const before = story.plan(startMs + 2 * minuteMs, [job])
    assert.deepEqual([before.status.reason, before.recheckAtMs], ['Running', lost.atMs])
    const after = story.plan(lost.atMs, [job])
    assert.deepEqual(
      [after.status.phase, after.status.reason, readyOf(after)],
      ['Running', 'NodeLost', ['False', 'NodeLost']],
    )
    assert.deepEqual(reasons(after), ['NodeLost'])
    assert.deepEqual(reasons(story.plan(lost.atMs + minuteMs, [job])), [])
    assert.equal(story.plan(lost.atMs + 2 * minuteMs, [jobOf(name, { running: pod })]).status.reason, 'Running')
  }
})

test('a run that waits for a Job on a lost node is not ready', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  story.plan(startMs + minuteMs, [run()], { lastRoundMs: startMs + minuteMs })
  story.resource.metadata.generation = 2
  const lost = { atMs: startMs + 10 * minuteMs, message: 'Pod p has not been heard of.' }
  const going = run({ running: [], lost, isBeingDeleted: true })
  story.plan(startMs + 2 * minuteMs, [going])
  assert.deepEqual(readyOf(story.plan(startMs + 11 * minuteMs, [going])), ['False', 'NodeLost'])
})

test('a suspended continuous backup names its recovery point, and reports no rounds', () => {
  const story = new Story(resourceOf(continuous))
  story.plan(startMs)
  story.plan(startMs + minuteMs, [run()], { lastRoundMs: startMs + minuteMs })
  story.resource = resourceOf({ ...continuous, suspend: true })
  const { status, message } = conditionOf(story.plan(startMs + 24 * hourMs), 'RecoveryPoint')
  assert.deepEqual([status, message.startsWith('The latest recovery point is of ')], ['True', true])
})

test('a continuous backup whose Job is gone and cannot be created again is not reported as running', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs, [run()])
  const missingSecrets = [{ name: 'backup-s3', field: 'spec.storage.secretAccessKeySecret' }]
  const blocked = story.plan(startMs + hourMs, [], { missingSecrets })
  const { phase, reason, conditions } = blocked.status
  const progressing = conditions?.find(({ type }) => type === 'Progressing')
  assert.deepEqual([phase, reason], ['Pending', 'SecretMissing'])
  assert.deepEqual(
    [progressing?.status, progressing?.reason, progressing?.message],
    ['False', 'SecretMissing', 'The next Job of run generation-1 cannot start yet.'],
  )
  const again = story.plan(startMs + hourMs + minuteMs)
  assert.deepEqual([startedRuns(again), again.status.phase], [['generation-1'], 'Pending'])
})

test('a triggered run of a continuous backup stops when the backup is no longer continuous', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs, [run()])
  story.plan(startMs + hourMs, [run({ running: [], end: endOf({ isSuccess: false, reason: 'ENCRYPTION_KEY' }) })])
  story.resource.metadata.annotations = { 'kafka-backup.dev/trigger': '1' }
  const [triggered = ''] = startedRuns(story.plan(startMs + 2 * hourMs))
  const job = jobOf(triggered, { isContinuous: true, running: pod, createdMs: startMs + 2 * hourMs })
  assert.equal(story.plan(startMs + 3 * hourMs, [job]).status.phase, 'Running')
  const { metadata } = story.resource
  story.resource = resourceOf({ schedule: '0 * * * *' }, { metadata: { ...metadata, generation: 2 } })
  const { after, status } = story.plan(startMs + 4 * hourMs, [job])
  assert.deepEqual([status.history?.[0]?.run, status.history?.[0]?.reason], [triggered, 'Stopped'])
  assert.deepEqual(after, [{ type: 'remove-job', name: job.name, uid: job.uid }])
})

/** A continuous backup that a trigger has started again, and whose Job is gone since. */
function triggerAndLoseJob(spec: ResourceSpec): { story: Story; triggered: string } {
  const story = new Story(resourceOf(spec))
  const first = story.plan(startMs)
  const [started = ''] = startedRuns(first)
  story.plan(startMs + hourMs, [jobOf(started, { running: [], end: endOf({ isSuccess: false, reason: 'X' }) })])
  story.resource.metadata.annotations = { 'kafka-backup.dev/trigger': '1' }
  const [triggered = ''] = startedRuns(story.plan(startMs + 2 * hourMs))
  return { story, triggered }
}

test('a triggered run of a continuous backup whose Job is gone stops when the backup is suspended', () => {
  const { story, triggered } = triggerAndLoseJob(continuous)
  const { metadata } = story.resource
  story.resource = resourceOf({ ...continuous, suspend: true }, { metadata: { ...metadata, generation: 2 } })
  const plan = story.plan(startMs + 3 * hourMs)
  const [last] = plan.status.history ?? []
  assert.deepEqual([startedRuns(plan), last?.run, last?.reason], [[], triggered, 'Stopped'])
  assert.deepEqual([plan.status.reason, reasons(plan)], ['Suspended', ['Suspended', 'BackupStopped']])
  story.resource = resourceOf(continuous, { metadata: { ...metadata, generation: 3 } })
  assert.deepEqual(startedRuns(story.plan(startMs + 4 * hourMs)), ['generation-3'])
})

test('a run whose Job was gone before the backup became continuous is not reported as stopped', () => {
  const { story, triggered } = triggerAndLoseJob({})
  const { metadata } = story.resource
  story.resource = resourceOf({ ...continuous, suspend: true }, { metadata: { ...metadata, generation: 2 } })
  const plan = story.plan(startMs + 3 * hourMs)
  const [last] = plan.status.history ?? []
  assert.deepEqual([startedRuns(plan), last?.run, last?.reason], [[], triggered, 'JobRemoved'])
  assert.ok(!reasons(plan).includes('BackupStalled'))
})

test('a run that is active when the backup becomes continuous has not succeeded', () => {
  const story = new Story(resourceOf())
  const once = jobOf('once', { running: pod })
  story.plan(startMs, [once])
  const { metadata } = story.resource
  story.resource = resourceOf({ backup: { continuous: true } }, { metadata: { ...metadata, generation: 2 } })
  const plan = story.plan(startMs + minuteMs, [once])
  const { status, reason } = conditionOf(plan, 'Succeeded')
  assert.deepEqual([plan.status.history?.[0]?.phase, status, reason], ['Failed', 'False', 'Replaced'])
  assert.deepEqual([reasons(plan), readyOf(plan)], [['BackupFailed'], ['True', 'Accepted']], 'it has not stalled')
  assert.deepEqual(startedRuns(story.plan(startMs + 2 * minuteMs)), ['generation-2'])
})

test('a continuous backup that is deleted has not stalled', () => {
  const resource = resourceOf({ ...continuous, deletionPolicy: 'Delete' })
  const finalizers = ['kafka-backup.dev/delete-backup']
  const story = new Story({ ...resource, metadata: { ...resource.metadata, finalizers } })
  story.plan(startMs, [run()])
  story.resource.metadata.deletionTimestamp = '2026-11-16T02:30:00Z'
  assert.deepEqual(reasons(story.plan(startMs + hourMs, [run()])), ['BackupFailed', 'Deleting'])
})

function conditionOf({ status }: Plan, type: ConditionType) {
  const found = status.conditions?.find(condition => condition.type === type)
  assert.ok(found, `there is no condition ${type}`)
  return found
}

function readyOf(plan: Plan): [string, string] {
  const { status, reason } = conditionOf(plan, 'Ready')
  return [status, reason]
}

function pointOf(plan: Plan): [string, string] {
  const { status, reason } = conditionOf(plan, 'RecoveryPoint')
  return [status, reason]
}
