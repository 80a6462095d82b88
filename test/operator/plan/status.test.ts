import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConditionType } from '../../../src/operator/crd/status.ts'
import type { JobEnd, JobState } from '../../../src/operator/job/job-state.ts'
import type { Plan } from '../../../src/operator/plan/plan.ts'
import { at, endOf, hourMs, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

const pod = [{ pod: 'p', ip: '127.0.0.2' }]

test('a run goes from Pending to Running to its end, and reports each step once', () => {
  const story = new Story(resourceOf())
  assert.deepEqual(reasons(story.plan(startMs)), ['BackupStarted'])
  assert.deepEqual(phaseOf(story.plan(startMs + 1000, [jobOf('once')])), ['Pending', 'Starting'])
  const waiting = { reason: 'ImagePullBackOff', message: 'The image cannot be pulled.' }
  assert.deepEqual(phaseOf(story.plan(startMs + 2000, [jobOf('once', { waiting })])), ['Pending', 'ImagePullBackOff'])
  const progress = { phase: 'copy', percent: 40, records: 4, bytes: 400 }
  const running = story.plan(startMs + 3000, [jobOf('once', { running: pod })], { progress })
  assert.deepEqual(
    [phaseOf(running), running.status.records, running.status.progress],
    [['Running', 'Running'], 4, progress],
  )
  const retried = story.plan(startMs + 4000, [jobOf('once', { failedPods: { count: 1, message: 'Broker down.' } })])
  assert.deepEqual([phaseOf(retried), reasons(retried)], [['Running', 'Retrying'], ['BackupRetried']])
  assert.deepEqual(reasons(story.plan(startMs + 5000, [jobOf('once', { running: pod, failedPods: { count: 1 } })])), [])
  const end = endOf({ totals: { records: 10, bytes: 1000, gaps: 2, storedBytes: 77 } })
  const done = story.plan(startMs + 61_000, [jobOf('once', { end })])
  assert.deepEqual([phaseOf(done), done.status.progress, done.status.gaps], [['Completed', 'Completed'], undefined, 2])
  assert.deepEqual(reasons(done), ['GapFound', 'BackupCompleted'])
  assert.match(done.events.at(-1)?.note ?? '', /10 records, 1000 bytes/)
  assert.deepEqual(
    done.ended.map(({ run, records }) => [run, records]),
    [['once', 10]],
  )
})

test('a dry run is not reported as if it had changed something', () => {
  for (const controller of ['restore', 'offset_reset', 'offset_rollback'] as const) {
    const story = new Story(resourceOf({ dryRun: true }), { controller })
    story.plan(startMs)
    const { status, events } = story.plan(startMs + hourMs, [jobOf('once', { end: endOf({ isUnreported: true }) })])
    const told = [status.message, ...['Ready', 'Succeeded'].map(name => messageOf(status, name)), events[0]?.note]
    for (const text of told) assert.match(text ?? '', /dry run: nothing was changed/, controller)
    assert.deepEqual([status.phase, status.lastSuccessfulTime], ['Completed', undefined])
  }
})

test('reports a run that ended while the operator was down', () => {
  const end = endOf({ isSuccess: false, reason: 'Partial', message: 'Two topics are missing.', totals: { records: 3 } })
  const plan = new Story(resourceOf()).plan(startMs + hourMs, [jobOf('once', { end })])
  assert.deepEqual(
    [phaseOf(plan), plan.status.message, plan.actions],
    [['Failed', 'Partial'], 'Two topics are missing.', []],
  )
  assert.deepEqual(
    [reasons(plan), plan.status.startTime, plan.status.lastFailedTime],
    [['BackupPartial'], '2026-11-16T01:30:00Z', '2026-11-16T01:31:00Z'],
  )
})

test('keeps the start of the last run while the next one is blocked, because the API server guards the location by it', () => {
  const story = new Story(resourceOf({ schedule: '0 2 * * *', deletionPolicy: 'Delete', storageRef: { name: 's' } }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const done = jobOf('scheduled-20261116t0200z', { createdMs: at('16T02:00:00'), end: endOf() })
  const { startTime } = story.plan(at('16T03:00:00'), [done]).status
  const storage = { name: 's', status: 'False', reason: 'StorageUnavailable', message: 'Denied.' } as const
  const { status } = story.plan(at('16T04:00:00'), [done], { storage })
  assert.deepEqual([status.reason, status.startTime], ['StorageUnavailable', startTime])
  assert.deepEqual([startTime, status.completionTime], ['2026-11-16T02:00:00Z', undefined])
})

test('a resource whose storage cannot be read is reconciled again soon, because the storage may not exist either', () => {
  const story = new Story(resourceOf({ storageRef: { name: 's' } }))
  const unknown = { name: 's', status: 'Unknown', reason: 'StorageUnknown', message: 'Not installed.' } as const
  const plan = story.plan(startMs, [], { storage: unknown })
  assert.deepEqual([plan.status.reason, plan.recheckAtMs], ['StorageUnknown', startMs + 15_000])
  assert.deepEqual(reasons(plan), ['StorageUnknown'])
  const cluster = { ...unknown, reason: 'ClusterUnknown' }
  assert.deepEqual(reasons(new Story(resourceOf()).plan(startMs, [], { cluster })), ['ClusterUnknown'])
})

test('a Job that can never succeed ends the run, then is stopped, and its log is kept', () => {
  const end = endOf({ isSuccess: false, isStillTrying: true, reason: 'KAFKA_DENIED', message: 'Wrong password.' })
  const job = jobOf('once', { end })
  const plan = new Story(resourceOf()).plan(startMs + 60_000, [job])
  assert.deepEqual(
    [phaseOf(plan), plan.after],
    [['Failed', 'KAFKA_DENIED'], [{ type: 'stop-job', name: job.name, uid: job.uid }]],
  )
})

test('keeps failed Jobs by failedJobsHistoryLimit, for any reason', () => {
  const story = new Story(resourceOf({ schedule: '0 2 * * *', job: { failedJobsHistoryLimit: 2 } }))
  story.plan(startMs)
  const removedAt = (day: number, isStillTrying: boolean, older: JobState[]) => {
    const completedMs = at(`${day}T02:01:00`)
    const end = endOf({ isSuccess: false, isStillTrying, completedMs, reason: 'KAFKA_DENIED' })
    const job = jobOf(`scheduled-202611${day}t0200z`, { end, createdMs: completedMs })
    const plan = story.plan(completedMs + 1000, [...older, job])
    return { job: { ...job, end: { ...end, isStillTrying: false } }, after: plan.after.map(({ type }) => type) }
  }
  const first = removedAt(16, true, [])
  assert.deepEqual(first.after, ['stop-job'])
  const second = removedAt(17, false, [first.job])
  assert.deepEqual(second.after, [])
  assert.deepEqual(removedAt(18, false, [first.job, second.job]).after, ['remove-job'])
  const stopped = jobOf('once', { isWithoutRetries: true, end: endOf({ isSuccess: false, isStillTrying: true }) })
  const ending = new Story(resourceOf())
  assert.deepEqual(ending.plan(startMs + 60_000, [stopped]).after, [], 'the Job controller ends it')
  const after = ending.plan(startMs + 61_000, [jobOf('once', { isWithoutRetries: true, isEnding: true })]).after
  assert.deepEqual(after, [], 'its end is decided, and not known yet')
})

test('a deleted Job is a failure, but not while the cache may lack it', () => {
  const story = new Story(resourceOf())
  story.plan(startMs)
  const soon = story.plan(startMs + 30_000)
  assert.deepEqual([phaseOf(soon), soon.actions, soon.recheckAtMs], [['Pending', 'Starting'], [], startMs + 60_000])
  assert.deepEqual(phaseOf(story.plan(startMs + 60_000)), ['Failed', 'JobRemoved'])
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs)), [])
})

test('reconciles a Job without a running pod until the reason is known, or it runs', () => {
  const story = new Story(resourceOf())
  story.plan(startMs)
  for (const at of [1000, 15_000, 45_000]) {
    assert.equal(story.plan(startMs + at, [jobOf('once')]).recheckAtMs, startMs + at + 15_000)
  }
  const waiting = { reason: 'NoPod', message: 'The Job has no pod.' }
  const known = story.plan(startMs + 60_000, [jobOf('once', { waiting })])
  assert.deepEqual([phaseOf(known), known.recheckAtMs], [['Pending', 'NoPod'], undefined])
  assert.equal(story.plan(startMs + 70_000, [jobOf('once', { running: pod })]).recheckAtMs, undefined)
})

test('looks again at a restore while not all of its shards run, because all wait for the first one, and no change shows why it does not start', () => {
  const story = new Story(resourceOf({ parallelism: 2 }), { controller: 'restore' })
  story.plan(startMs)
  const running = ['a', 'b'].map(pod => ({ pod, ip: '10.0.0.1' }))
  const recheckWith = (count: number) => {
    const job = jobOf('once', { stage: 'shards', shards: 2, running: running.slice(0, count) })
    return story.plan(startMs + 5000, [job]).recheckAtMs
  }
  assert.deepEqual([recheckWith(1), recheckWith(2)], [startMs + 20_000, undefined])
})

test('reports a missing secret once, checks again, and reports when it is found', () => {
  const story = new Story(resourceOf())
  const rest = { missingSecrets: [{ name: 's3', field: 'spec.storage.secretAccessKeySecret' }] }
  const missing = story.plan(startMs, [], rest)
  assert.deepEqual(
    [phaseOf(missing), reasons(missing), missing.recheckAtMs],
    [['Pending', 'SecretMissing'], ['SecretMissing'], startMs + 15_000],
  )
  assert.match(missing.status.message ?? '', /s3 \(spec\.storage\.secretAccessKeySecret\)/)
  assert.deepEqual(reasons(story.plan(startMs + 15_000, [], rest)), [])
  assert.deepEqual(reasons(story.plan(startMs + 30_000)), ['SecretsFound', 'BackupStarted'])
})

test('an invalid spec fails without finishing, and is tried again after an edit', () => {
  const story = new Story(resourceOf({ schedule: '0 25 * * *' }))
  const bad = story.plan(startMs)
  assert.deepEqual(
    [phaseOf(bad), bad.status.completionTime, reasons(bad)],
    [['Failed', 'InvalidSpec'], undefined, ['InvalidSpec']],
  )
  assert.match(bad.status.message ?? '', /^spec\.schedule: "0 25 \* \* \*" is neither a cron/)
  assert.deepEqual(reasons(story.plan(startMs + 1000)), [])
  story.resource.spec = { schedule: '0 2 * * *', timeZone: 'Mars/Phobos' }
  assert.match(story.plan(startMs + 2000).status.message ?? '', /"Mars\/Phobos" is not a time zone/)
  story.resource.spec = { schedule: '0 2 * * *' }
  assert.deepEqual(phaseOf(story.plan(startMs + 3000)), ['Pending', 'Scheduled'])
  const problem = { reason: 'InvalidSpec', message: 'spec.topics: is empty.' }
  const once = new Story(resourceOf()).plan(startMs, [], { problem })
  assert.deepEqual([phaseOf(once), once.actions], [['Failed', 'InvalidSpec'], []])
  const refused = new Story(resourceOf()).plan(startMs, [], { problem: { reason: 'JobRefused', message: 'A quota.' } })
  assert.deepEqual([phaseOf(refused), reasons(refused)], [['Failed', 'JobRefused'], ['JobRefused']])
  const done = new Story(resourceOf()).plan(startMs + hourMs, [jobOf('once', { end: endOf() })], { problem })
  assert.deepEqual(phaseOf(done), ['Completed', 'Completed'], 'what is done needs no spec')
})

test('a run whose process has ended is running while a sidecar keeps its pod, although no pod was seen to run', () => {
  const story = new Story(resourceOf())
  story.plan(startMs)
  const begun = jobOf('once', { hasBegun: true })
  assert.deepEqual(phaseOf(story.plan(startMs + 5000, [begun])), ['Running', 'Running'])
  const waiting = { reason: 'SidecarRunning', message: 'The process ended with exit code 0.' }
  assert.deepEqual(phaseOf(story.plan(startMs + 90_000, [{ ...begun, waiting }])), ['Running', 'SidecarRunning'])
})

test('a round of a continuous backup is a success, reported at most once a minute', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs)
  const run = [jobOf('generation-1', { running: pod })]
  const told = (seconds: number, lastRoundMs?: number) =>
    story.plan(startMs + seconds * 1000, run, { lastRoundMs }).status.lastSuccessfulTime
  assert.equal(told(5), undefined)
  assert.equal(told(30, startMs + 25_000), '2026-11-16T01:30:25Z')
  assert.equal(told(45, startMs + 40_000), '2026-11-16T01:30:25Z')
  assert.equal(told(90, startMs + 85_000), '2026-11-16T01:31:25Z')
  assert.equal(told(600, startMs + 700_000), '2026-11-16T01:40:00Z', 'no time of a clock that is ahead')
  assert.equal(told(610), '2026-11-16T01:40:00Z')
  const once = new Story(resourceOf()).plan(startMs, [jobOf('once')], { lastRoundMs: startMs })
  assert.equal(once.status.lastSuccessfulTime, undefined)
})

test('a continuous backup keeps its measured size between two polls', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs)
  const run = [jobOf('generation-1', { running: pod })]
  const progress = { phase: 'waiting', records: 4, bytes: 400, storedBytes: 77 }
  assert.equal(story.plan(startMs + 5000, run, { progress }).status.storedBytes, 77)
  assert.equal(story.plan(startMs + 6000, run).status.storedBytes, 77)
})

test('a recovered continuous backup is not reported as retrying', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs)
  const job = (count: number, running = pod) =>
    jobOf('generation-1', { running, failedPods: { count, message: 'Broker down.' } })
  const failed = story.plan(startMs + 1000, [job(1, [])])
  assert.deepEqual([phaseOf(failed)[1], reasons(failed)], ['Retrying', ['BackupRetried']])
  const works = story.plan(startMs + 20_000, [job(1)])
  assert.deepEqual([phaseOf(works), reasons(works)], [['Running', 'Running'], []])
  assert.deepEqual(reasons(story.plan(startMs + 40_000, [job(2, [])])), ['BackupRetried'])
})

test('a license that cannot be read is a condition too, and is checked again from time to time', () => {
  const spec = { enterprise: { licenseSecret: { name: 'license' } }, schedule: '0 2 * * *' }
  const plan = new Story(resourceOf(spec)).plan(startMs, [], { licenseTrouble: 'get of secrets is forbidden.' })
  const license = plan.status.conditions?.find(({ type }) => type === 'LicenseFound')
  assert.deepEqual(
    [license?.status, license?.reason, plan.recheckAtMs],
    ['Unknown', 'LicenseUnknown', startMs + 300_000],
  )
  assert.match(license?.message ?? '', /get of secrets is forbidden\. No feature needs a license/)
  const missing = new Story(resourceOf(spec)).plan(startMs, [], { isLicenseMissing: true })
  assert.equal(missing.recheckAtMs, startMs + 300_000)
})

test('a missing license is a condition and blocks nothing', () => {
  const story = new Story(resourceOf({ enterprise: { licenseSecret: { name: 'license' } } }))
  const plan = story.plan(startMs, [], { isLicenseMissing: true })
  assert.deepEqual([startedRuns(plan), condition(plan, 'LicenseFound')?.status], [['once'], 'False'])
  assert.deepEqual(reasons(plan), ['LicenseMissing', 'BackupStarted'])
})

test('a rollback waits for the snapshot of the reset that it names', () => {
  const resource = resourceOf({ resetRef: { name: 'go-back' } })
  const story = new Story(resource, { controller: 'offset_rollback' })
  const waits = story.plan(startMs, [], { referredSnapshotId: null })
  assert.deepEqual(
    [waits.actions, phaseOf(waits), reasons(waits)],
    [[], ['Pending', 'WaitingForReset'], ['WaitingForReset']],
  )
  assert.match(waits.status.message ?? '', /KafkaOffsetReset go-back is running/)
  const nothing = story.plan(startMs, [], { referredSnapshotId: null, referredReset: 'unchanged' })
  assert.match(nothing.status.message ?? '', /go-back has ended without a snapshot, so it changed no committed offset/)
  const [start] = story.plan(startMs + 1000, [], { referredSnapshotId: 'snap-1' }).actions
  assert.ok(start?.type === 'start')
  assert.equal(start.step.snapshotId, 'snap-1')
})

test('a reset waits for a rollback to its snapshot, and reports which', () => {
  const story = new Story(resourceOf({ strategy: 'earliest' }), { controller: 'offset_reset' })
  const waits = story.plan(startMs, [], { activeRollback: 'undo' })
  assert.deepEqual(
    [waits.actions, phaseOf(waits), reasons(waits), waits.recheckAtMs],
    [[], ['Pending', 'WaitingForRollback'], ['WaitingForRollback'], startMs + 15_000],
  )
  assert.match(waits.status.message ?? '', /KafkaOffsetRollback undo is running/)
  const leftOfRollback = { kind: 'Pod', name: 'undo-1-x', node: 'worker-3' } as const
  const { message = '' } = story.plan(startMs, [], { activeRollback: 'undo', leftOfRollback }).status
  assert.match(message, /^Pod undo-1-x \(node worker-3\) of the KafkaOffsetRollback undo, which was deleted/)
  assert.deepEqual(startedRuns(story.plan(startMs + 1000)), ['once'])
})

test('all pods of a reset take the same snapshot, and another run another one', () => {
  const takenBy = (annotations: Record<string, string>) => {
    const resource = resourceOf({ strategy: 'earliest' })
    const metadata = { ...resource.metadata, annotations }
    const [start] = new Story({ ...resource, metadata }, { controller: 'offset_reset' }).plan(startMs, []).actions
    assert.ok(start?.type === 'start')
    return start.step.snapshotAs ?? ''
  }
  const [once, triggered] = [takenBy({}), takenBy({ 'kafka-backup.dev/trigger': '1' })]
  assert.match(once, /^\d{8}t\d{6}z-[0-9a-f]{8}$/)
  assert.notEqual(once, triggered)
})

test('a reset whose Job is gone names the snapshot by the time that the Job had, which another leader may have created', () => {
  const reset = resourceOf({ groups: ['billing'], strategy: 'earliest' })
  const [start] = new Story(reset, { controller: 'offset_reset' }).plan(startMs).actions
  assert.ok(start?.type === 'start')
  const story = new Story(reset, { controller: 'offset_reset' })
  story.plan(startMs + 5000)
  story.plan(startMs + 6000, [jobOf('once', { createdMs: startMs + 2000 })])
  assert.equal(story.plan(startMs + hourMs).status.snapshotId, start.step.snapshotAs)
})

test('a reset whose pods ended without a result names the snapshot that it may have taken', () => {
  const endReset = (jobs: (step: string) => JobState[], spec = {}) => {
    const story = new Story(resourceOf({ strategy: 'earliest', ...spec }), { controller: 'offset_reset' })
    const [start] = story.plan(startMs, []).actions
    assert.ok(start?.type === 'start')
    const { status } = story.plan(startMs + 2 * hourMs, jobs(start.run))
    assert.equal(status.phase, 'Failed')
    return [status.snapshotId, status.message, start.step.snapshotAs] as const
  }
  const failed = (end: Partial<JobEnd>) => (run: string) => [
    jobOf(run, { end: endOf({ isSuccess: false, message: 'Pod p was killed.', ...end }) }),
  ]
  const [killed, message, taken] = endReset(failed({ isUnreported: true }))
  assert.ok(killed !== undefined && killed === taken)
  assert.equal(message, `Pod p was killed. If it changed committed offsets, snapshot ${killed} has the previous ones.`)
  assert.equal(endReset(() => [])[0], taken, 'its Job was deleted')
  assert.equal(endReset(failed({}))[0], undefined, 'all pods reported that they took none')
  assert.equal(endReset(failed({ isUnreported: true, totals: { snapshotId: 's-1' } }))[0], 's-1')
  assert.equal(endReset(failed({ isUnreported: true }), { dryRun: true })[0], undefined)
})

test('the time of a condition changes only with its status', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *' }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const good = story.plan(at('16T02:05:00'), [jobOf('scheduled-20261116t0200z', { end: endOf() })])
  assert.equal(condition(good, 'Succeeded')?.lastTransitionTime, '2026-11-16T02:05:00Z')
  story.plan(at('16T03:00:00'))
  const still = story.plan(at('16T03:05:00'), [
    jobOf('scheduled-20261116t0300z', { end: endOf({ completedMs: at('16T03:04:00') }) }),
  ])
  assert.equal(condition(still, 'Succeeded')?.lastTransitionTime, '2026-11-16T02:05:00Z')
  assert.match(condition(still, 'Succeeded')?.message ?? '', /scheduled-20261116t0300z/)
})

test('the history has the ten latest runs and those whose Jobs exist; old Jobs are removed', () => {
  const jobs = Array.from({ length: 14 }, (_, index) =>
    jobOf(`scheduled-20261116t${String(index).padStart(2, '0')}00z`, {
      end: endOf({ isSuccess: index % 2 === 0, completedMs: startMs + index * hourMs }),
    }),
  )
  const story = new Story(resourceOf({ schedule: '@yearly', job: { failedJobsHistoryLimit: 1 } }))
  const plan = story.plan(startMs + 20 * hourMs, jobs)
  assert.equal(plan.status.history?.length, 14)
  const gone = new Set(plan.after.flatMap(action => (action.type === 'remove-job' ? [action.name] : [])))
  const kept = jobs.filter(({ name }) => !gone.has(name))
  assert.deepEqual(
    kept.map(({ run }) => run.slice(19, 21)),
    ['08', '10', '12', '13'],
  )
  assert.equal(story.plan(startMs + 21 * hourMs, kept).status.history?.length, 10)
})

function phaseOf({ status }: Plan): (string | undefined)[] {
  return [status.phase, status.reason]
}

function condition({ status }: Plan, type: ConditionType) {
  return status.conditions?.find(one => one.type === type)
}

test('shows the estimate of the last run that has made one', () => {
  const story = new Story(resourceOf({ dryRun: true, probe: 'target' }))
  const estimate = { seconds: 240, precision: 'about' as const, limitedBy: 'target_write' }
  const { status } = story.plan(startMs + 61_000, [
    jobOf('once', { end: endOf({ totals: { dryRun: true, estimate } }) }),
  ])
  assert.deepEqual([status.estimate, status.history?.[0]?.estimate], [estimate, estimate])
})

test('a successful dry run is completed, and does not set the time of the last success', () => {
  const story = new Story(resourceOf({ dryRun: true }))
  const dry = jobOf('once', { end: endOf({ totals: { dryRun: true } }) })
  const shown = story.plan(startMs + 61_000, [dry])
  assert.deepEqual([phaseOf(shown), shown.status.lastSuccessfulTime], [['Completed', 'Completed'], undefined])
  assert.deepEqual(
    shown.status.history?.map(({ dryRun }) => dryRun),
    [true],
  )
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs)), [])
})

function messageOf({ conditions }: Plan['status'], name: string): string | undefined {
  return conditions?.find(({ type }) => type === name)?.message
}
