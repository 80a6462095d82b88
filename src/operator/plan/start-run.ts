import type { RunPurpose } from '../crd/status.ts'
import type { JobStep } from '../job/job-pod.ts'
import { jobName } from '../job/names.ts'
import type { Facts } from './facts.ts'
import type { Action } from './plan.ts'
import { type LiveRun, specOf } from './runs.ts'
import { hashSpec } from './spec-hash.ts'
import { nameSnapshot, takesSnapshot } from './taken-snapshot.ts'
import { compactTime, formatTime } from './times.ts'

/** A Job to make, with the run as it is once that is done. */
export interface Start {
  action: Extract<Action, { type: 'start' }>
  live: LiveRun
}

export interface DueRun {
  run: string
  purpose: RunPurpose
  dueMs: number
  /** The backup that it is about; without it the one that a main run makes. */
  backupId?: string
}

export function startRun(facts: Facts, { run, purpose, dueMs, backupId }: DueRun): Start {
  const { parallelism = 1 } = facts.resource.spec ?? {}
  const isSharded = purpose === 'main' && parallelism > 1 && mayShard(facts)
  const stage = isSharded ? 'shards' : 'whole'
  const id = backupId ?? (purpose === 'main' ? newBackupId(facts, dueMs) : baseBackupId(facts))
  return startStep(facts, run, dueMs, { purpose, stage, shards: isSharded ? parallelism : 1, backupId: id })
}

function mayShard({ controller, isContinuous, resource }: Facts): boolean {
  if (controller === 'restore') return !resource.spec?.dryRun
  return controller === 'backup' && !isContinuous
}

/** The Job that a run under way needs next. */
export function continueRun(facts: Facts, live: LiveRun): Start {
  const { run, purpose, startTime } = live
  const shards = live.jobs.find(({ stage }) => stage === 'shards')
  const step: JobStep = shards
    ? { purpose, stage: 'commit', shards: shards.shards, backupId: shards.backupId }
    : { purpose, stage: 'whole', shards: 1, backupId: live.backupId ?? baseBackupId(facts) }
  const start = startStep(facts, run, shards?.dueMs ?? facts.nowMs, { ...step, ...(shards && specOf(shards)) })
  return { ...start, live: { ...start.live, jobs: live.jobs, ...(shards && { startTime, ...specOf(live) }) } }
}

function startStep(facts: Facts, run: string, dueMs: number, step: JobStep): Start {
  const { resource, referredSnapshotId, generation, nowMs } = facts
  const { purpose, backupId } = step
  const isRollback = purpose === 'main' && typeof referredSnapshotId === 'string'
  const spec = { generation, specHash: hashSpec(resource.spec ?? {}), ...specOf(step) }
  const more = {
    ...(isRollback && { snapshotId: referredSnapshotId }),
    ...(takesSnapshot(facts) && { snapshotAs: nameSnapshot(resource, run, dueMs) }),
  }
  return {
    action: { type: 'start', run, step: { ...step, ...more, ...spec }, dueMs },
    live: {
      run,
      purpose,
      job: jobName(resource, run, step.stage),
      startTime: formatTime(nowMs),
      ...(backupId !== '' && { backupId }),
      ...spec,
      jobs: [],
      todo: undefined,
      unseenUntilMs: undefined,
    },
  }
}

function newBackupId(facts: Facts, dueMs: number): string {
  const isFull = facts.controller === 'backup' && !facts.isContinuous && facts.resource.spec?.mode === 'full'
  return isFull ? `${baseBackupId(facts)}-${compactTime(dueMs)}` : baseBackupId(facts)
}

function baseBackupId({ controller, resource }: Facts): string {
  return resource.spec?.backupId ?? (controller === 'backup' ? resource.metadata.name : '')
}
