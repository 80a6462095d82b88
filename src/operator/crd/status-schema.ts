import type { FieldSchema } from './field-schema.ts'
import { phases } from './status.ts'

/**
 * What the operator writes. There are no limits here but the phases: a status that the API server refused would leave a
 * resource without any.
 */
export const statusSchema: FieldSchema = {
  description: 'The observed state of the resource. Only the operator writes it.',
  type: 'object',
  properties: {
    phase: {
      ...text('Of the last run. `Pending` before the first run, and while something blocks it.'),
      enum: phases,
    },
    reason: text(
      'Why the phase is what it is, in one word: `Partial`, `SecretMissing`, `InvalidSpec`, or a code of docs/errors.md.',
    ),
    message: text('The same for people, with what to do.'),
    observedGeneration: count('The generation of the spec that this status is about.'),
    conditions: {
      description: 'Ready, Progressing, Succeeded, Stalled, SecretsFound, Scheduled, Verified, LicenseFound.',
      type: 'array',
      items: conditionSchema(),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    startTime: time('When the last run began.'),
    completionTime: time('When the last run ended. Not set while one works.'),
    restarts: count('Pods of the current run that failed and were replaced.'),
    records: count('Records that the last run copied or wrote.'),
    bytes: count('Their bytes.'),
    storedBytes: count('Bytes that the complete backup occupies in the store.'),
    gaps: count('Gaps that the last run met: records that expired at the source before they were read.'),
    mayHoldDeletedKeys: count('Partitions of the backup that may hold keys which were deleted at the source.'),
    backupId: text('The backup that the last run made or read.'),
    snapshotId: text('The snapshot of positions before a reset or rollback, or the one that was asked for.'),
    report: text('The key of the full report in the storage.'),
    lastSuccessfulTime: time('When a run last ended well, or a round of a continuous one. A dry run does not count.'),
    lastFailedTime: time('When a run last failed.'),
    lastScheduleTime: time('The time of the schedule that was last acted on.'),
    nextScheduleTime: time('When the next run is due.'),
    lastVerifyTime: time('When the backup was last verified, with success.'),
    nextVerifyTime: time('When it is verified next.'),
    lastTrigger: text('The value of the trigger annotation that was last acted on.'),
    progress: progressSchema(),
    active: {
      description: 'Runs that work now.',
      type: 'array',
      items: { type: 'object', required: ['run', 'purpose', 'job', 'startTime'], properties: activeFields() },
      'x-kubernetes-list-type': 'atomic',
    },
    history: {
      description: 'Runs that ended, the newest first.',
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
      type: text('The condition.'),
      status: { ...text('Whether it holds.'), enum: ['True', 'False', 'Unknown'] },
      reason: text('Why, in one word.'),
      message: text('The same for people.'),
      lastTransitionTime: time('When `status` last changed.'),
      observedGeneration: count('The generation of the spec that it is about.'),
    },
  }
}

function progressSchema(): FieldSchema {
  return {
    description: 'How far the run under way is.',
    type: 'object',
    required: ['phase', 'records', 'bytes'],
    properties: {
      phase: text('What the pod is doing.'),
      percent: { description: 'How much is done.', type: 'number' },
      records: count('Records so far.'),
      bytes: count('Their bytes.'),
      remainingSeconds: { description: 'How long it will still take, at the present pace.', type: 'number' },
      storedBytes: count('Bytes that the whole backup occupies in the store, as a continuous run measured it.'),
      gaps: count('Gaps that the run has met so far: records that expired at the source before they were read.'),
    },
  }
}

function activeFields(): Record<string, FieldSchema> {
  return {
    run: text('The name of the run, unique in this resource.'),
    purpose: text('What it is for: `main`, `verify` or `delete`.'),
    job: text('Its Job.'),
    startTime: time('When it began.'),
    backupId: text('The backup that it makes, reads or removes.'),
  }
}

function endedSchema(): FieldSchema {
  return {
    type: 'object',
    required: ['run', 'purpose', 'job', 'startTime', 'phase', 'completionTime'],
    properties: {
      ...activeFields(),
      phase: { ...text('How it ended.'), enum: ['Completed', 'Failed'] },
      completionTime: time('When it ended.'),
      reason: text('Why it failed, in one word.'),
      message: text('The same for people, with what to do.'),
      records: count('Records that it copied or wrote.'),
      bytes: count('Their bytes.'),
      storedBytes: count('Bytes that the complete backup occupies in the store.'),
      groups: count('Consumer groups whose committed offsets were set, kept or compared.'),
      gaps: count('Gaps that it met.'),
      mayHoldDeletedKeys: count('Partitions of the backup that may hold keys which were deleted at the source.'),
      snapshotId: text('The snapshot that it took.'),
      report: text('The key of the full report in the storage.'),
      dryRun: { description: 'It only showed what it would do, and changed nothing.', type: 'boolean' },
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
