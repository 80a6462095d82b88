import type { Resource } from '../crd/resource.ts'
import type { ActiveRun, EndedRun } from '../crd/status.ts'
import type { JobState } from '../job/job-state.ts'
import { jobName } from '../job/names.ts'
import type { Facts } from './facts.ts'
import { compactTime, parseTime } from './times.ts'

/** Whether a run takes a snapshot of committed offsets before it changes them. */
export function takesSnapshot({ controller, resource }: Pick<Facts, 'controller' | 'resource'>): boolean {
  const { dryRun, operation = 'rollback' } = resource.spec ?? {}
  return !dryRun && (controller === 'offset_reset' || (controller === 'offset_rollback' && operation === 'rollback'))
}

/** The snapshot of a run, the same for all its pods. As snapshots are named: the time, and a part that differs for each run. */
export function nameSnapshot(resource: Resource, run: string, dueMs: number): string {
  const unique = jobName(resource, run, 'whole').slice(-8)
  return `${compactTime(dueMs)}-${unique}`
}

/**
 * The ended run with the snapshot that it may have taken, if no pod reported one and at least one pod reported nothing: offsets may have
 * been changed, and a rollback needs the snapshot. Without it the rollback would wait for a reset that has ended.
 */
export function withTakenSnapshot(facts: Facts, live: ActiveRun & { jobs: JobState[] }, ended: EndedRun): EndedRun {
  const { resource, nowMs } = facts
  const { run, purpose, startTime, jobs } = live
  const isUnreported = jobs.every(({ end }) => end === undefined || end.isUnreported)
  if (!takesSnapshot(facts) || purpose !== 'main' || ended.snapshotId !== undefined || !isUnreported) return ended
  // A reset and a rollback start when they are due.
  const snapshotId = nameSnapshot(resource, run, jobs[0]?.dueMs ?? parseTime(startTime) ?? nowMs)
  if (ended.phase === 'Completed') return { ...ended, snapshotId }
  const hint = `If it changed committed offsets, snapshot ${snapshotId} has the previous ones.`
  return { ...ended, snapshotId, message: [ended.message, hint].filter(part => part !== undefined).join(' ') }
}
