import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllers, type Resource, type ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import type { Action, Plan, Situation } from '../../../src/operator/plan/plan.ts'
import { planResource } from '../../../src/operator/plan/plan-resource.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { endOf, hourMs, jobOf, resourceOf, situationOf, startMs } from './situation.ts'

const ROUNDS = 800

test('planning twice changes and reports nothing new, in any situation', () => {
  const random = createRandom(42)
  for (let round = 0; round < ROUNDS; round++) {
    const situation = randomSituation(random)
    const first = planResource(situation)
    const { resource } = situation
    const { finalizers = [], ...rest } = resource.metadata
    const [change] = first.actions.filter(({ type }) => type.endsWith('finalizer'))
    const kept = change ? (change.type === 'add-finalizer' ? ['kafka-backup.dev/delete-backup'] : []) : finalizers
    const again = planResource({
      ...situation,
      resource: { ...resource, metadata: { ...rest, finalizers: kept }, status: first.status },
    })
    const shown = `round ${round}: ${JSON.stringify(situation)}`
    assert.deepEqual(again.status, first.status, shown)
    assert.deepEqual(
      again.actions.filter(action => !isCommit(action)),
      [],
      shown,
    )
    assert.deepEqual(again.events, [], shown)
    assert.deepEqual(again.ended, [], shown)
    assert.deepEqual(removals(again), removals(first), shown)
  }
})

test('a plan is consistent in any situation', () => {
  const random = createRandom(4711)
  for (let round = 0; round < ROUNDS; round++) {
    const situation = randomSituation(random)
    const { actions, after, status, ended } = planResource(situation)
    const shown = `round ${round}: ${JSON.stringify(situation)}`
    const over = new Set(situation.resource.status?.history?.map(({ run }) => run))
    const told = new Set(status.history?.map(({ run }) => run))
    for (const action of actions)
      if (action.type === 'start') assert.ok(!over.has(action.run), `started again: ${shown}`)
    for (const action of after) {
      if (action.type !== 'remove-job') continue
      const job = situation.jobs.find(({ name }) => name === action.name)
      assert.ok(told.has(job?.run ?? ''), `removed before its end is told: ${shown}`)
    }
    for (const { run } of situation.jobs) if (over.has(run)) assert.ok(told.has(run), `forgotten: ${shown}`)
    for (const { run } of ended) assert.ok(told.has(run) && !over.has(run), shown)
    for (const { run } of status.active ?? []) assert.ok(!told.has(run), `active and ended: ${shown}`)
    if (status.completionTime !== undefined) assert.match(status.phase ?? '', /Completed|Failed/, shown)
  }
})

test('the plan accepts any status, whoever wrote it', () => {
  const random = createRandom(99)
  const junk = ['', 'x', '9999-99-99T00:00:00Z', '-000001-01-01T00:00:00Z', '+275760-09-13T00:00:00Z']
  const pick = pickFrom(random)
  for (let round = 0; round < 500; round++) {
    const situation = randomSituation(random)
    const status = JSON.parse(
      JSON.stringify(situation.resource.status ?? {}).replace(/"20\d\d-[^"]*"/g, text =>
        random() < 0.5 ? text : JSON.stringify(pick(junk)),
      ),
    )
    const metadata = { ...situation.resource.metadata, creationTimestamp: pick(junk) }
    planResource({ ...situation, resource: { ...situation.resource, metadata, status } })
  }
  const bare = { apiVersion: '', kind: '', metadata: { name: 'x' } } as Resource
  for (const controller of controllers)
    assert.equal(planResource(situationOf(bare, { controller })).status.phase, 'Pending')
})

/** Of shards that are long done: nobody knows when their commit was made, and its name lets it be made but once. */
function isCommit(action: Action): boolean {
  return action.type === 'start' && action.step.stage === 'commit'
}

/** They come again as long as the Jobs are there. */
function removals({ after }: Plan): string[] {
  return after.flatMap(action => (action.type === 'remove-job' ? [action.name] : [])).toSorted()
}

function pickFrom(random: () => number): <T>(list: readonly T[]) => T {
  return list => list[Math.floor(random() * list.length)] as never
}

function randomSituation(random: () => number): Situation {
  const pick = pickFrom(random)
  const spec = randomSpec(random)
  const nowMs = startMs + pick([0, 1, 30_000, hourMs, 25 * hourMs, -hourMs]) + Math.floor(random() * hourMs)
  const runs = [
    'once',
    'generation-1',
    'generation-2',
    'trigger-x',
    'scheduled-20261116t0145z',
    'scheduled-20261116t0200z',
  ]
  const jobs = runs.filter(() => random() < 0.25).flatMap(run => randomJobs(random, run, nowMs))
  const extra = (['verify-once', 'drill-scheduled-20261116t0145z', 'delete'] as const).filter(() => random() < 0.1)
  const others = extra.map(run => randomJob(random, jobOf(run, { purpose: purposeOf[run] }), nowMs))
  const isGoing = random() < 0.15
  const status = random() < 0.3 ? undefined : randomStatus(random, runs, nowMs)
  const resource = resourceOf(spec, {
    ...(status && { status }),
    metadata: {
      name: 'orders',
      generation: pick([1, 2]),
      ...(random() < 0.4 && { annotations: { 'kafka-backup.dev/trigger': pick(['a', 'b']) } }),
      ...(isGoing && { deletionTimestamp: '2026-11-16T02:00:00Z' }),
      ...(random() < 0.5 && { finalizers: ['kafka-backup.dev/delete-backup'] }),
    },
  })
  return situationOf(resource, {
    controller: random() < 0.7 ? 'backup' : pick(controllers),
    jobs: [...jobs, ...others],
    nowMs,
    ...(random() < 0.15 && { missingSecrets: [{ name: 's3', field: 'spec.storage.secretAccessKeySecret' }] }),
    isLicenseMissing: random() < 0.2,
    ...(random() < 0.1 && { problem: { reason: 'InvalidSpec', message: 'spec.topics: is empty.' } }),
    ...(random() < 0.2 && { progress: { phase: 'copy', records: 5.5, bytes: 70 } }),
    referredSnapshotId: pick([undefined, undefined, null, 'snap-1']),
  })
}

const purposeOf = { 'verify-once': 'verify', 'drill-scheduled-20261116t0145z': 'drill', delete: 'delete' } as const

function randomSpec(random: () => number): ResourceSpec {
  const pick = pickFrom(random)
  const some = <T extends object>(chance: number, fields: T) => (random() < chance ? fields : {})
  return {
    ...some(0.6, { schedule: pick(['*/15 * * * *', '@hourly', '0 2 * * *', 'nonsense', '30 2 * * *']) }),
    ...some(0.3, { timeZone: pick(['Europe/Berlin', 'Mars/Phobos', 'Australia/Lord_Howe']) }),
    ...some(0.2, { suspend: true }),
    ...some(0.5, { concurrencyPolicy: pick(['Forbid', 'Replace', 'Allow'] as const) }),
    ...some(0.5, { mode: pick(['full', 'incremental'] as const) }),
    ...some(0.2, { startingDeadlineSeconds: pick([10, 600]) }),
    ...some(0.3, { parallelism: pick([1, 4]) }),
    ...some(0.3, { verify: pick([{}, { schedule: '*/10 * * * *' }, { schedule: 'bad' }]) }),
    ...some(0.3, { drill: pick([{ schedule: '*/10 * * * *' }, { schedule: '45 * * * *' }, { schedule: 'bad' }]) }),
    ...some(0.3, { storage: pick([{ backend: 's3' }, { backend: 'pvc', pvc: { claimName: 'c' } }]) }),
    ...some(0.3, { deletionPolicy: 'Delete' as const }),
    ...some(0.2, { backup: { continuous: true } }),
    ...some(0.2, { enterprise: { licenseSecret: { name: 'license' } } }),
    ...some(0.2, { job: { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 1 } }),
  }
}

function randomJobs(random: () => number, run: string, nowMs: number): JobState[] {
  if (random() < 0.7) return [randomJob(random, jobOf(run), nowMs)]
  const shards = randomJob(random, jobOf(run, { stage: 'shards', shards: 4 }), nowMs)
  return shards.end?.isSuccess && random() < 0.5
    ? [shards, randomJob(random, jobOf(run, { stage: 'commit' }), nowMs)]
    : [shards]
}

function randomJob(random: () => number, job: JobState, nowMs: number): JobState {
  const isSuccess = random() < 0.6
  const end = endOf({
    isSuccess,
    isStillTrying: !isSuccess && random() < 0.5,
    completedMs: nowMs - Math.floor(random() * hourMs),
    totals: { records: 3, gaps: 1 },
  })
  return {
    ...job,
    createdMs: nowMs - Math.floor(random() * hourMs),
    isBeingDeleted: random() < 0.15,
    ...(random() < 0.5 && { end }),
    ...(random() < 0.3 && { running: [{ pod: 'p', ip: '127.0.0.3' }] }),
    ...(random() < 0.2 && { waiting: { reason: 'ImagePullBackOff', message: 'no image' } }),
    ...(random() < 0.2 && { failedPods: { count: 2, message: 'broker down' } }),
  }
}

function randomStatus(random: () => number, runs: string[], nowMs: number): ResourceStatus {
  const pick = pickFrom(random)
  const time = () =>
    new Date(Math.floor((nowMs - random() * 2 * hourMs) / 1000) * 1000).toISOString().replace('.000', '')
  const runOf = (run: string) => ({ run, purpose: 'main' as const, job: jobOf(run).name, startTime: time() })
  const history = runs
    .filter(() => random() < 0.3)
    .map(run => ({ ...runOf(run), phase: pick(['Completed', 'Failed'] as const), completionTime: time() }))
  const active = runs.filter(run => random() < 0.15 && !history.some(one => one.run === run)).map(runOf)
  return {
    phase: pick(['Pending', 'Running', 'Completed', 'Failed']),
    observedGeneration: 1,
    ...(active.length > 0 && { active }),
    ...(history.length > 0 && { history }),
    ...(random() < 0.5 && {
      nextScheduleTime: pick(['2026-11-16T02:00:00Z', '2026-11-16T01:45:00Z', '2026-11-17T02:00:00Z']),
    }),
    ...(random() < 0.3 && { lastScheduleTime: '2026-11-16T01:45:00Z' }),
    ...(random() < 0.3 && { lastTrigger: 'a' }),
    ...(random() < 0.3 && { progress: { phase: 'copy', records: 1, bytes: 2 } }),
  }
}
