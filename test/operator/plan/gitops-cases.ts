import type { Resource, ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import type { Situation } from '../../../src/operator/plan/plan.ts'
import { planStorage } from '../../../src/operator/plan/plan-storage.ts'
import { endOf, hourMs, jobOf, resourceOf, Story, situationOf, startMs } from './situation.ts'

type Health = 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended'

/** A resource in a situation, and how GitOps tools have to judge it. */
export interface GitopsCase {
  name: string
  resource: Resource
  /** Reason of `Ready`, and whether it, `Reconciling` and `Stalled` are true. */
  ready: [reason: string, isReady: boolean, isReconciling: boolean, isStalled: boolean]
  point?: [status: string, reason: string]
  kstatus: 'Current' | 'InProgress' | 'Failed' | 'Terminating'
  health: Health
}

const pod = [{ pod: 'p', ip: '127.0.0.2' }]
const nightly = { schedule: '0 2 * * *' }
const continuous = { backup: { continuous: true } }
const failure = endOf({ isSuccess: false, reason: 'KAFKA_AUTH', message: 'Wrong password.' })
const missingSecrets = [{ name: 's3', field: 'spec.storage.secretAccessKeySecret' }]
const run = (name: string, rest: Partial<JobState> = {}) => [jobOf(name, rest)]

/** Each step is a plan, with the status of the one before. */
function after(
  spec: ResourceSpec,
  steps: [JobState[], Partial<Situation>?][],
  rest: Partial<Situation> = {},
): Resource {
  const story = new Story(resourceOf(spec), rest)
  for (const [at, [jobs, more]] of steps.entries()) story.plan(startMs + at * hourMs, jobs, more)
  return { ...story.resource, status: story.status ?? {} }
}

const start: [JobState[]] = [[]]
const scheduledRun = 'scheduled-20261116t0200z'
const restore = { controller: 'restore' } as const
const never: [string, string] = ['False', 'NeverSucceeded']

const single: GitopsCase[] = [
  {
    name: 'a restore that was just created',
    resource: after({}, [start], restore),
    ready: ['Starting', false, true, false],
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a restore that runs',
    resource: after({}, [start, [run('once', { running: pod })]], restore),
    ready: ['Running', false, true, false],
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a restore that is complete',
    resource: after({}, [start, [run('once', { end: endOf() })]], restore),
    ready: ['Completed', true, false, false],
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a restore that failed',
    resource: after({}, [start, [run('once', { end: failure })]], restore),
    ready: ['KAFKA_AUTH', false, false, true],
    kstatus: 'Failed',
    health: 'Degraded',
  },
  {
    name: 'a restore that is suspended before its run',
    resource: after({ suspend: true }, [start], restore),
    ready: ['Suspended', true, false, false],
    kstatus: 'Current',
    health: 'Suspended',
  },
  {
    name: 'a single backup that waits for a secret',
    resource: after({}, [[[], { missingSecrets }]]),
    ready: ['SecretMissing', false, true, false],
    point: never,
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a single backup with an invalid spec',
    resource: after({}, [[[], { problem: { reason: 'InvalidSpec', message: 'spec.topics: is empty.' } }]]),
    ready: ['InvalidSpec', false, false, true],
    point: never,
    kstatus: 'Failed',
    health: 'Degraded',
  },
  {
    name: 'a single backup whose Job is rejected by a quota',
    resource: after({}, [[[], { problem: { reason: 'JobRefused', message: 'A quota.' } }]]),
    ready: ['JobRefused', false, true, false],
    point: never,
    kstatus: 'InProgress',
    health: 'Progressing',
  },
]

const scheduled: GitopsCase[] = [
  {
    name: 'a schedule before its first run',
    resource: after(nightly, [start]),
    ready: ['Accepted', true, false, false],
    point: never,
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a schedule whose secret is missing before its first run',
    resource: after(nightly, [[[], { missingSecrets }]]),
    ready: ['SecretMissing', false, true, false],
    point: never,
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a schedule during a run',
    resource: after(nightly, [start, [run(scheduledRun, { running: pod })]]),
    ready: ['Accepted', true, false, false],
    point: never,
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a schedule after a good run',
    resource: after(nightly, [start, [run(scheduledRun, { end: endOf() })]]),
    ready: ['Accepted', true, false, false],
    point: ['True', 'Available'],
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a schedule whose last run failed',
    resource: after(nightly, [
      start,
      [run('trigger-a', { end: endOf() })],
      [run(scheduledRun, { end: { ...failure, completedMs: startMs + hourMs } })],
    ]),
    ready: ['Accepted', true, false, false],
    point: ['False', 'LastRunFailed'],
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a schedule that is suspended',
    resource: after({ ...nightly, suspend: true }, [start]),
    ready: ['Suspended', true, false, false],
    point: never,
    kstatus: 'Current',
    health: 'Suspended',
  },
  {
    name: 'a schedule that is none',
    resource: after({ schedule: '0 25 * * *' }, [start]),
    ready: ['InvalidSpec', false, false, true],
    point: never,
    kstatus: 'Failed',
    health: 'Degraded',
  },
]

const endless: GitopsCase[] = [
  {
    name: 'a continuous backup before its first round',
    resource: after(continuous, [start, [run('generation-1', { isContinuous: true, running: pod })]]),
    ready: ['Accepted', true, false, false],
    point: never,
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a continuous backup whose pods fail before its first round',
    resource: after(continuous, [
      start,
      [run('generation-1', { isContinuous: true, failedPods: { count: 2, message: 'Wrong password.' } })],
    ]),
    ready: ['NoRoundYet', false, true, false],
    point: never,
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a continuous backup whose rounds are overdue',
    resource: after(continuous, [
      start,
      [run('generation-1', { isContinuous: true, running: pod }), { lastRoundMs: startMs }],
    ]),
    ready: ['RoundOverdue', false, false, false],
    point: ['False', 'RoundOverdue'],
    kstatus: 'InProgress',
    health: 'Degraded',
  },
  {
    name: 'a continuous backup that stopped for good',
    resource: after(continuous, [start, [run('generation-1', { isContinuous: true, end: failure })]]),
    ready: ['KAFKA_AUTH', false, false, true],
    point: never,
    kstatus: 'Failed',
    health: 'Degraded',
  },
  {
    name: 'a continuous backup that is suspended',
    resource: after({ ...continuous, suspend: true }, [start]),
    ready: ['Suspended', true, false, false],
    point: never,
    kstatus: 'Current',
    health: 'Suspended',
  },
]

const complete = after({}, [start, [run('once', { end: endOf() })]], restore)
const others: GitopsCase[] = [
  {
    name: 'a new spec that the operator has not observed',
    resource: { ...complete, metadata: { ...complete.metadata, generation: 2 } },
    ready: ['Completed', true, false, false],
    kstatus: 'InProgress',
    health: 'Progressing',
  },
]

const storageJob = (end: JobState['end']) => jobOf('validation-1-first', { end })

function storage(jobs: JobState[], rest: Partial<Situation> = {}): Resource {
  const resource = resourceOf({}, { kind: 'KafkaBackupStorage' })
  const situation = { ...situationOf(resource, rest), controller: 'storage' as const, users: 0, isInUse: false, jobs }
  return { ...resource, status: planStorage(situation).status }
}

const storages: GitopsCase[] = [
  {
    name: 'a storage that was just created',
    resource: storage([]),
    ready: ['NotValidated', false, true, false],
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a storage that is available',
    resource: storage([storageJob(endOf())]),
    ready: ['Validated', true, false, false],
    kstatus: 'Current',
    health: 'Healthy',
  },
  {
    name: 'a storage that is not available',
    resource: storage([storageJob(failure)]),
    ready: ['KAFKA_AUTH', false, true, false],
    kstatus: 'InProgress',
    health: 'Progressing',
  },
  {
    name: 'a storage with an invalid spec',
    resource: storage([], { problem: { reason: 'InvalidSpec', message: 'spec.storage.bucket is required.' } }),
    ready: ['InvalidSpec', false, false, true],
    kstatus: 'Failed',
    health: 'Degraded',
  },
  {
    name: 'a schedule whose storage is not available',
    resource: after(nightly, [
      [
        [],
        {
          storage: {
            name: 'minio',
            status: 'False',
            reason: 'StorageUnavailable',
            message: 'KafkaBackupStorage minio is not available: denied.',
          },
        },
      ],
    ]),
    ready: ['StorageUnavailable', false, true, false],
    point: never,
    kstatus: 'InProgress',
    health: 'Progressing',
  },
]

export const gitopsCases: GitopsCase[] = [...single, ...scheduled, ...endless, ...others, ...storages]
