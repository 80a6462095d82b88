import type { Resource, ResourceSpec } from '../../../src/operator/crd/resource.ts'
import type { JobDraft } from '../../../src/operator/job/build-pod.ts'
import type { JobPod, JobStep } from '../../../src/operator/job/job-pod.ts'
import type { Job, Pod, PodStatus } from '../../../src/operator/job/kube-job.ts'

export const apiGroup = 'kafka-backup.dev'

export function sampleResource(spec: ResourceSpec = {}, name = 'orders'): Resource {
  const metadata = { name, namespace: 'team-a', uid: '6f1b0c1e-7d0a-4b38-8f3b-4f6f6a1f2c3d' }
  return { apiVersion: '', kind: '', metadata, spec }
}

export interface DraftWish {
  spec?: ResourceSpec
  step?: Partial<JobStep>
  pod?: Partial<JobPod>
  settings?: Partial<JobDraft['settings']>
}

export function sampleDraft({ spec = {}, step, pod, settings }: DraftWish = {}): JobDraft {
  return {
    controller: 'backup',
    resource: sampleResource(spec),
    apiGroup,
    run: 'scheduled-20261116t0200z',
    step: { purpose: 'main', stage: 'whole', shards: 1, backupId: 'orders', ...step },
    dueMs: Date.parse('2026-11-16T02:00:00Z'),
    pod: {
      args: ['backup', '--config', '/etc/kafka-backup/job.yaml'],
      jobFile: 'mode: backup\n',
      env: [],
      volumes: [],
      mounts: [],
      secrets: [],
      ...pod,
    },
    settings: { image: 'kafka-backup:1', serviceAccountName: 'default', ...settings },
  }
}

/** A Job as the API server of Kubernetes 1.34 gives it, without what nobody reads. */
export function sampleJob(status: Job['status'] = {}, spec: Record<string, unknown> = {}): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'orders-3eba439a89',
      namespace: 'team-a',
      uid: 'c830a6b0-5a68-4e7c-9660-3622c52ad35c',
      creationTimestamp: '2026-11-16T02:00:01Z',
      labels: { 'kafka-backup.dev/purpose': 'main' },
      annotations: {
        'kafka-backup.dev/backup-id': 'orders',
        'kafka-backup.dev/due': '2026-11-16T02:00:00.123Z',
        'kafka-backup.dev/run': 'scheduled-20261116t0200z',
        'kafka-backup.dev/shards': '3',
        'kafka-backup.dev/stage': 'shards',
      },
      ownerReferences: [
        { apiVersion: 'kafka-backup.dev/v1alpha1', kind: 'KafkaBackup', name: 'orders', uid: 'u', controller: true },
      ],
    },
    spec,
    status,
  }
}

/** Conditions of recorded Jobs. */
export const conditions = {
  complete: [
    condition('SuccessCriteriaMet', 'CompletionsReached', 'Reached expected number of succeeded pods'),
    condition('Complete', 'CompletionsReached', 'Reached expected number of succeeded pods'),
  ],
  policy: failed(
    'PodFailurePolicy',
    'Container kafka-backup for pod team-a/orders-3eba439a89-4jb8t failed with exit code 2 matching FailJob rule at index 0',
  ),
  backoff: failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit'),
  indexes: failed('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes'),
  deadline: failed('DeadlineExceeded', 'Job was active longer than specified deadline'),
  suspended: [condition('Suspended', 'JobSuspended', 'Job suspended')],
}

function failed(reason: string, message: string) {
  return [condition('FailureTarget', reason, message), condition('Failed', reason, message)]
}

function condition(type: string, reason: string, message: string) {
  return { type, status: 'True', reason, message, lastTransitionTime: '2026-11-16T02:05:00Z' }
}

export interface PodWish {
  name?: string
  index?: number
  /** Of the minute after two. */
  createdSecond?: number
  status?: PodStatus
}

export function samplePod({ name = 'orders-3eba439a89-4jb8t', index, createdSecond = 1, status }: PodWish): Pod {
  const at = index === undefined ? {} : { annotations: { 'batch.kubernetes.io/job-completion-index': String(index) } }
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'orders-3eba439a89' }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'team-a',
      creationTimestamp: timeAt(createdSecond),
      ...at,
      ownerReferences: [{ ...owner, uid: 'c830a6b0-5a68-4e7c-9660-3622c52ad35c', controller: true }],
    },
    ...(status && { status }),
  }
}

/** The status of a pod that ended so; a result is written as the command writes it. */
export function ended(exitCode: number, result: object | string = '', reason?: string): PodStatus {
  const message =
    typeof result === 'string' ? result : `${JSON.stringify({ ...plainResult, exit: exitCode, ...result })}\n`
  const terminated = {
    exitCode,
    reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    ...(message !== '' && { message }),
    startedAt: timeAt(2),
    finishedAt: timeAt(30),
  }
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
  return { phase, podIP: '10.0.0.7', containerStatuses: [{ name: 'kafka-backup', state: { terminated } }] }
}

const plainResult = {
  ok: false,
  command: 'backup',
  code: null,
  message: null,
  help: null,
  retryable: true,
  totals: {},
  backup_id: 'orders',
  generation: null,
  warnings: 0,
  gaps: 0,
  report: null,
}

export function timeAt(second: number): string {
  return new Date(Date.parse('2026-11-16T02:00:00Z') + second * 1000).toISOString().replace('.000', '')
}
