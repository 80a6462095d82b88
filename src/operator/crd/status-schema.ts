import type { FieldSchema } from './field-schema.ts'
import { phases } from './status.ts'

/**
 * The status that the operator writes. Only the phases are restricted: if the API server rejected a status, the resource would have
 * none.
 */
export const statusSchema: FieldSchema = {
  description: 'The observed state of the resource. Only the operator writes it.',
  type: 'object',
  properties: {
    phase: {
      ...text('Phase of the last run. `Pending` before the first run and while something blocks it.'),
      enum: phases,
    },
    reason: text(
      'The cause of the phase, in one word: `Partial`, `SecretMissing`, `InvalidSpec`, or an error code of docs/errors.md.',
    ),
    message: text('A description of the cause, with what to do.'),
    observedGeneration: count('The generation of the spec that this status describes.'),
    conditions: {
      description: 'Ready, Progressing, Succeeded, Stalled, SecretsFound, Scheduled, Verified, LicenseFound.',
      type: 'array',
      items: conditionSchema(),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    startTime: time('When the last run started.'),
    completionTime: time('When the last run ended. Not set while a run is active.'),
    restarts: count('Pods of the current run that failed and were replaced.'),
    records: count('Records that the last run copied or wrote.'),
    bytes: count('Bytes of these records.'),
    storedBytes: count('Bytes that the complete backup occupies in the store.'),
    gaps: count('Gaps that the last run found: records that expired at the source before they were read.'),
    mayHoldDeletedKeys: count('Partitions of the backup that may contain keys that were deleted at the source.'),
    backupId: text('The backup that the last run wrote or read.'),
    snapshotId: text('The snapshot of committed offsets taken before a reset or rollback, or the requested one.'),
    report: text('The key of the full report in the store.'),
    lastSuccessfulTime: time('When a run, or a round of a continuous run, last succeeded. A dry run does not count.'),
    lastFailedTime: time('When a run last failed.'),
    lastScheduleTime: time('The scheduled time for which a run was last started.'),
    nextScheduleTime: time('When the next run is due.'),
    lastVerifyTime: time('When the backup was last verified successfully.'),
    nextVerifyTime: time('When the next verification is due.'),
    lastTrigger: text('The value of the trigger annotation that last started a run.'),
    progress: progressSchema(),
    active: {
      description: 'Active runs.',
      type: 'array',
      items: { type: 'object', required: ['run', 'purpose', 'job', 'startTime'], properties: activeFields() },
      'x-kubernetes-list-type': 'atomic',
    },
    history: {
      description: 'Ended runs, newest first.',
      type: 'array',
      items: endedSchema(),
      'x-kubernetes-list-type': 'atomic',
    },
  },
}

function conditionSchema(): FieldSchema {
  return {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: text('The type of the condition.'),
      status: { ...text('Whether the condition is true.'), enum: ['True', 'False', 'Unknown'] },
      reason: text('The cause, in one word.'),
      message: text('A description of the cause.'),
      lastTransitionTime: time('When `status` last changed.'),
      observedGeneration: count('The generation of the spec that the condition describes.'),
    },
  }
}

function progressSchema(): FieldSchema {
  return {
    description: 'Progress of the active run.',
    type: 'object',
    required: ['phase', 'records', 'bytes'],
    properties: {
      phase: text('What the pod currently does.'),
      percent: { description: 'Completed share in percent.', type: 'number' },
      records: count('Records so far.'),
      bytes: count('Bytes of these records.'),
      remainingSeconds: { description: 'Estimated remaining time, at the current rate.', type: 'number' },
      storedBytes: count('Bytes that the complete backup occupies in the store, as a continuous run measured it.'),
      gaps: count('Gaps that the run has found so far: records that expired at the source before they were read.'),
    },
  }
}

function activeFields(): Record<string, FieldSchema> {
  return {
    run: text('The name of the run, unique in this resource.'),
    purpose: text('The purpose of the run: `main`, `verify` or `delete`.'),
    job: text('The Job of the run.'),
    startTime: time('When the run started.'),
    backupId: text('The backup that the run writes, reads or deletes.'),
  }
}

function endedSchema(): FieldSchema {
  return {
    type: 'object',
    required: ['run', 'purpose', 'job', 'startTime', 'phase', 'completionTime'],
    properties: {
      ...activeFields(),
      phase: { ...text('The result of the run.'), enum: ['Completed', 'Failed'] },
      completionTime: time('When the run ended.'),
      reason: text('The cause of the failure, in one word.'),
      message: text('A description of the cause, with what to do.'),
      records: count('Records that the run copied or wrote.'),
      bytes: count('Bytes of these records.'),
      storedBytes: count('Bytes that the complete backup occupies in the store.'),
      groups: count('Consumer groups whose committed offsets were set, kept or compared.'),
      gaps: count('Gaps that the run found.'),
      mayHoldDeletedKeys: count('Partitions of the backup that may contain keys that were deleted at the source.'),
      snapshotId: text('The snapshot that the run took.'),
      report: text('The key of the full report in the store.'),
      dryRun: { description: 'Whether it was a dry run, which changes nothing.', type: 'boolean' },
    },
  }
}

function text(description: string): FieldSchema {
  return { description, type: 'string' }
}

function count(description: string): FieldSchema {
  return { description, type: 'integer', format: 'int64' }
}

function time(description: string): FieldSchema {
  return { description, type: 'string', format: 'date-time' }
}
