import type { Resource } from '../crd/resource.ts'
import type { ReferenceState } from '../job/references.ts'
import { addressMessage, movedMessage } from './backup-location.ts'
import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import { lostPodOf } from './facts.ts'
import type { Action } from './plan.ts'
import { hasMainRun } from './plan-main.ts'
import { deleteAgainKey, deleteKey } from './run-key.ts'
import { endRun, isKnown, lastOf, type Runs, stopRuns } from './runs.ts'
import { startRun } from './start-run.ts'
import { blockerOf, type Wait } from './wait.ts'

const release: Action = { type: 'remove-finalizer' }

/**
 * Deletes a backup together with its resource: active runs stop, then a Job deletes the backup, then the finalizer is removed.
 * If that fails the resource stays until it is triggered again or its policy is set to Retain.
 */
export function planDeletion(facts: Facts, settled: Runs): Decision {
  const decision: Decision = { runs: settled, starts: [], before: [], after: [] }
  if (!facts.hasFinalizer) return decision
  if (!facts.wantsFinalizer || !hasMainRun(facts, settled)) return { ...decision, before: [release] }
  const last = lastOf(settled.ended, 'delete')
  const isRemoved = settled.ended.some(({ purpose, phase }) => purpose === 'delete' && phase === 'Completed')
  if (isRemoved) return { ...decision, after: [release], deletion: deleting('The backup is deleted.') }
  const isTerminating = facts.isNamespaceTerminating || facts.problem?.reason === 'NamespaceTerminating'
  if (isTerminating) return { ...decision, after: [release], deletion: keptBackup(facts) }
  if (settled.live.some(({ purpose }) => purpose === 'delete')) {
    return { ...decision, deletion: blockedBy(facts) ?? deleting('The backup is being deleted.') }
  }
  const run = deleteRun(facts, settled)
  if (run === undefined) {
    const why = last?.message ?? 'The Job that deletes the backup failed.'
    return { ...decision, deletion: failed('DeleteFailed', why) }
  }
  const runs = stopAll(facts, settled)
  if (runs.live.length > 0 || runs.lingering.length > 0) {
    const stopping = deleting('Active runs have to stop before the backup is deleted.')
    return { ...decision, runs, deletion: lostWait(facts) ?? stopping }
  }
  const moved = movedMessage(facts)
  if (moved !== undefined) return { ...decision, runs, deletion: failed('StorageMoved', moved) }
  const lack = blockerOf({ ...facts, cluster: undefined })
  if (lack) return { ...decision, runs, deletion: { ...failed(lack.reason, lack.message), isPolled: lack.isPolled } }
  const address = addressMessage(facts)
  return {
    ...decision,
    runs,
    starts: [startRun(facts, { run, purpose: 'delete', dueMs: facts.nowMs })],
    deletion: address ? deleting(address, 'StorageAddressChanged') : deleting('The backup is being deleted.'),
    ...(facts.trigger !== undefined && { trigger: facts.trigger }),
  }
}

/** The key of the run to start, if it was not tried yet. */
function deleteRun({ trigger }: Facts, runs: Runs): string | undefined {
  if (!isKnown(runs, deleteKey)) return deleteKey
  const again = trigger === undefined ? deleteKey : deleteAgainKey(trigger)
  return isKnown(runs, again) ? undefined : again
}

function stopAll({ nowMs }: Facts, runs: Runs): Runs {
  const message = 'Stopped because the resource is being deleted together with its backup.'
  return stopRuns(runs, runs.live, run => endRun(run, nowMs, { phase: 'Failed', reason: 'Cancelled', message }))
}

function deleting(message: string, reason = 'Deleting'): Wait {
  return { phase: 'Running', reason, message, isPolled: false }
}

/** What blocks the Job that deletes the backup: nothing else reports it. */
function blockedBy(facts: Facts): Wait | undefined {
  const jobs = facts.jobs.filter(({ purpose, end }) => purpose === 'delete' && end === undefined)
  const waiting = jobs.find(job => job.waiting)?.waiting
  const failed = jobs.find(job => job.failedPods)?.failedPods
  const lost = lostWait(facts)
  if (lost) return lost
  if (waiting) return deleting(waiting.message, waiting.reason)
  return failed && deleting(`${failed.count} failed and the deletion is retried: ${failed.message ?? ''}`.trimEnd())
}

function lostWait({ jobs, nowMs }: Facts): Wait | undefined {
  const lost = lostPodOf(jobs, nowMs)
  return lost && deleting(lost.message, lost.reason)
}

/** No Job can be created any more, and the namespace waits for this resource: the data stays. */
function keptBackup(facts: Facts): Wait {
  const { resource, storage } = facts
  const message = describeKept(resource, movedMessage(facts) === undefined ? storage : undefined)
  return { phase: 'Failed', reason: 'BackupKept', message, isPolled: false }
}

export function describeKept(resource: Resource, storage?: ReferenceState): string {
  const { namespace, name } = resource.metadata
  const which = resource.spec.mode === 'full' ? `--match '${resource.spec.backupId ?? name}-*'` : ''
  const id = which || `--backup-id ${resource.spec.backupId ?? name}`
  const why = `Namespace ${namespace} is being deleted, so no Job can delete the backup. Its data stays in the storage.`
  const how = `To delete it, run \`kafka-backup delete --path ${locationOf(resource, storage)} ${id}\`.`
  return `${why} ${how}`
}

function failed(reason: string, message: string): Wait {
  const way = 'Then set the trigger annotation to retry, or spec.deletionPolicy to Retain to keep the backup.'
  return { phase: 'Failed', reason, message: `Cannot delete the backup: ${message} ${way}`, isPolled: false }
}

/** A storage may be deleted before its users, and the status with the namespace: then the message is all that tells the location. */
function locationOf({ spec, status }: Resource, storage: ReferenceState | undefined): string {
  if (storage?.section === undefined && spec.storageRef) {
    const { storageLocation } = status ?? {}
    return `<location of KafkaBackupStorage ${spec.storageRef.name}${storageLocation ? `: ${storageLocation}` : ''}>`
  }
  return formatLocation(storage?.section?.value ?? spec.storage)
}

const schemes: Record<string, string> = { s3: 's3', azure: 'az', gcs: 'gs' }

/** Where a spec keeps its backups, as `--path` of the command line takes it; of a volume, where it is mounted is unknown. */
function formatLocation(storage: unknown): string {
  const { backend, account, bucket, container, prefix, pvc, endpoint } = (storage ?? {}) as Record<string, unknown>
  const scheme = schemes[String(backend)]
  const folder = typeof prefix === 'string' && prefix !== '' ? `/${prefix.replace(/^\/+|\/+$/g, '')}` : ''
  if (scheme !== undefined) {
    const settings = Object.entries({ account, endpoint }).filter(([, value]) => typeof value === 'string')
    const location = `${scheme}://${bucket ?? container ?? ''}${folder}`
    if (settings.length === 0) return location
    return `'${location}?${settings.map(([name, value]) => `${name}=${value}`).join('&')}'`
  }
  const claim = (pvc as { claimName?: unknown } | undefined)?.claimName
  return `<mount of the volume claim ${typeof claim === 'string' ? claim : ''}>${folder}`
}
