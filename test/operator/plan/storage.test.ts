import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import type { Plan, StorageSituation } from '../../../src/operator/plan/plan.ts'
import { planStorage } from '../../../src/operator/plan/plan-storage.ts'
import { endOf, hourMs, jobOf, reasons, resourceOf, situationOf, startedRuns, startMs } from './situation.ts'

const minuteMs = 60_000

/** Plans one situation after the other, each with the status of the plan before. */
class StorageStory {
  status: ResourceStatus | undefined
  generation = 1
  annotations: Record<string, string> = {}
  spec: ResourceSpec

  constructor(spec: ResourceSpec = {}) {
    this.spec = spec
  }

  plan(nowMs: number, jobs: JobState[] = [], rest: Partial<StorageSituation> = {}): Plan {
    const { generation, annotations } = this
    const metadata = { name: 'minio', generation, annotations }
    const resource = resourceOf(this.spec, { metadata, ...(this.status && { status: this.status }) })
    const plan = planStorage({
      ...situationOf(resource),
      controller: 'storage',
      users: 0,
      isInUse: false,
      jobs,
      nowMs,
      ...rest,
    })
    this.status = plan.status
    return plan
  }

  condition(type: string): (string | undefined)[] {
    const found = this.status?.conditions?.find(one => one.type === type)
    return [found?.status, found?.reason, found?.message]
  }

  get verdicts(): string {
    return ['Available', 'Ready', 'Reconciling', 'Stalled'].map(type => this.condition(type)[0]).join(' ')
  }
}

const first = 'validation-1-first'
const failedEnd = endOf({ isSuccess: false, reason: 'CheckFailed', message: 'storage s3://b, write: denied.' })

function doneJob(run: string, completedMs: number, rest: Partial<JobState> = {}): JobState {
  return jobOf(run, { end: endOf({ completedMs }), ...rest })
}

describe('a KafkaBackupStorage', () => {
  test('is validated at once, and is available when the Job succeeded', () => {
    const story = new StorageStory()
    const begun = story.plan(startMs)
    assert.deepEqual(startedRuns(begun), [first])
    assert.equal(story.verdicts, 'Unknown False True False')
    const running = story.plan(startMs + 1000, [jobOf(first)])
    assert.deepEqual(startedRuns(running), [])
    const done = story.plan(startMs + 70_000, [doneJob(first, startMs + minuteMs)])
    assert.equal(story.verdicts, 'True True False False')
    assert.equal(done.status.lastValidationTime, '2026-11-16T01:31:00Z')
    assert.equal(done.status.nextValidationTime, '2026-11-16T02:31:00Z')
    assert.deepEqual(reasons(done), ['StorageAvailable'])
    assert.deepEqual(done.after, [], 'the last Job stays for its log')
    assert.equal(done.recheckAtMs, startMs + minuteMs + hourMs)
  })

  test('is validated again after its interval, and the Job before is removed then', () => {
    const story = new StorageStory({ validationInterval: '10m' })
    const old = doneJob(first, startMs + minuteMs)
    story.plan(startMs + 70_000, [old])
    assert.deepEqual(startedRuns(story.plan(startMs + 11 * minuteMs - 1, [old])), [])
    const again = 'validation-1-20261116t013100z'
    assert.deepEqual(startedRuns(story.plan(startMs + 11 * minuteMs, [old])), [again])
    const next = doneJob(again, startMs + 12 * minuteMs)
    const plan = story.plan(startMs + 12 * minuteMs + 1000, [old, next])
    assert.deepEqual(plan.after, [{ type: 'remove-job', name: old.name, uid: old.uid }])
    assert.equal(plan.status.lastValidationTime, '2026-11-16T01:42:00Z')
    assert.deepEqual(plan.events, [], 'it is as available as before')
  })

  test('names what failed, stays unavailable, and is validated again after two minutes', () => {
    const story = new StorageStory()
    const job = jobOf(first, { end: failedEnd })
    const plan = story.plan(startMs + 70_000, [job])
    assert.deepEqual(story.condition('Available'), ['False', 'CheckFailed', 'storage s3://b, write: denied.'])
    assert.equal(story.verdicts, 'False False True False')
    assert.deepEqual([plan.events[0]?.type, plan.events[0]?.reason], ['Warning', 'StorageUnavailable'])
    assert.equal(plan.status.message, 'storage s3://b, write: denied.')
    assert.deepEqual(startedRuns(story.plan(startMs + 2 * minuteMs, [job])), [])
    assert.equal(startedRuns(story.plan(startMs + 3 * minuteMs, [job])).length, 1)
    assert.equal(story.condition('Available')[0], 'False', 'until the next validation has ended')
  })

  test('a change of the spec makes the result unknown, and ignores the Job of the old spec', () => {
    const story = new StorageStory()
    story.plan(startMs + 70_000, [doneJob(first, startMs + minuteMs)])
    story.generation = 2
    const late = jobOf('validation-1-20261116t013100z')
    const plan = story.plan(startMs + 2 * minuteMs, [late])
    assert.equal(story.condition('Available')[0], 'Unknown')
    assert.deepEqual(startedRuns(plan), ['validation-2-first'])
    assert.deepEqual(plan.after, [{ type: 'remove-job', name: late.name, uid: late.uid }])
    story.plan(startMs + 3 * minuteMs, [doneJob(late.run, startMs + 3 * minuteMs)])
    assert.equal(story.condition('Available')[0], 'Unknown', 'success of the old spec')
  })

  test('a missing secret is unavailable, with the field that names it, and is looked for again soon', () => {
    const story = new StorageStory()
    const missingSecrets = [{ name: 's3', field: 'spec.storage.secretAccessKeySecret' }]
    const plan = story.plan(startMs, [], { missingSecrets })
    assert.deepEqual([startedRuns(plan), plan.recheckAtMs], [[], startMs + 15_000])
    const [status, reason, message] = story.condition('Available')
    assert.deepEqual([status, reason], ['False', 'SecretMissing'])
    assert.match(message ?? '', /^Missing secrets: s3 \(spec\.storage\.secretAccessKeySecret\)\. The validation starts/)
    assert.deepEqual(story.plan(startMs + 15_000, [], { missingSecrets }).status, plan.status, 'nothing new to write')
    assert.deepEqual(startedRuns(story.plan(startMs + 30_000)), [first])
    assert.equal(story.condition('Available')[0], 'Unknown')
  })

  test('an invalid spec is stalled, and starts nothing', () => {
    const story = new StorageStory()
    const problem = { reason: 'InvalidSpec', message: 'spec.storage.bucket is required.' }
    assert.deepEqual(startedRuns(story.plan(startMs, [], { problem })), [])
    assert.equal(story.verdicts, 'False False False True')
  })

  test('a Job that is refused leaves an available storage available, and not ready', () => {
    const story = new StorageStory()
    const job = doneJob(first, startMs + minuteMs)
    story.plan(startMs + 70_000, [job])
    const problem = { reason: 'JobRefused', message: 'exceeded quota' }
    assert.deepEqual(startedRuns(story.plan(startMs + 2 * hourMs, [job], { problem })), [])
    assert.equal(story.verdicts, 'True False True False')
  })

  test('while suspended it keeps its result, and nothing is validated', () => {
    const story = new StorageStory({ suspend: true })
    assert.deepEqual(startedRuns(story.plan(startMs)), [])
    assert.equal(story.verdicts, 'Unknown True False False')
    story.spec = {}
    assert.deepEqual(startedRuns(story.plan(startMs + 1000)), [first])
  })

  test('keeps its result when it is suspended, and is validated again after that', () => {
    const story = new StorageStory()
    const job = doneJob(first, startMs + minuteMs)
    story.plan(startMs + 70_000, [job])
    story.spec = { suspend: true }
    story.generation = 2
    const plan = story.plan(startMs + 2 * hourMs, [job])
    assert.deepEqual([startedRuns(plan), plan.events, plan.after], [[], [], []])
    assert.equal(story.verdicts, 'True True False False')
    const available = story.status?.conditions?.find(({ type }) => type === 'Available')
    assert.equal(available?.observedGeneration, 2, 'runs that refer to it start')
    story.spec = {}
    story.generation = 3
    assert.equal(startedRuns(story.plan(startMs + 3 * hourMs, [job])).length, 1)
    assert.equal(story.condition('Available')[0], 'Unknown')
  })

  test('is not validated while a run uses its volume, which another pod may not be able to mount', () => {
    const job = doneJob(first, startMs + minuteMs)
    const later = startMs + 2 * hourMs
    const validated = (storage: object) => {
      const story = new StorageStory({ storage })
      story.plan(startMs + 70_000, [job], { isInUse: true })
      return story
    }
    const volume = validated({ backend: 'filesystem', pvc: { claimName: 'c' } })
    const plan = volume.plan(later, [job], { isInUse: true })
    assert.deepEqual([startedRuns(plan), plan.recheckAtMs], [[], later + minuteMs])
    assert.equal(volume.verdicts, 'True True False False')
    assert.equal(startedRuns(volume.plan(later + minuteMs, [job])).length, 1, 'the run has ended')
    const bucket = validated({ backend: 's3', bucket: 'b' })
    assert.equal(startedRuns(bucket.plan(later, [job], { isInUse: true })).length, 1)
    const fresh = new StorageStory({ storage: { pvc: { claimName: 'c' } } })
    assert.equal(startedRuns(fresh.plan(startMs, [], { isInUse: true })).length, 1, 'runs wait for the first')
  })

  test('a trigger starts a validation once', () => {
    const story = new StorageStory()
    const job = doneJob(first, startMs + minuteMs)
    story.plan(startMs + 70_000, [job])
    story.annotations = { 'kafka-backup.dev/trigger': 'now' }
    const [run = ''] = startedRuns(story.plan(startMs + 80_000, [job]))
    assert.match(run, /^validation-1-trigger-/)
    assert.equal(story.status?.lastTrigger, 'now')
    // In the same second as the validation before.
    const triggered = doneJob(run, startMs + minuteMs + 500, { name: 'triggered' })
    assert.deepEqual(startedRuns(story.plan(startMs + 90_000, [job, triggered])), [])
    assert.equal(story.status?.validationJob, 'triggered')
  })

  test('counts its users, and says nothing more while it is being deleted', () => {
    const story = new StorageStory()
    assert.equal(story.plan(startMs, [], { users: 3 }).status.users, 3)
    const resource = resourceOf({}, { metadata: { name: 'minio', deletionTimestamp: '2026-11-16T02:00:00Z' } })
    const situation = { ...situationOf(resource), controller: 'storage' as const, users: 3, isInUse: false }
    assert.deepEqual(planStorage(situation).actions, [])
  })

  test('planning twice changes nothing', () => {
    const job = doneJob(first, startMs + minuteMs)
    for (const jobs of [[], [jobOf(first)], [job], [jobOf(first, { end: failedEnd })]]) {
      const story = new StorageStory()
      const { status } = story.plan(startMs + 70_000, jobs)
      const again = story.plan(startMs + 70_000, jobs)
      assert.deepEqual([again.status, again.events], [status, []])
    }
  })
})
