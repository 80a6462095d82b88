import type { FieldSchema } from './field-schema.ts'

/** A partial run is `Failed` with the reason `Partial`. */
export const phases = ['Pending', 'Running', 'Completed', 'Failed'] as const

export type Phase = (typeof phases)[number]

export type ConditionType =
  /** A schedule or a continuous backup was accepted and works; a single run has succeeded. */
  | 'Ready'
  /** Not ready, and the operator continues by itself. */
  | 'Reconciling'
  /** Not ready, and a user has to act. */
  | 'Stalled'
  | 'Progressing'
  | 'Succeeded'
  /** Of a backup: it has something to restore that is as recent as promised. */
  | 'RecoveryPoint'
  | 'SecretsFound'
  /** Of a resource with a schedule; False while it is suspended. */
  | 'Scheduled'
  | 'Verified'
  /** Of a backup with drills: the last one proved that it can be restored. */
  | 'Drilled'
  /** Of a resource with a license secret. */
  | 'LicenseFound'
  /** Of a resource with a `storageRef`: the storage exists and is available. */
  | 'StorageAvailable'
  /** Of a resource with a `clusterRef`: the cluster exists and has an address. */
  | 'ClusterFound'
  /** Of a KafkaBackupStorage: the last validation of its spec succeeded. */
  | 'Available'

/** What a run is for; the name of its label value. */
export type RunPurpose = 'main' | 'verify' | 'drill' | 'delete'

/** The schema of a field together with the type of its value. */
interface Typed<T> extends FieldSchema {
  /** Only for the compiler; never set. */
  readonly value?: T
}
type TypeOf<F> = F extends Typed<infer T> ? T : never
type Fields = Record<string, Typed<unknown>>
type Values<F extends Fields> = { [K in keyof F]?: TypeOf<F[K]> }
type Fixed<F extends Fields, K extends keyof F> = { [P in K]: TypeOf<F[P]> } & {
  [P in Exclude<keyof F, K>]?: TypeOf<F[P]>
}

const condition = object(
  {
    type: text<ConditionType>('The type of the condition.'),
    status: choice('Whether the condition is true.', ['True', 'False', 'Unknown']),
    reason: text('The cause, in one word.'),
    message: text('A description of the cause.'),
    lastTransitionTime: time('When `status` last changed.'),
    observedGeneration: count('The generation of the spec that the condition describes.'),
  },
  ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
)

const topicProgress = object(
  {
    topic: text('The name of the topic on the target.'),
    percent: number('Completed share in percent.'),
    remainingSeconds: number('Estimated remaining time. Not set while it is unknown.'),
  },
  ['topic', 'percent'],
)

const progress = object(
  {
    phase: text('What the pod currently does.'),
    percent: number('Completed share in percent.'),
    records: count('Records so far.'),
    bytes: count('Bytes of these records.'),
    remainingSeconds: number('Estimated remaining time, at a rate that changes slowly.'),
    topicsDone: count('Topics that have all their records. Only for a restore with one pod.'),
    activeTopics: list('Topics that a restore currently fills, at most 20.', topicProgress),
    storedBytes: count('Bytes that the complete backup occupies in the store, as a continuous run measured it.'),
    gaps: count('Gaps that the run has found so far: records that expired at the source before they were read.'),
  },
  ['phase', 'records', 'bytes'],
)

const estimate = object(
  {
    seconds: number('Estimated time of the records, and of the schemas where the registry was measured.'),
    precision: choice('How exact that is.', ['about', 'at_least', 'at_most']),
    limitedBy: text('What limits it, as `limited_by` in docs/restore.md. Not set if nothing is left to write.'),
    actualSeconds: number('Time that the estimated work took. Not set for a dry run.'),
  },
  ['seconds', 'precision'],
)

const estimateField = {
  description: 'Estimated time of a restore, and the time that it took.',
  ...estimate,
} as typeof estimate

const activeFields = {
  run: text('The name of the run, unique in this resource.'),
  purpose: text<RunPurpose>('The purpose of the run: `main`, `verify`, `drill` or `delete`.'),
  job: text('The Job of the run.'),
  startTime: time('When the run started.'),
  backupId: text('The backup that the run writes, reads or deletes.'),
  generation: count('The generation of the spec that the run started with.'),
  specHash: text('A hash of the fields of that spec which decide what the run does.'),
}
const active = object(activeFields, ['run', 'purpose', 'job', 'startTime'])

const ended = object(
  {
    ...activeFields,
    phase: choice('The result of the run.', ['Completed', 'Failed']),
    completionTime: time('When the run ended.'),
    reason: text('The cause of the failure, in one word.'),
    message: text('A description of the cause, with what to do.'),
    records: count('Records that the pods of the run copied or wrote, added up.'),
    bytes: count('Bytes of these records.'),
    storedBytes: count('Bytes that the complete backup occupies in the store.'),
    groups: count('Consumer groups whose committed offsets were set, kept or compared.'),
    gaps: count('Gaps that the run found.'),
    mayHoldDeletedKeys: count('Partitions of the backup that may contain keys that were deleted at the source.'),
    estimate: estimateField,
    recoverySeconds: number('Time in which a drill restored its part, without the comparison.'),
    snapshotId: text(
      'The snapshot that the run took, or may have taken if a pod ended without a result and none reported one.',
    ),
    report: text('The key of the full report in the store.'),
    dryRun: { description: 'Whether it was a dry run, which changes nothing.', type: 'boolean' } as Typed<boolean>,
  },
  ['run', 'purpose', 'job', 'startTime', 'phase', 'completionTime'],
)

const drill = object({
  lastTime: time('When the last drill ended.'),
  result: choice('Whether the last drill proved that the backup can be restored.', ['Proven', 'Failed']),
  reason: text('The cause of a failed or blocked drill, in one word.'),
  message: text('What the last drill found, or what blocks the next one, with what to do.'),
  records: count('Records that the last drill restored and compared.'),
  recoverySeconds: number('Recovery time of the last drill that proved the backup, without the comparison.'),
  lastProvenTime: time('When a drill last proved that the backup can be restored.'),
  evidence: text('The key of the folder with the evidence of the last drill in the store.'),
  nextTime: time('When the next drill is due.'),
})

const scheduleTime = object(
  {
    purpose: choice('What the schedule starts.', ['verify', 'drill']),
    schedule: text('The schedule.'),
    since: time(
      'When the operator first saw it, or when the resource was resumed; if a run was due before that and has not succeeded, the earlier time.',
    ),
  },
  ['purpose', 'schedule', 'since'],
)

/**
 * The status that the operator writes completely, with server-side apply. Times are RFC 3339 in UTC, to the second. Only a
 * few values are restricted: if the API server rejected a status, the resource would have none.
 */
export const statusSchema = {
  description: 'The observed state of the resource. Only the operator writes it.',
  ...object({
    phase: choice('Phase of the last run. `Pending` before the first run and while something blocks it.', phases),
    reason: text(
      'The cause of the phase, in one word: `Partial`, `SecretMissing`, `InvalidSpec`, or an error code of docs/errors.md.',
    ),
    message: text('A description of the cause, with what to do.'),
    observedGeneration: count('The generation of the spec that this status describes.'),
    conditions: conditions(
      'Ready, Reconciling, Stalled, Progressing, Succeeded, RecoveryPoint, SecretsFound, Scheduled, Verified, Drilled, LicenseFound, StorageAvailable, ClusterFound.',
    ),
    startTime: time('When the last run started.'),
    completionTime: time('When the last run ended. Not set while a run is active.'),
    restarts: count('Pods of the current run that failed and were replaced.'),
    records: count('Records that the pods of the last run copied or wrote, added up.'),
    bytes: count('Bytes of these records.'),
    storedBytes: count('Bytes that the complete backup occupies in the store.'),
    gaps: count('Gaps that the last run found: records that expired at the source before they were read.'),
    mayHoldDeletedKeys: count('Partitions of the backup that may contain keys that were deleted at the source.'),
    estimate: estimateField,
    backupId: text('The backup that the last run wrote or read.'),
    snapshotId: text('The snapshot of committed offsets taken before a reset or rollback, or the requested one.'),
    report: text('The key of the full report in the store.'),
    lastSuccessfulTime: time('When a run, or a round of a continuous run, last succeeded. A dry run does not count.'),
    lastFailedTime: time('When a run last failed.'),
    lastScheduleTime: time('The scheduled time for which a run was last started.'),
    nextScheduleTime: time('When the next run is due.'),
    lastVerifyTime: time('When the backup was last verified successfully.'),
    nextVerifyTime: time('When the next verification is due.'),
    schedules: list(
      'Since when the schedules of verifications and drills apply. While suspended, only of those with a run that was due and has not succeeded.',
      scheduleTime,
    ),
    storageLocation: text(
      'Where the last run stored the backup, with the address of the store if it has one in the spec, if `storageRef` names the storage.',
    ),
    drill: { description: 'What the drills of the backup found.', ...drill } as typeof drill,
    lastTrigger: text('The value of the trigger annotation that last started a run.'),
    progress: { description: 'Progress of the active run.', ...progress },
    active: list('Active runs.', active),
    history: list('Ended runs, newest first.', ended),
  }),
}

/** The status of a KafkaBackupStorage. */
export const storageStatusSchema = {
  description: 'The observed state of the location. Only the operator writes it.',
  ...object({
    reason: text('The cause of `Ready`, in one word.'),
    message: text('A description of the cause, with what to do.'),
    observedGeneration: count('The generation of the spec that this status describes.'),
    conditions: conditions('Available, Ready, Reconciling, Stalled.'),
    lastValidationTime: time('When the last validation ended, successful or not.'),
    nextValidationTime: time('When the next validation is due.'),
    validationJob: text('The Job of the last validation. It stays, with its log, until the next one has ended.'),
    users: count('Resources of the namespace that refer to this storage.'),
    lastTrigger: text('The value of the trigger annotation that last started a validation.'),
  }),
}

/** Of all kinds; each has those fields that mean something to it. */
export type ResourceStatus = RunStatus & StorageStatus
export type RunStatus = TypeOf<typeof statusSchema>
export type StorageStatus = TypeOf<typeof storageStatusSchema>
export type Condition = TypeOf<typeof condition>
export type RunProgress = TypeOf<typeof progress>
export type TopicProgress = TypeOf<typeof topicProgress>
export type ScheduleTime = TypeOf<typeof scheduleTime>
export type DrillStatus = TypeOf<typeof drill>
export type RunEstimate = TypeOf<typeof estimate>
export type ActiveRun = TypeOf<typeof active>
export type EndedRun = TypeOf<typeof ended>

function object<F extends Fields>(properties: F): Typed<Values<F>>
function object<F extends Fields, K extends keyof F & string>(properties: F, required: readonly K[]): Typed<Fixed<F, K>>
function object(properties: Fields, required?: readonly string[]): FieldSchema {
  return { type: 'object', ...(required && { required }), properties }
}

function list<T>(description: string, items: Typed<T>): Typed<T[]> {
  return { description, type: 'array', items, 'x-kubernetes-list-type': 'atomic' }
}

function conditions(description: string): Typed<Condition[]> {
  return {
    ...list(description, condition),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  } as Typed<Condition[]>
}

function text<T extends string = string>(description: string): Typed<T> {
  return { description, type: 'string' }
}

function choice<const T extends string>(description: string, values: readonly T[]): Typed<T> {
  return { ...text(description), enum: values }
}

function count(description: string): Typed<number> {
  return { description, type: 'integer', format: 'int64' }
}

function number(description: string): Typed<number> {
  return { description, type: 'number' }
}

function time(description: string): Typed<string> {
  return { description, type: 'string', format: 'date-time' }
}
