import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { ConditionType } from '../../../src/operator/crd/status.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import { at, endOf, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

const bucket = { backend: 's3', bucket: 'b' }
const volume = { backend: 'pvc', pvc: { claimName: 'c' } }
const hourly: ResourceSpec = { schedule: '0 * * * *', storage: bucket, drill: { schedule: '50 * * * *' } }
const backupRun = 'scheduled-20261116t0200z'
const drillRun = 'drill-scheduled-20261116t0250z'
const running = { running: [{ pod: 'p', ip: '127.0.0.2' }] }

/** A backup that ran at two, and the drill of ten to three. */
function drilled(spec: ResourceSpec = hourly): { story: Story; main: JobState; drill: JobState } {
  const story = new Story(resourceOf(spec))
  story.plan(startMs)
  assert.deepEqual(startedRuns(story.plan(at('16T02:00:00'))), [backupRun])
  const main = jobOf(backupRun, { createdMs: at('16T02:00:00'), end: endOf({ completedMs: at('16T02:05:00') }) })
  const plan = story.plan(at('16T02:50:00'), [main])
  assert.deepEqual(startedRuns(plan), [drillRun])
  const drill = jobOf(drillRun, { purpose: 'drill', createdMs: at('16T02:50:00'), ...running })
  return { story, main, drill }
}

const conditionOf = (story: Story, name: ConditionType) => story.status?.conditions?.find(({ type }) => type === name)

describe('drills', () => {
  test('report their result, the recovery time and the evidence until the next', () => {
    const { story, main, drill } = drilled()
    assert.equal(story.status?.drill?.nextTime, '2026-11-16T03:50:00Z')
    assert.equal(conditionOf(story, 'Drilled')?.status, 'Unknown')
    const totals = { records: 1200, recoverySeconds: 12.5, report: 's3://b/orders/reports/evidence/drills/x' }
    const end = endOf({ completedMs: at('16T02:55:00'), totals })
    const plan = story.plan(at('16T02:55:01'), [main, { ...drill, end }])
    assert.deepEqual(plan.status.drill, {
      lastTime: '2026-11-16T02:55:00Z',
      result: 'Proven',
      message: `Run ${drillRun} restored 1,200 records in 12.5 s and found them equal to the backup.`,
      records: 1200,
      evidence: totals.report,
      recoverySeconds: 12.5,
      lastProvenTime: '2026-11-16T02:55:00Z',
      nextTime: '2026-11-16T03:50:00Z',
    })
    assert.deepEqual([conditionOf(story, 'Drilled')?.status, reasons(plan)], ['True', ['DrillCompleted']])
    assert.deepEqual([plan.status.phase, plan.status.records], ['Completed', undefined], 'those of the backup')
  })

  test('that fail keep the last proof and its recovery time, and leave the resource ready', () => {
    const { story, main, drill } = drilled()
    story.status = { ...story.status, drill: { lastProvenTime: '2026-11-15T02:50:00Z', recoverySeconds: 3 } }
    const end = endOf({ isSuccess: false, completedMs: at('16T02:55:00'), reason: 'DamageFound', message: 'differs' })
    const plan = story.plan(at('16T02:55:01'), [main, { ...drill, end }])
    const { result, reason, message, recoverySeconds, lastProvenTime } = plan.status.drill ?? {}
    assert.deepEqual([result, reason, message], ['Failed', 'DamageFound', 'differs'])
    assert.deepEqual([recoverySeconds, lastProvenTime], [3, '2026-11-15T02:50:00Z'])
    assert.deepEqual([conditionOf(story, 'Drilled')?.status, conditionOf(story, 'Ready')?.status], ['False', 'True'])
    assert.deepEqual(reasons(plan), ['DrillFailed'])
  })

  test('and verifications count from when their schedule was set or resumed, not from the creation of the resource', () => {
    const created = '2026-11-16T01:30:00Z'
    const story = new Story(resourceOf({ schedule: '0 * * * *', storage: bucket }))
    const since = (ms: number, spec: ResourceSpec) => {
      story.resource.spec = { schedule: '0 * * * *', storage: bucket, ...spec }
      return story.plan(ms).status.schedules?.map(one => `${one.purpose} ${one.schedule} ${one.since}`)
    }
    assert.equal(since(startMs, {}), undefined)
    assert.deepEqual(since(at('20T02:00:00'), { drill: { schedule: '@weekly' }, verify: {} }), [
      'verify 0 * * * * 2026-11-20T02:00:00Z',
      'drill @weekly 2026-11-20T02:00:00Z',
    ])
    assert.deepEqual(since(at('21T02:00:00'), { drill: { schedule: '@weekly' } }), [
      'drill @weekly 2026-11-20T02:00:00Z',
    ])
    assert.deepEqual(since(at('21T03:00:00'), { drill: { schedule: '@daily' } }), ['drill @daily 2026-11-21T03:00:00Z'])
    assert.equal(since(at('21T04:00:00'), { drill: { schedule: '@daily' }, suspend: true }), undefined)
    assert.deepEqual(since(at('25T02:00:00'), { drill: { schedule: '@daily' } }), ['drill @daily 2026-11-25T02:00:00Z'])
    const fresh = new Story(resourceOf({ drill: { schedule: '@daily' } }))
    assert.deepEqual(fresh.plan(at('16T05:00:00')).status.schedules?.[0]?.since, created)
  })

  test('that were due and did not succeed stay overdue after changes of the schedule, a pause and an upgrade', () => {
    const story = new Story(resourceOf(hourly))
    const since = (ms: number, schedule: string, rest: ResourceSpec = {}) => {
      story.resource.spec = { ...hourly, drill: { schedule }, ...rest }
      return story.plan(ms).status.schedules?.map(one => `${one.schedule} ${one.since}`)
    }
    const created = '2026-11-16T01:30:00Z'
    assert.deepEqual(since(startMs, '0 1 * * *'), [`0 1 * * * ${created}`])
    assert.deepEqual(since(at('17T12:00:00'), '0 2 * * *'), [`0 2 * * * ${created}`], 'changed every day')
    assert.deepEqual(since(at('18T12:00:00'), '0 3 * * *'), [`0 3 * * * ${created}`])
    assert.deepEqual(since(at('18T22:00:00'), '0 3 * * *', { suspend: true }), [`0 3 * * * ${created}`])
    assert.deepEqual(since(at('19T06:00:00'), '0 3 * * *'), [`0 3 * * * ${created}`], 'suspended every night')
    story.status = { ...story.status, drill: { ...story.status?.drill, lastProvenTime: '2026-11-19T05:00:00Z' } }
    assert.deepEqual(since(at('19T12:00:00'), '0 4 * * *'), ['0 4 * * * 2026-11-19T12:00:00Z'], 'succeeded since')
    const { schedules: _, ...older } = story.status ?? {}
    story.status = older
    assert.deepEqual(since(at('20T12:00:00'), '0 4 * * *'), [`0 4 * * * ${created}`], 'as the earlier release counted')
    story.status = { ...older, schedules: [{ purpose: 'drill', schedule: '0 4 * * *', since: '2027-11-20T12:00:00Z' }] }
    assert.deepEqual(since(at('21T12:00:00'), '0 4 * * *'), ['0 4 * * * 2026-11-21T12:00:00Z'], 'a clock was ahead')
  })

  test('whose Job is deleted fail without the advice to trigger, which starts a backup', () => {
    const { story, main, drill } = drilled()
    const plan = story.plan(at('16T02:55:00'), [main, { ...drill, isBeingDeleted: true }])
    const { result, reason, message } = plan.status.drill ?? {}
    assert.deepEqual([result, reason], ['Failed', 'JobRemoved'])
    assert.match(message ?? '', /unknown\. The next one starts at its time\.$/)
  })

  test('whose pod cannot start are reported after ten minutes, and again when they run', () => {
    const { story, main, drill } = drilled()
    const waiting = { reason: 'ImagePullBackOff', message: 'Pod p: no such image.' }
    const stuck = { ...drill, running: [], waiting }
    const early = story.plan(at('16T02:51:00'), [main, stuck])
    assert.deepEqual([conditionOf(story, 'Drilled')?.status, early.recheckAtMs], ['Unknown', at('16T03:00:00')])
    const late = story.plan(at('16T03:20:00'), [main, stuck])
    assert.deepEqual(
      [startedRuns(late), reasons(late)],
      [['scheduled-20261116t0300z'], ['DrillBlocked', 'BackupStarted']],
    )
    const { status, reason, message } = conditionOf(story, 'Drilled') ?? {}
    assert.deepEqual([status, reason], ['False', 'ImagePullBackOff'])
    assert.equal(message, `Run ${drillRun} cannot start. Pod p: no such image.`)
    story.plan(at('16T03:21:00'), [main, drill])
    assert.equal(conditionOf(story, 'Drilled')?.status, 'Unknown')
  })

  test('wait for a backup that runs, and start once for the latest time', () => {
    const story = new Story(resourceOf({ ...hourly, schedule: '45 * * * *' }))
    story.plan(startMs)
    story.plan(at('16T01:45:00'))
    const good = jobOf('scheduled-20261116t0145z', { end: endOf({ completedMs: at('16T01:46:00') }) })
    story.plan(at('16T01:46:01'), [good])
    story.plan(at('16T02:45:00'), [good])
    const main = jobOf('scheduled-20261116t0245z', { createdMs: at('16T02:45:00'), ...running })
    assert.deepEqual(startedRuns(story.plan(at('16T02:50:00'), [good, main])), [])
    assert.equal(story.status?.drill?.nextTime, '2026-11-16T02:50:00Z', 'it is due')
    const done = { ...main, end: endOf({ completedMs: at('16T03:30:00') }) }
    assert.deepEqual(startedRuns(story.plan(at('16T03:30:01'), [good, done])), [drillRun])
  })

  test('never run twice at once', () => {
    const { story, main, drill } = drilled({ ...hourly, schedule: '0 2 * * *' })
    assert.deepEqual(startedRuns(story.plan(at('16T03:50:00'), [main, drill])), [])
    const done = { ...drill, end: endOf({ completedMs: at('16T03:55:00') }) }
    assert.deepEqual(startedRuns(story.plan(at('16T03:55:01'), [main, done])), ['drill-scheduled-20261116t0350z'])
  })

  test('do not delay a backup in a bucket, not even with a Job that is being stopped', () => {
    const { story, main, drill } = drilled()
    assert.deepEqual(startedRuns(story.plan(at('16T03:00:00'), [main, drill])), ['scheduled-20261116t0300z'])
    const other = drilled()
    const failed = { ...other.drill, end: endOf({ isSuccess: false, isStillTrying: true, reason: 'x' }) }
    const plan = other.story.plan(at('16T03:00:00'), [other.main, failed])
    assert.deepEqual(startedRuns(plan), ['scheduled-20261116t0300z'])
  })

  test('stop where a backup needs the same volume, and say so', () => {
    const { story, main, drill } = drilled({ ...hourly, storage: volume })
    const plan = story.plan(at('16T03:00:00'), [main, drill])
    assert.deepEqual(startedRuns(plan), [])
    assert.deepEqual(plan.after, [{ type: 'remove-job', name: drill.name, uid: drill.uid }])
    assert.deepEqual([plan.status.drill?.result, plan.status.drill?.reason], ['Failed', 'Preempted'])
    assert.deepEqual(startedRuns(story.plan(at('16T03:00:05'), [main, { ...drill, isBeingDeleted: true }])), [])
    assert.deepEqual(startedRuns(story.plan(at('16T03:00:09'), [main])), ['scheduled-20261116t0300z'])
  })

  test('stop also where the volume is that of a KafkaBackupStorage', () => {
    const { story, main, drill } = drilled()
    const storage = { name: 's', status: 'True', reason: 'StorageAvailable', message: '' } as const
    const section = { value: volume, at: ['KafkaBackupStorage s: spec', 'storage'] }
    const plan = story.plan(at('16T03:00:00'), [main, drill], { storage: { ...storage, section } })
    assert.deepEqual([startedRuns(plan), plan.status.drill?.reason], [[], 'Preempted'])
  })

  test('of a continuous backup run next to it, after its first round', () => {
    const { schedule: _, ...rest } = hourly
    const story = new Story(resourceOf({ ...rest, backup: { continuous: true } }))
    story.plan(startMs)
    const main = jobOf('generation-1', { isContinuous: true, ...running })
    assert.deepEqual(startedRuns(story.plan(at('16T01:50:00'), [main])), [], 'nothing to restore yet')
    story.plan(at('16T02:00:00'), [main], { lastRoundMs: at('16T02:00:00') })
    assert.deepEqual(startedRuns(story.plan(at('16T02:50:00'), [main])), [drillRun])
    const progress = { phase: 'copying', records: 5, bytes: 5 }
    const drill = jobOf(drillRun, { purpose: 'drill', createdMs: at('16T02:50:00'), ...running })
    assert.equal(story.plan(at('16T02:51:00'), [main, drill], { progress }).status.progress?.records, 5)
    assert.equal(story.plan(at('16T02:51:10'), [main, drill]).status.progress?.records, 5, 'kept between polls')
  })

  test('wait while the Job of a continuous backup is created again, because what they lack must not block it', () => {
    const { schedule: _, ...rest } = hourly
    const story = new Story(resourceOf({ ...rest, backup: { continuous: true } }))
    story.plan(startMs)
    const main = jobOf('generation-1', { isContinuous: true, ...running })
    story.plan(at('16T02:00:00'), [main], { lastRoundMs: at('16T02:00:00') })
    assert.deepEqual(startedRuns(story.plan(at('16T02:50:00'))), ['generation-1'], 'its Job was removed')
    const again = jobOf('generation-1', { isContinuous: true, createdMs: at('16T02:50:00'), ...running })
    assert.deepEqual(startedRuns(story.plan(at('16T02:50:10'), [again])), [drillRun])
  })

  test('that cannot start are reported, and block no backup', () => {
    const drillProblem = { reason: 'SecretMissing', message: 'Missing secrets: s (spec.drill.signingKeySecret).' }
    const story = new Story(resourceOf(hourly), { drillProblem })
    story.plan(startMs)
    story.plan(at('16T02:00:00'))
    const main = jobOf(backupRun, { createdMs: at('16T02:00:00'), end: endOf({ completedMs: at('16T02:05:00') }) })
    const plan = story.plan(at('16T02:50:00'), [main])
    assert.deepEqual([startedRuns(plan), plan.recheckAtMs], [[], at('16T02:51:00')])
    assert.deepEqual(
      [plan.status.drill?.reason, plan.status.drill?.message],
      [drillProblem.reason, drillProblem.message],
    )
    assert.deepEqual([conditionOf(story, 'Drilled')?.status, conditionOf(story, 'Ready')?.status], ['False', 'True'])
    assert.deepEqual(startedRuns(story.plan(at('16T03:00:00'), [main])), ['scheduled-20261116t0300z'])
  })

  test('that were blocked stay so while a backup runs, because they are checked again only after it', () => {
    const drillProblem = { reason: 'SecretMissing', message: 'Missing secrets: s.' }
    const story = new Story(resourceOf(hourly))
    story.plan(startMs)
    story.plan(at('16T02:00:00'))
    const main = jobOf(backupRun, { createdMs: at('16T02:00:00'), end: endOf({ completedMs: at('16T02:05:00') }) })
    assert.ok(reasons(story.plan(at('16T02:50:00'), [main], { drillProblem })).includes('DrillBlocked'))
    story.plan(at('16T03:00:00'), [main], { drillProblem })
    const next = jobOf('scheduled-20261116t0300z', { createdMs: at('16T03:00:00'), ...running })
    assert.ok(!reasons(story.plan(at('16T03:01:00'), [main, next])).includes('DrillBlocked'))
    assert.equal(conditionOf(story, 'Drilled')?.reason, 'SecretMissing')
  })

  test('with an invalid schedule are reported, and block no backup', () => {
    const story = new Story(resourceOf({ ...hourly, drill: { schedule: 'bad' } }))
    const plan = story.plan(at('16T02:00:00'))
    assert.match(plan.status.drill?.message ?? '', /^spec\.drill\.schedule: "bad" is neither a cron/)
    assert.deepEqual([startedRuns(plan), reasons(plan)[0]], [[backupRun], 'DrillBlocked'])
    assert.ok(!reasons(story.plan(at('16T02:00:30'))).includes('DrillBlocked'), 'reported once')
  })

  test('end with the section: status and condition go', () => {
    const { story, main, drill } = drilled()
    story.plan(at('16T02:55:01'), [main, { ...drill, end: endOf() }])
    const { drill: _, ...spec } = hourly
    story.resource.spec = spec
    story.plan(at('16T02:56:00'), [main])
    assert.deepEqual([story.status?.drill, conditionOf(story, 'Drilled')], [undefined, undefined])
  })

  test('do not start while the resource is suspended', () => {
    const { story, main } = drilled()
    story.resource.spec = { ...hourly, suspend: true }
    assert.deepEqual(startedRuns(story.plan(at('16T03:50:00'), [main])), [])
  })
})
