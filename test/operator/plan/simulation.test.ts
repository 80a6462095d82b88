import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { parseSchedule } from '../../../src/operator/plan/schedule.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'
import { hourMs, resourceOf, startMs } from './situation.ts'
import { type Faults, World } from './world.ts'

const SEEDS = 16
const spanMs = 1.5 * hourMs
const rough: Faults = { crash: 0.08, lostStatus: 0.08, maxLagMs: 20_000, jobMs: 150_000, failures: 0.3 }
const specs: Record<string, ResourceSpec> = {
  once: {},
  'in shards': { parallelism: 3 },
  'verified after each run': { schedule: '*/20 * * * *', verify: {} },
  'verified by a schedule': { schedule: '*/20 * * * *', verify: { schedule: '10,50 * * * *' } },
  'drilled on a volume': {
    schedule: '*/20 * * * *',
    storage: { backend: 'pvc', pvc: { claimName: 'c' } },
    drill: { schedule: '5,45 * * * *' },
  },
  'with a schedule': { schedule: '*/15 * * * *', timeZone: 'Europe/Berlin' },
  'full, in shards': { schedule: '*/15 * * * *', mode: 'full', parallelism: 2 },
  'that replaces runs': { schedule: '*/2 * * * *', concurrencyPolicy: 'Replace' },
  'that goes with its resource': { schedule: '*/30 * * * *', deletionPolicy: 'Delete' },
}

for (const [name, spec] of Object.entries(specs)) {
  test(`a backup ${name}: no fault loses, doubles or restarts a run`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const world = live(spec, seed, rough)
      const why = `${name}, seed ${seed}`
      checkRuns(world, why)
      checkEnd(world, why)
    }
  })
}

test('runs each time of the schedule exactly once without faults', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = live({ schedule: '*/15 * * * *' }, seed, { ...rough, crash: 0, lostStatus: 0 }, 0)
    const due = world.created.filter(({ run }) => run.startsWith('scheduled-')).map(({ dueMs }) => dueMs)
    assert.deepEqual(due, timesOf('*/15 * * * *', startMs, startMs + spanMs - 1), `seed ${seed}`)
    assert.deepEqual(
      world.events.filter(({ reason }) => /Missed|Skipped/.test(reason)),
      [],
    )
  }
})

/** Some time with faults and triggers, then time to come to rest without any. */
function live(spec: ResourceSpec, seed: number, faults: Faults, triggers = 0.01): World {
  const random = createRandom(seed)
  const world = new World(resourceOf(spec), random, faults)
  for (let step = 0; world.nowMs < startMs + spanMs && step < 2000; step++) {
    world.reconcile()
    if (random() < triggers) world.resource.metadata.annotations = { 'kafka-backup.dev/trigger': `at ${world.nowMs}` }
    if (random() < 0.9) world.pass(world.nowMs + 60_000)
  }
  world.calm()
  if (spec.schedule === undefined) settle(world)
  else finish(world)
  return world
}

function settle(world: World): void {
  for (let step = 0; step < 100; step++) {
    world.reconcile()
    world.pass(world.nowMs + 60_000)
  }
}

/** Suspended, or deleted where the backup goes too. */
function finish(world: World): void {
  if (world.resource.spec.deletionPolicy === 'Delete') {
    world.resource.metadata.deletionTimestamp = '2026-11-16T05:00:00Z'
  } else {
    world.resource = { ...world.resource, spec: { ...world.resource.spec, suspend: true } }
  }
  settle(world)
}

function checkRuns(world: World, why: string): void {
  const names = world.created.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length, `${why}: a Job was made twice`)
  assert.deepEqual(world.overlaps, [], `${why}: two at once`)
  const due = world.created.filter(({ run, stage }) => run.startsWith('scheduled-') && stage !== 'commit')
  const dueMs = due.map(one => one.dueMs)
  assert.deepEqual(
    dueMs,
    dueMs.toSorted((one, other) => one - other),
    `${why}: times out of order`,
  )
  const { schedule, timeZone } = world.resource.spec
  if (schedule !== undefined) {
    const times = new Set(timesOf(schedule, startMs, world.nowMs, timeZone))
    assert.deepEqual(
      dueMs.filter(ms => !times.has(ms)),
      [],
      `${why}: a run for no time`,
    )
    checkTold(
      world,
      [...times].filter(ms => ms < startMs + spanMs && !dueMs.includes(ms)),
      why,
    )
  }
  const counts = new Map<string, number>()
  for (const run of world.reported) counts.set(run, (counts.get(run) ?? 0) + 1)
  for (const { run } of world.created) {
    const expected = world.uncounted.has(run) ? 0 : 1
    assert.equal(counts.get(run) ?? 0, expected, `${why}: ${run} is counted wrongly`)
  }
}

/** A time without a run was told of, unless an operator died with the news. */
function checkTold(world: World, missing: number[], why: string): void {
  const notes = world.events.filter(({ reason }) => /Missed|Skipped/.test(reason)).map(({ note }) => note)
  const untold = missing.filter(ms => !notes.some(note => note.includes(new Date(ms).toISOString().slice(0, 16))))
  assert.ok(untold.length <= world.crashes, `${why}: ${untold.length} times are untold after ${world.crashes} crashes`)
}

function checkEnd(world: World, why: string): void {
  const { spec } = world.resource
  const mains = world.created.filter(({ run }) => !/^(verify|drill|delete)/.test(run))
  assert.ok(mains.length > 0, `${why}: it never ran`)
  if (spec.deletionPolicy === 'Delete') checkDeletion(world, why)
  else checkRest(world, why)
}

function checkRest(world: World, why: string): void {
  const { status } = world.resource
  const mains = world.created.filter(({ run }) => !/^(verify|drill|delete)/.test(run))
  assert.equal(status?.active, undefined, `${why}: something is still active`)
  const last = status?.history?.find(({ purpose }) => purpose === 'main')
  const known = world.endedByJob.get(last?.job ?? '')
  if (known !== undefined && last?.reason !== 'Replaced') {
    assert.equal(status?.phase, known ? 'Completed' : 'Failed', `${why}: ${JSON.stringify(status)}`)
  }
  const newest = mains.at(-1)?.run
  assert.ok(
    status?.history?.some(({ run }) => run === newest),
    `${why}: the newest run is not in the history`,
  )
  assert.ok(world.jobs.size <= 6 * 2, `${why}: ${world.jobs.size} Jobs are left`)
}

function checkDeletion(world: World, why: string): void {
  const deletes = world.created.filter(({ run }) => run.startsWith('delete'))
  const isDone = deletes.some(({ name }) => world.endedByJob.get(name) === true)
  assert.equal(deletes.length, 1, why)
  assert.equal(world.isGone, isDone, `${why}: ${world.resource.status?.message}`)
  if (!isDone) assert.equal(world.resource.status?.reason, 'DeleteFailed', why)
}

function timesOf(text: string, fromMs: number, toMs: number, zone?: string): number[] {
  const parsed = parseSchedule(text, zone)
  assert.ok('schedule' in parsed)
  const times: number[] = []
  for (let ms = parsed.schedule.next(fromMs); ms !== undefined && ms <= toMs; ms = parsed.schedule.next(ms))
    times.push(ms)
  return times
}
