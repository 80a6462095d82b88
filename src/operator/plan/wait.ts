import type { Phase } from '../crd/status.ts'
import { kubectlIn } from '../job/names.ts'
import type { Facts } from './facts.ts'
import type { MissingSecret } from './plan.ts'

/** Why a run that is due does not start. */
export interface Wait {
  phase: Phase
  reason: string
  message: string
  /** Its end cannot be watched, so the operator checks again soon. */
  isPolled: boolean
}

/** What the resource itself lacks. */
export function blockerOf(facts: Facts): Wait | undefined {
  const {
    problem,
    earlierJob,
    missingSecrets,
    referredSnapshotId,
    referredReset = 'active',
    activeRollback,
    resource,
  } = facts
  if (problem) return problemWait(problem)
  if (earlierJob !== undefined) return pending('EarlierJob', earlierMessage(earlierJob), true)
  const unavailable = referenceWait(facts)
  if (unavailable) return unavailable
  if (missingSecrets.length > 0) return pending('SecretMissing', secretsMessage(facts), true)
  if (activeRollback !== undefined) return pending('WaitingForRollback', rollbackMessage(facts, activeRollback), true)
  if (referredSnapshotId !== null) return undefined
  const why = `The KafkaOffsetReset ${resource.spec?.resetRef?.name ?? ''} ${resetLacks[referredReset]}`
  return pending('WaitingForReset', why, true)
}

function rollbackMessage({ resource, leftOfRollback: left }: Facts, rollback: string): string {
  const then = 'The run starts when it has ended.'
  if (left === undefined) return `The KafkaOffsetRollback ${rollback} is running. ${then}`
  const { kind, name, node } = left
  const which = `${kind} ${name}${node === undefined ? '' : ` (node ${node})`}`
  const why = `${which} of the KafkaOffsetRollback ${rollback}, which was deleted or refers to another reset now, has not ended and may still set offsets.`
  const remove = `${kubectlIn(resource.metadata)} delete ${kind.toLowerCase()} ${name}`
  if (kind === 'Job') return `${why} ${then} If it does not end by itself, delete it: \`${remove}\`.`
  return `${why} ${then} If its node is gone for good, delete it: \`${remove} --force\`.`
}

const resetLacks = {
  missing: 'does not exist. The run starts when there is one with a snapshot.',
  new: 'has not run yet. The run starts when it has ended with a snapshot.',
  active: 'is running, or was triggered and has not started yet. The run starts when it has ended with a snapshot.',
  unchanged:
    'has ended without a snapshot, so it changed no committed offset, and there is nothing to roll back. The run starts when another run of it has ended with a snapshot.',
}

function earlierMessage(job: string): string {
  const why = `Job ${job}, which a deleted resource of this name has started, or a pod of it has not ended yet.`
  return `${why} The run starts when they have ended. If they do not end by themselves, delete them.`
}

export function problemWait({ reason, message }: { reason: string; message: string }): Wait {
  return { phase: 'Failed', reason, message, isPolled: false }
}

export function pending(reason: string, message: string, isPolled = false): Wait {
  return { phase: 'Pending', reason, message, isPolled }
}

export function secretsMessage({ missingSecrets }: Facts): string {
  return describeMissing(missingSecrets, 'The run')
}

export function describeMissing(missing: readonly MissingSecret[], what: string): string {
  const named = missing.map(({ name, field }) => `${name} (${field})`).join(', ')
  return `Missing secrets: ${named}. ${what} starts when they are in the namespace of the resource.`
}

/** Changes of both are watched. A kind that cannot be read is polled as well, because it may become readable later without the object. */
export function referenceWait({ storage, cluster }: Facts): Wait | undefined {
  if (storage && storage.status !== 'True') {
    return pending(storage.reason, storage.message, storage.reason === 'StorageUnknown')
  }
  return cluster && cluster.status !== 'True' ? pending(cluster.reason, cluster.message, true) : undefined
}
