import { KafkaBackupError } from '../../../src/errors.ts'
import { resourceKinds } from '../../../src/operator/crd/resource.ts'
import type { EndedRun, ResourceStatus } from '../../../src/operator/crd/status.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import type { Job } from '../../../src/operator/job/kube-job.ts'
import type { Action, Plan, Situation } from '../../../src/operator/plan/plan.ts'
import type { Planner } from '../../../src/operator/run/planner.ts'

/**
 * The least that a plan can be: each resource runs once, and again for each value of its trigger annotation. What it
 * decides is easy to foresee, so that a test is about what is done with it.
 */
export const plainPlanner: Planner = {
  planResource: planOnce,
  planJobPod: (_controller, { spec }) => {
    if (spec.mode === ('broken' as never)) throw new KafkaBackupError('CONFIG_INVALID', 'spec.mode: broken is no mode')
    const secrets = [spec.needs].flat().filter(name => typeof name === 'string')
    return {
      args: ['backup'],
      jobFile: `mode: backup # ${JSON.stringify(spec)}`,
      env: [],
      volumes: [],
      mounts: [],
      secrets: secrets.map(name => ({ name, field: 'spec.needs' })),
    }
  },
  buildObjects: (controller, resource, { run, step }, { jobFile }) => {
    const { name, namespace = '', uid = '' } = resource.metadata
    const { apiVersion, kind } = resourceKinds()[controller]
    const metadata = {
      namespace,
      labels: { 'app.kubernetes.io/managed-by': 'kafka-backup-operator' },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    }
    const mapName = `${name}-file`
    return {
      configMap: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: mapName }, data: { jobFile } },
      job: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { ...metadata, name: `${name}-${uid}-${run}`, annotations: { run, purpose: step.purpose } },
        spec: { configMap: mapName },
      },
    }
  },
  buildCommit: () => {
    throw new Error('no plan of this planner has shards')
  },
  configMapOf: ({ spec }) => spec.configMap as string,
  readJobState: (job, pods, nowMs) => ({
    name: job.metadata.name,
    uid: job.metadata.uid ?? '',
    run: job.metadata.annotations?.run ?? '',
    purpose: 'main',
    stage: 'whole',
    shards: 1,
    backupId: 'b',
    dueMs: 0,
    createdMs: 0,
    isBeingDeleted: job.metadata.deletionTimestamp !== undefined,
    end: endOf(job, nowMs),
    waiting: undefined,
    running: pods.flatMap(({ metadata, status }) => (status?.podIP ? [{ pod: metadata.name, ip: status.podIP }] : [])),
  }),
}

function endOf({ status }: Job, nowMs: number): JobState['end'] {
  const condition = status?.conditions?.find(one => one.status === 'True')
  if (condition === undefined) return undefined
  const totals = { records: 7 }
  return { isSuccess: condition.type === 'Complete', isStillTrying: false, completedMs: nowMs, totals }
}

function planOnce(situation: Situation): Plan {
  const { resource, jobs, problem, missingSecrets, progress, nowMs } = situation
  const before = resource.status ?? {}
  const trigger = resource.metadata.annotations?.trigger
  const run = trigger === undefined ? 'once' : `trigger-${trigger}`
  const isOver = new Set(before.history?.map(one => one.run))
  const removals = jobs.filter(job => isOver.has(job.run) && !job.isBeingDeleted).map(removal)
  const common: Plan = { actions: [], status: before, after: removals, events: [], ended: [] }
  if (resource.metadata.deletionTimestamp !== undefined) {
    return { ...common, actions: resource.metadata.finalizers?.length ? [{ type: 'remove-finalizer' }] : [] }
  }
  if (isOver.has(run)) return common
  const job = jobs.find(one => one.run === run)
  if (job?.end !== undefined) return endRun(situation, job, common)
  const active = [
    { run, purpose: 'main' as const, job: job?.name ?? `${resource.metadata.name}-${run}`, startTime: 'now' },
  ]
  if (job !== undefined) {
    const phase = job.running.length > 0 ? ('Running' as const) : ('Pending' as const)
    return { ...common, status: { ...withoutActive(before), phase, active, ...(progress && { progress }) } }
  }
  if (problem)
    return { ...common, status: { ...before, phase: 'Failed', reason: problem.reason, message: problem.message } }
  if (missingSecrets.length > 0) {
    const message = missingSecrets.map(({ name, field }) => `${name} (${field})`).join(', ')
    const status: ResourceStatus = { ...before, phase: 'Pending', reason: 'SecretMissing', message }
    return { ...common, status, recheckAtMs: nowMs + 15_000 }
  }
  const step = { purpose: 'main', stage: 'whole', shards: 1, backupId: 'b' } as const
  const actions: Action[] = [{ type: 'start', run, step, dueMs: nowMs }]
  if (resource.spec.deletionPolicy === 'Delete') actions.unshift({ type: 'add-finalizer' })
  const { reason: _, message: __, ...rest } = withoutActive(before)
  return { ...common, actions, status: { ...rest, phase: 'Pending' }, events: [started] }
}

const started = { type: 'Normal', reason: 'Started', action: 'Run', note: 'A run begins' } as const

function endRun({ resource }: Situation, job: JobState, common: Plan): Plan {
  const before = withoutActive(resource.status ?? {})
  const phase = job.end?.isSuccess ? 'Completed' : 'Failed'
  const ended: EndedRun = {
    run: job.run,
    purpose: 'main',
    job: job.name,
    startTime: 'now',
    phase,
    completionTime: 'then',
    ...job.end?.totals,
  }
  const status: ResourceStatus = { ...before, phase, history: [ended, ...(before.history ?? [])] }
  const event = { type: 'Normal', reason: phase, action: 'Run', note: `The run ended: ${phase}` } as const
  return { ...common, status, after: [...common.after, removal(job)], ended: [ended], events: [event] }
}

function removal({ name, uid }: JobState): Action {
  return { type: 'remove-job', name, uid }
}

function withoutActive({ active: _, progress: __, ...status }: ResourceStatus): ResourceStatus {
  return status
}
