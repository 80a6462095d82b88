import { isMap } from '../../config/problem.ts'
import { type Resource, triggerAnnotation } from '../crd/resource.ts'
import type { Condition, ResourceStatus } from '../crd/status.ts'
import { validationIntervalMs } from '../crd/storage-fields.ts'
import type { JobState } from '../job/job-state.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'
import { conditionOf } from './conditions.ts'
import { normal, warning } from './events.ts'
import type { Action, Plan, StorageSituation } from './plan.ts'
import { validationGeneration, validationKey } from './run-key.ts'
import { formatTime, parseTime } from './times.ts'
import { no, unknown, type Verdict, yes } from './verdict.ts'
import { describeMissing } from './wait.ts'

/** Until a failed validation is repeated. */
const RETRY_MS = 2 * 60_000
/** Secrets and the start of a pod are not watched. */
const POLL_MS = 15_000
/** Runs of other resources are not watched here. */
const BUSY_POLL_MS = 60_000

/**
 * When the location is validated, and what the last validation found. A validation is a Job like a run, so the operator needs
 * neither the secrets of the location nor a way to it (ADR 0026). Pure, like `planResource`.
 */
export function planStorage(situation: StorageSituation): Plan {
  const { resource, users } = situation
  const before = resource.status ?? {}
  if (resource.metadata.deletionTimestamp !== undefined) return { ...nothing, status: before }
  const facts = readFacts(situation)
  const starts = planStart(facts)
  const available = availableVerdict(facts)
  const readiness = planReadiness(facts, available)
  const nextMs = nextTime(facts)
  const { finished } = facts
  const status: ResourceStatus = present({
    reason: readiness.Ready.reason,
    message: readiness.Ready.message,
    observedGeneration: facts.generation,
    conditions: Object.entries({ Available: available, ...readiness }).map(([type, verdict]) =>
      conditionOf(facts, type as Condition['type'], verdict),
    ),
    lastValidationTime: finished ? formatTime(finished.end.completedMs) : before.lastValidationTime,
    nextValidationTime: nextMs === undefined || nextMs <= facts.nowMs ? undefined : formatTime(nextMs),
    validationJob: finished?.name ?? before.validationJob,
    users,
    lastTrigger: starts.length > 0 ? (facts.trigger ?? before.lastTrigger) : before.lastTrigger,
  })
  return {
    actions: starts,
    status,
    after: planRemovals(facts, status),
    events: planEvents(before, available),
    ended: [],
    ...recheckAt(facts, nextMs, starts.length > 0),
  }
}

const nothing = { actions: [], after: [], events: [], ended: [] } satisfies Omit<Plan, 'status'>

interface StorageFacts extends StorageSituation {
  before: ResourceStatus
  generation: number
  isSuspended: boolean
  trigger: string | undefined
  /** The validation of this generation that runs. */
  running: JobState | undefined
  /** The newest validation whose result is not in the status yet. */
  finished: EndedJob | undefined
  /** The last validation of this generation, with that one. */
  last: { atMs: number; isSuccess: boolean } | undefined
}

type EndedJob = JobState & { end: NonNullable<JobState['end']> }

function readFacts(situation: StorageSituation): StorageFacts {
  const { resource, apiGroup, jobs } = situation
  const before = resource.status ?? {}
  const { generation = 0, annotations } = resource.metadata
  const trigger = annotations?.[triggerAnnotation(apiGroup)]
  const own = jobs.filter(({ run }) => validationGeneration(run) === generation)
  const seenMs = parseTime(before.lastValidationTime) ?? Number.NEGATIVE_INFINITY
  const isNew = ({ name, end }: EndedJob) => name !== before.validationJob && end.completedMs >= seenMs
  const finished = own.filter(isEnded).filter(isNew).toSorted(byEnd).at(-1)
  return {
    ...situation,
    before,
    generation,
    isSuspended: resource.spec?.suspend === true,
    trigger: trigger === undefined || trigger === '' || trigger === before.lastTrigger ? undefined : trigger,
    running: own.find(({ end, isBeingDeleted }) => end === undefined && !isBeingDeleted),
    finished,
    last: finished
      ? { atMs: finished.end.completedMs, isSuccess: finished.end.isSuccess }
      : lastKnown(resource, generation),
  }
}

function isEnded(job: JobState): job is EndedJob {
  return job.end !== undefined
}

function byEnd(one: EndedJob, other: EndedJob): number {
  return one.end.completedMs - other.end.completedMs
}

/** The result in the status, if it is about this generation. */
function lastKnown({ status = {} }: Resource, generation: number): StorageFacts['last'] {
  const atMs = parseTime(status.lastValidationTime)
  const available = status.conditions?.find(({ type }) => type === 'Available')
  const isCurrent = available?.observedGeneration === generation && available.status !== 'Unknown'
  return isCurrent && atMs !== undefined ? { atMs, isSuccess: available.status === 'True' } : undefined
}

/** When the next validation is due; undefined while one runs or none will. */
function nextTime({ isSuspended, running, trigger, last, resource, nowMs }: StorageFacts): number | undefined {
  if (isSuspended || running) return undefined
  if (trigger !== undefined || last === undefined) return nowMs
  const intervalMs = validationIntervalMs(resource.spec ?? {})
  return last.atMs + (last.isSuccess ? intervalMs : Math.min(intervalMs, RETRY_MS))
}

/** The key is the same until the result is in the status, so two leaders start one Job. */
function planStart(facts: StorageFacts): Action[] {
  const { generation, trigger, last, nowMs, problem, missingSecrets } = facts
  const dueMs = nextTime(facts)
  if (dueMs === undefined || dueMs > nowMs || problem || missingSecrets.length > 0 || isPostponed(facts)) return []
  const run = validationKey(generation, last?.atMs, trigger)
  const step = { purpose: 'main', stage: 'whole', shards: 1, backupId: '' } as const
  return [{ type: 'start', run, step, dueMs: nowMs }]
}

/**
 * Most volumes are mounted on one node at a time: next to an active run the pod would not start, the validation would fail by its
 * deadline, and the next run would wait for another one.
 */
function isPostponed({ resource, isInUse, trigger, last }: StorageFacts): boolean {
  const { storage } = resource.spec ?? {}
  return isMap(storage) && storage.pvc !== undefined && isInUse && trigger === undefined && last?.isSuccess === true
}

/** What the last validation of this spec found; Unknown before the first. */
function availableVerdict(facts: StorageFacts): Verdict {
  const { finished, before, generation, isSuspended, problem, missingSecrets, running } = facts
  if (problem?.reason === 'InvalidSpec') return no(problem.reason, problem.message)
  if (finished?.end.isSuccess) return yes('Validated', 'The location can be read and written to.')
  if (finished) {
    const { reason = 'ValidationFailed', message = 'The validation failed.' } = finished.end
    return no(reason, message)
  }
  if (missingSecrets.length > 0) return no('SecretMissing', describeMissing(missingSecrets, 'The validation'))
  const known = before.conditions?.find(({ type }) => type === 'Available')
  const isOutdated = known?.reason === 'SecretMissing' || known?.reason === 'InvalidSpec'
  // To suspend it is a change of the spec too, and no validation follows.
  const isAbout = isSuspended || known?.observedGeneration === generation
  if (known && isAbout && known.status !== 'Unknown' && !isOutdated) return known
  const why = problem?.message ?? running?.waiting?.message ?? (isSuspended ? 'It is suspended.' : '')
  return unknown('NotValidated', `The location has not been validated yet. ${why}`.trimEnd())
}

/** By the rules of ADR 0025. Nothing but a change of the spec helps an invalid one; all else is tried again. */
function planReadiness(
  { isSuspended, problem, running }: StorageFacts,
  available: Verdict,
): Record<'Ready' | 'Reconciling' | 'Stalled', Verdict> {
  const isInvalid = problem?.reason === 'InvalidSpec'
  const trouble = problem ?? running?.waiting
  const ready = ((): Verdict => {
    if (isSuspended && !isInvalid) return yes('Suspended', 'The storage is suspended: it is not validated.')
    if (available.status !== 'True') return no(available.reason, available.message)
    return trouble ? no(trouble.reason, trouble.message) : yes(available.reason, available.message)
  })()
  const isWaiting = ready.status === 'False' && !isInvalid
  return {
    Ready: ready,
    Reconciling: isWaiting
      ? yes(ready.reason, ready.message)
      : no('Reconciled', 'The operator waits for the next validation.'),
    Stalled: isInvalid ? yes('InvalidSpec', problem.message) : no('NotStalled', 'Nothing needs an action of a user.'),
  }
}

/** The last Job stays for its log. One of another spec says nothing about this one. */
function planRemovals({ jobs, generation }: StorageFacts, { validationJob }: ResourceStatus): Action[] {
  const isLeftOver = (job: JobState) =>
    job.end === undefined ? validationGeneration(job.run) !== generation : job.name !== validationJob
  return jobs
    .filter(job => isLeftOver(job) && !job.isBeingDeleted)
    .map(({ name, uid }): Action => ({ type: 'remove-job', name, uid }))
}

function planEvents({ conditions }: ResourceStatus, { status, message }: Verdict): KubeEvent[] {
  const known = conditions?.find(({ type }) => type === 'Available')
  if (status === 'Unknown' || (known?.status === status && (status === 'True' || known.message === message))) return []
  if (status === 'False') return [warning('StorageUnavailable', 'Validate', message)]
  return [normal('StorageAvailable', 'Validate', message)]
}

function recheckAt(facts: StorageFacts, nextMs: number | undefined, isStarting: boolean): Pick<Plan, 'recheckAtMs'> {
  const { nowMs, missingSecrets, running } = facts
  if (isStarting || missingSecrets.length > 0 || running) return { recheckAtMs: nowMs + POLL_MS }
  if (nextMs !== undefined && nextMs > nowMs) return { recheckAtMs: nextMs }
  return nextMs !== undefined && isPostponed(facts) ? { recheckAtMs: nowMs + BUSY_POLL_MS } : {}
}

function present(fields: { [Name in keyof ResourceStatus]: ResourceStatus[Name] | undefined }): ResourceStatus {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
