import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { triggerKey } from '../../../src/operator/plan/run-key.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { at, endOf, hourMs, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

const daily: ResourceSpec = { schedule: '0 2 * * *' }
const trigger = (value: string) => ({ 'kafka-backup.dev/trigger': value })

test('runs each time of random schedules once under a jumping clock, and catches up once after downtime', () => {
  const random = createRandom(3)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  for (let round = 0; round < 16; round++) {
    const schedule = `${pick(['0', '*/30', '17', '5,50'])} ${pick(['*', '2', '*/6', '1-5'])} * * *`
    const story = new Story(resourceOf({ schedule, timeZone: pick(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe']) }))
    const runs: string[] = []
    let nowMs = startMs
    for (let step = 0; step < 30; step++) {
      nowMs += pick([60_000, 600_000, hourMs, 3 * hourMs, 3 * 24 * hourMs, -2 * hourMs, -6 * hourMs])
      for (let look = 0; look < 3; look++) {
        const started = startedRuns(story.plan(nowMs, [], {}))
        assert.ok(started.length <= 1 && (look === 0 || started.length === 0), `${schedule}: one catch-up at most`)
        const jobs = started.map(run => jobOf(run, { createdMs: nowMs, end: endOf({ completedMs: nowMs }) }))
        if (jobs.length > 0) assert.deepEqual(startedRuns(story.plan(nowMs, jobs)), [])
        runs.push(...started)
      }
    }
    assert.equal(new Set(runs).size, runs.length, `${schedule}: ${runs}`)
    assert.ok(runs.length > 0, schedule)
  }
})

test('a clock that is set back beyond the history starts no run again', () => {
  const story = new Story(resourceOf({ schedule: '* * * * *' }))
  const runs: string[] = []
  const minutes = [...Array(30).keys(), ...Array(40).keys()]
  for (const minute of minutes) {
    const nowMs = startMs + minute * 60_000
    const started = startedRuns(story.plan(nowMs))
    story.plan(
      nowMs,
      started.map(run => jobOf(run, { createdMs: nowMs, end: endOf({ completedMs: nowMs }) })),
    )
    runs.push(...started)
  }
  assert.deepEqual([runs.length, new Set(runs).size], [39, 39])
})

test('a backup without a schedule runs once, and again only when it is triggered with a new value', () => {
  const story = new Story(resourceOf())
  assert.deepEqual(startedRuns(story.plan(startMs)), ['once'])
  assert.equal(story.status?.phase, 'Pending')
  const done = jobOf('once', { end: endOf({ totals: { records: 5 } }) })
  const ended = story.plan(startMs + 90_000, [done])
  assert.deepEqual(
    [ended.status.phase, ended.status.records, ended.status.completionTime],
    ['Completed', 5, '2026-11-16T01:31:00Z'],
  )
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs)), [])
  story.resource.metadata.annotations = trigger('a')
  assert.deepEqual(startedRuns(story.plan(startMs + 2 * hourMs)), [triggerKey('a')])
  assert.equal(story.status?.completionTime, undefined)
  const again = jobOf(triggerKey('a'), { end: endOf() })
  assert.equal(story.plan(startMs + 3 * hourMs, [again]).status.lastTrigger, 'a')
  story.resource.metadata.annotations = trigger('b')
  story.plan(startMs + 4 * hourMs)
  story.plan(startMs + 5 * hourMs, [jobOf(triggerKey('b'), { end: endOf() })])
  story.resource.metadata.annotations = trigger('a')
  const ignored = story.plan(startMs + 6 * hourMs)
  assert.deepEqual([startedRuns(ignored), reasons(ignored)], [[], ['TriggerIgnored']])
})

test('a resource that is created with a trigger runs once', () => {
  const story = new Story(resourceOf())
  story.resource.metadata.annotations = trigger('a')
  assert.deepEqual(startedRuns(story.plan(startMs)), [triggerKey('a')])
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs, [jobOf(triggerKey('a'), { end: endOf() })])), [])
})

test('one run catches up after downtime, for the latest time, and the others are reported as missed', () => {
  const story = new Story(resourceOf(daily))
  assert.equal(story.plan(startMs).status.nextScheduleTime, '2026-11-16T02:00:00Z')
  const late = story.plan(at('19T08:00:00'))
  assert.deepEqual(startedRuns(late), ['scheduled-20261119t0200z'])
  const missed = late.events.find(({ reason }) => reason === 'MissedSchedule')
  assert.match(missed?.note ?? '', /2026-11-16T02:00:00Z, 2026-11-17T02:00:00Z, 2026-11-18T02:00:00Z\./)
  assert.deepEqual(
    [story.status?.lastScheduleTime, story.status?.nextScheduleTime],
    ['2026-11-19T02:00:00Z', '2026-11-20T02:00:00Z'],
  )
})

test('a run that is later than startingDeadlineSeconds is missed', () => {
  const story = new Story(resourceOf({ ...daily, startingDeadlineSeconds: 600 }))
  story.plan(startMs)
  assert.deepEqual(startedRuns(story.plan(at('16T02:10:00'))), ['scheduled-20261116t0200z'])
  const other = new Story(resourceOf({ ...daily, startingDeadlineSeconds: 600 }))
  other.plan(startMs)
  const late = other.plan(at('16T02:10:01'))
  assert.deepEqual([startedRuns(late), reasons(late)], [[], ['MissedSchedule']])
  assert.equal(late.recheckAtMs, at('17T02:00:00'))
})

test('a changed, added or resumed schedule has no earlier times', () => {
  const story = new Story(resourceOf(daily))
  story.plan(at('16T01:45:00'))
  story.resource.spec = { schedule: '0 1 * * *' }
  const changed = story.plan(at('16T15:00:00'))
  assert.deepEqual([startedRuns(changed), reasons(changed)], [[], []])
  assert.equal(changed.status.nextScheduleTime, '2026-11-17T01:00:00Z')
  story.resource.spec = { schedule: '0 1 * * *', suspend: true }
  const suspended = story.plan(at('16T16:00:00'))
  assert.deepEqual([suspended.status.nextScheduleTime, reasons(suspended)], [undefined, ['Suspended']])
  story.resource.spec = { schedule: '0 1 * * *' }
  const resumed = story.plan(at('18T16:00:00'))
  assert.deepEqual([startedRuns(resumed), reasons(resumed)], [[], ['Resumed']])
})

test('a due run is skipped, replaces the active one, or runs concurrently, by policy', () => {
  const active = jobOf('scheduled-20261116t0200z', { running: [{ pod: 'p', ip: '127.0.0.2' }] })
  const meet = (spec: ResourceSpec) => {
    const story = new Story(resourceOf({ schedule: '0 * * * *', ...spec }))
    story.plan(startMs)
    story.plan(at('16T02:00:00'))
    return { story, plan: story.plan(at('16T03:00:00'), [active]) }
  }
  const forbidden = meet({}).plan
  assert.deepEqual([startedRuns(forbidden), reasons(forbidden)], [[], ['RunSkipped']])
  assert.deepEqual(startedRuns(meet({ concurrencyPolicy: 'Allow' }).plan), [], 'one backup has one writer')
  assert.deepEqual(startedRuns(meet({ concurrencyPolicy: 'Allow', mode: 'full' }).plan), ['scheduled-20261116t0300z'])
  const { story, plan } = meet({ concurrencyPolicy: 'Replace' })
  assert.deepEqual(plan.after, [{ type: 'remove-job', name: active.name, uid: active.uid }])
  assert.deepEqual([startedRuns(plan), plan.status.history?.[0]?.reason], [[], 'Replaced'])
  assert.deepEqual(startedRuns(story.plan(at('16T03:00:05'), [{ ...active, isBeingDeleted: true }])), [])
  assert.deepEqual(startedRuns(story.plan(at('16T03:00:09'))), ['scheduled-20261116t0300z'])
})

test('a run that is replaced while its pod does not work says why', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *', concurrencyPolicy: 'Replace' }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const waiting = { reason: 'SidecarRunning', message: 'The process ended with exit code 0.' }
  const plan = story.plan(at('16T03:00:00'), [jobOf('scheduled-20261116t0200z', { waiting })])
  assert.match(
    plan.status.history?.[0]?.message ?? '',
    /concurrencyPolicy: Replace\)\. The process ended with exit code 0/,
  )
})

test('of two runs that are replaced only the newer one gets the progress, which is its own', () => {
  const spec: ResourceSpec = { schedule: '0 * * * *', mode: 'full', concurrencyPolicy: 'Allow' }
  const story = new Story(resourceOf(spec))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const pods = (name: string) => ({ running: [{ pod: name, ip: '127.0.0.2' }] })
  const older = jobOf('scheduled-20261116t0200z', { createdMs: at('16T02:00:00'), ...pods('a') })
  story.plan(at('16T03:00:00'), [older])
  const newer = jobOf('scheduled-20261116t0300z', { createdMs: at('16T03:00:00'), ...pods('b') })
  story.resource.spec = { ...spec, concurrencyPolicy: 'Replace' }
  const progress = { phase: 'copying', records: 7, bytes: 70 }
  const { ended } = story.plan(at('16T04:00:00'), [older, newer], { progress })
  assert.deepEqual(ended.map(({ run, reason, records }) => [run, reason, records]).toSorted(), [
    [older.run, 'Replaced', undefined],
    [newer.run, 'Replaced', 7],
  ])
})

test('a run waits no longer than necessary for a Job whose end is not known yet, although nothing else changes', () => {
  const story = new Story(resourceOf())
  story.plan(startMs)
  const end = endOf({ isSuccess: false, isStillTrying: true, reason: 'KAFKA_DENIED', message: 'No.' })
  assert.deepEqual(reasons(story.plan(startMs + 60_000, [jobOf('once', { end })])), ['BackupFailed'])
  story.resource.metadata.annotations = trigger('a')
  const nowMs = startMs + 70_000
  const waiting = story.plan(nowMs, [jobOf('once', { isEnding: true })])
  assert.deepEqual([startedRuns(waiting), waiting.status.reason], [[], 'Stopping'])
  assert.equal(waiting.recheckAtMs, nowMs + 15_000)
  const failed = jobOf('once', { end: { ...end, isStillTrying: false } })
  assert.deepEqual(startedRuns(story.plan(nowMs + 15_000, [failed])), [triggerKey('a')])
})

test('while suspended, nothing starts by itself, a trigger starts a backup, and a restore waits', () => {
  const story = new Story(resourceOf({ suspend: true }))
  const plan = story.plan(startMs)
  assert.deepEqual([startedRuns(plan), plan.status.phase, plan.status.reason], [[], 'Pending', 'Suspended'])
  story.resource.metadata.annotations = trigger('now')
  assert.deepEqual(startedRuns(story.plan(startMs + 1000)), [triggerKey('now')])
  const restore = new Story(resourceOf({ suspend: true, backupId: 'orders' }), { controller: 'restore' })
  restore.resource.metadata.annotations = trigger('now')
  assert.deepEqual(startedRuns(restore.plan(startMs)), [])
  restore.resource.spec = { backupId: 'orders' }
  assert.deepEqual(startedRuns(restore.plan(startMs + 1000)), [triggerKey('now')])
})

test('shards copy, then a Job commits, as one run', () => {
  const story = new Story(resourceOf({ parallelism: 4 }))
  const [first] = story.plan(startMs).actions
  assert.ok(first?.type === 'start')
  assert.deepEqual([first.step.stage, first.step.shards], ['shards', 4])
  const shards = jobOf('once', { stage: 'shards', shards: 4, end: endOf({ totals: { records: 8 } }) })
  const [second] = story.plan(startMs + 61_000, [shards]).actions
  assert.ok(second?.type === 'start')
  assert.deepEqual(
    [second.run, second.step.stage, second.step.shards, story.status?.phase],
    ['once', 'commit', 4, 'Running'],
  )
  assert.deepEqual(story.plan(startMs + 62_000, [shards]).actions, [])
  const commit = jobOf('once', { stage: 'commit', end: endOf({ totals: { storedBytes: 9 } }) })
  const done = story.plan(startMs + 90_000, [shards, commit])
  assert.deepEqual(
    [done.status.phase, done.status.records, done.status.storedBytes, done.ended.length],
    ['Completed', 8, 9, 1],
  )
  assert.deepEqual(
    new Story(resourceOf({ parallelism: 4 })).plan(startMs, [{ ...shards, end: endOf({ isSuccess: false }) }]).status
      .phase,
    'Failed',
  )
})

test('a restore in shards is completed by a second Job, and a dry run has one pod', () => {
  const restore = resourceOf({ backupId: 'orders', parallelism: 4 })
  const story = new Story(restore, { controller: 'restore' })
  const [first] = story.plan(startMs).actions
  assert.ok(first?.type === 'start')
  assert.deepEqual([first.step.stage, first.step.shards, first.step.backupId], ['shards', 4, 'orders'])
  const shards = jobOf('once', { stage: 'shards', shards: 4, end: endOf({ totals: { records: 8 } }) })
  const [second] = story.plan(startMs + 61_000, [shards]).actions
  assert.ok(second?.type === 'start')
  assert.deepEqual([second.step.stage, second.step.shards], ['commit', 4])
  const commit = jobOf('once', { stage: 'commit', end: endOf({ totals: { records: 0, groups: 2 } }) })
  const { status } = story.plan(startMs + 90_000, [shards, commit])
  assert.deepEqual([status.phase, status.records], ['Completed', 8])
  const [look] = new Story(resourceOf({ ...restore.spec, dryRun: true }), { controller: 'restore' }).plan(
    startMs,
  ).actions
  assert.ok(look?.type === 'start')
  assert.deepEqual([look.step.stage, look.step.shards], ['whole', 1])
})

test('each run of mode full creates a separate backup, which is verified', () => {
  const story = new Story(resourceOf({ ...daily, mode: 'full', backupId: 'all', verify: {} }))
  story.plan(startMs)
  const [start] = story.plan(at('16T02:00:10')).actions
  assert.ok(start?.type === 'start')
  assert.equal(start.step.backupId, 'all-20261116t020000z')
  const job = jobOf(start.run, { backupId: start.step.backupId, end: endOf() })
  const [verify] = story.plan(at('16T02:05:00'), [job]).actions
  assert.ok(verify?.type === 'start')
  assert.deepEqual(
    [verify.run, verify.step.purpose, verify.step.backupId],
    [`verify-${start.run}`, 'verify', 'all-20261116t020000z'],
  )
  const bad = jobOf(verify.run, {
    purpose: 'verify',
    end: endOf({ isSuccess: false, reason: 'DAMAGED', message: 'A segment is damaged.' }),
  })
  const told = story.plan(at('16T02:09:00'), [job, bad])
  assert.deepEqual([told.status.phase, reasons(told)], ['Completed', ['VerifyFailed']])
  assert.equal(told.status.conditions?.find(({ type }) => type === 'Verified')?.status, 'False')
  assert.equal(told.status.lastVerifyTime, undefined)
})

test('a backup waits for an active verification, and is not skipped', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *', verify: { schedule: '50 * * * *' } }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const main = jobOf('scheduled-20261116t0200z', { end: endOf() })
  assert.deepEqual(startedRuns(story.plan(at('16T02:50:00'), [main])), ['verify-scheduled-20261116t0250z'])
  const verify = jobOf('verify-scheduled-20261116t0250z', { purpose: 'verify' })
  const waits = story.plan(at('16T03:00:00'), [main, verify])
  assert.deepEqual([startedRuns(waits), waits.status.reason], [[], 'WaitingForVerify'])
  const free = story.plan(at('16T03:04:00'), [main, { ...verify, end: endOf({ completedMs: at('16T03:04:00') }) }])
  assert.deepEqual(startedRuns(free), ['scheduled-20261116t0300z'])
  assert.equal(free.status.lastVerifyTime, '2026-11-16T03:04:00Z')
})

test('a backup that waits for a verification whose pod cannot start reports why', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *', verify: { schedule: '55 * * * *' } }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const main = jobOf('scheduled-20261116t0200z', { end: endOf() })
  const createdMs = at('16T02:55:00')
  const [run = ''] = startedRuns(story.plan(createdMs, [main]))
  const waiting = { reason: 'Unschedulable', message: 'Pod v has no node: 0/3 nodes are available' }
  const stuck = [main, jobOf(run, { purpose: 'verify', createdMs, waiting })]
  const readyAt = (nowMs: number) => {
    const { status, recheckAtMs } = story.plan(nowMs, stuck)
    const ready = status.conditions?.find(({ type }) => type === 'Ready')
    return { reason: status.reason, ready: ready?.status, message: ready?.message, recheckAtMs }
  }
  const early = readyAt(createdMs + 599_000)
  assert.deepEqual([early.reason, early.ready], ['WaitingForVerify', 'True'])
  assert.ok((early.recheckAtMs ?? Number.POSITIVE_INFINITY) <= createdMs + 615_000)
  const late = readyAt(createdMs + 601_000)
  assert.deepEqual([late.reason, late.ready], ['Unschedulable', 'False'])
  assert.match(late.message ?? '', /when the verification has ended\. Run verify-\S+ cannot start\. Pod v has no node/)
  const ended = [main, jobOf(run, { purpose: 'verify', createdMs, end: endOf() })]
  assert.deepEqual(startedRuns(story.plan(createdMs + 700_000, ended)), ['scheduled-20261116t0300z'])
})

test('a verification whose pod is replaced late has ten minutes again', () => {
  const story = new Story(resourceOf({ schedule: '0 * * * *', verify: { schedule: '55 * * * *' } }))
  story.plan(startMs)
  story.plan(at('16T02:00:00'))
  const main = jobOf('scheduled-20261116t0200z', { end: endOf() })
  const createdMs = at('16T02:55:00')
  const [run = ''] = startedRuns(story.plan(createdMs, [main]))
  const sinceMs = createdMs + hourMs
  const waiting = { reason: 'Unschedulable', message: 'Pod w has no node: 0/3 nodes are available', sinceMs }
  const stuck = [main, jobOf(run, { purpose: 'verify', createdMs, waiting })]
  const reasonAt = (nowMs: number) => story.plan(nowMs, stuck).status.reason
  assert.equal(reasonAt(sinceMs + 30_000), 'WaitingForVerify', 'a node may be added')
  assert.equal(reasonAt(sinceMs + 601_000), 'Unschedulable')
})

test('a continuous backup restarts for a new generation when the old pods are gone, and stops when suspended', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  assert.deepEqual(startedRuns(story.plan(startMs)), ['generation-1'])
  const old = jobOf('generation-1', { running: [{ pod: 'p', ip: '127.0.0.2' }] })
  story.resource.metadata.generation = 2
  const stop = story.plan(startMs + hourMs, [old])
  assert.deepEqual([startedRuns(stop), stop.after.length, stop.status.history?.[0]?.phase], [[], 1, 'Completed'])
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs, [{ ...old, isBeingDeleted: true }])), [])
  assert.deepEqual(startedRuns(story.plan(startMs + hourMs + 5000)), ['generation-2'])
  assert.deepEqual(
    startedRuns(story.plan(startMs + 2 * hourMs)),
    ['generation-2'],
    'a Job that was removed comes again',
  )
  story.resource.spec = { ...story.resource.spec, suspend: true }
  const suspended = story.plan(startMs + 3 * hourMs, [jobOf('generation-2')])
  assert.equal(suspended.after.length, 1)
  const rest = story.plan(startMs + 4 * hourMs)
  assert.deepEqual([rest.status.phase, rest.status.reason, rest.actions], ['Pending', 'Suspended', []])
})

test('a backup that is no longer continuous stops, then runs by its schedule', () => {
  const story = new Story(resourceOf({ backup: { continuous: true } }))
  story.plan(startMs)
  const job = jobOf('generation-1', { running: [{ pod: 'p', ip: '127.0.0.2' }] })
  story.plan(startMs + 1000, [job])
  const metadata = { ...story.resource.metadata, generation: 2 }
  story.resource = { ...story.resource, spec: { schedule: '0 2 * * *' }, metadata }
  const plan = story.plan(startMs + 5000, [job])
  assert.deepEqual(plan.after, [{ type: 'remove-job', name: job.name, uid: job.uid }])
  assert.deepEqual([reasons(plan), plan.ended.map(({ reason }) => reason)], [['BackupStopped'], ['Stopped']])
  assert.deepEqual(startedRuns(story.plan(at('16T02:00:05'))), ['scheduled-20261116t0200z'])
})

test('catches up a verification that was blocked when it was due', () => {
  const story = new Story(resourceOf({ ...daily, verify: { schedule: '0 5 * * *' } }))
  story.plan(startMs)
  const end = endOf({ completedMs: at('16T02:10:00') })
  const job = jobOf('scheduled-20261116t0200z', { end })
  story.plan(at('16T02:10:01'), [job])
  const problem = { reason: 'JobRefused', message: 'A quota.' }
  const refused = story.plan(at('16T05:00:00'), [job], { problem })
  assert.deepEqual([startedRuns(refused), refused.status.nextVerifyTime], [[], '2026-11-16T05:00:00Z'])
  assert.deepEqual(startedRuns(story.plan(at('16T05:00:20'), [job])), ['verify-scheduled-20261116t0500z'])
})

test('a run that is triggered while suspended does not report a resume', () => {
  const story = new Story(resourceOf({ suspend: true }))
  assert.deepEqual(reasons(story.plan(startMs)), ['Suspended'])
  story.resource = resourceOf({ suspend: true }, { metadata: { name: 'orders', annotations: trigger('now') } })
  assert.deepEqual(reasons(story.plan(startMs + 1000)), ['BackupStarted'])
})
