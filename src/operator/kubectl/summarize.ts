import type { AnyController, Resource } from '../crd/resource.ts'
import type { Condition, ConditionType, EndedRun, ResourceStatus, RunProgress } from '../crd/status.ts'

/** What one line says about a resource; also the JSON of `status`. */
export interface ResourceSummary {
  namespace: string
  kind: string
  name: string
  /** Of a storage: `Available`, `Unavailable` or `Unknown`. */
  phase: string
  /** `True`, `False` or `Unknown`. */
  ready: string
  /** Why it is not ready, why there is nothing recent to restore, or what a verification or a drill found; empty if all is well. */
  reason: string
  message: string
  /** Of a backup. */
  recoveryPoint?: string
  /** Of a storage: the last validation, if it succeeded. */
  lastSuccessfulTime?: string
  lastFailedTime?: string
  /** Of a storage: the next validation. */
  nextScheduleTime?: string
  /** Of a storage: how many resources refer to it. */
  users?: number
  suspended: boolean
  /** The runs under way, the newest first. */
  active: string[]
  progress?: RunProgress
}

/** Pure. A status that the operator has not written yet is unknown. */
export function summarize(
  controller: AnyController,
  { metadata, kind = '', spec, status = {} }: Resource,
): ResourceSummary {
  const ready = conditionOf(status.conditions, 'Ready')
  const point = conditionOf(status.conditions, 'RecoveryPoint')
  const proofs = [conditionOf(status.conditions, 'Verified'), conditionOf(status.conditions, 'Drilled')]
  const trouble =
    [ready, point].find(one => one !== undefined && one.status !== 'True') ??
    proofs.find(one => one?.status === 'False')
  const isUnseen = status.observedGeneration !== metadata.generation
  const unseen = {
    reason: 'NotObserved',
    message: 'The operator has not seen the current spec. Does it run, and does it serve this namespace?',
  }
  const { reason, message } = isUnseen ? unseen : (trouble ?? { reason: '', message: '' })
  const { progress } = status
  const { phase, lastSuccessfulTime, lastFailedTime, nextScheduleTime, users } =
    controller === 'storage' ? storageState(status) : { ...status, users: undefined }
  return {
    namespace: metadata.namespace ?? '',
    kind,
    name: metadata.name,
    phase: phase ?? 'Pending',
    ready: isUnseen ? 'Unknown' : (ready?.status ?? 'Unknown'),
    reason,
    message,
    ...(controller === 'backup' && { recoveryPoint: point?.status ?? 'Unknown' }),
    ...(lastSuccessfulTime !== undefined && { lastSuccessfulTime }),
    ...(lastFailedTime !== undefined && { lastFailedTime }),
    ...(nextScheduleTime !== undefined && { nextScheduleTime }),
    ...(users !== undefined && { users }),
    suspended: spec?.suspend === true,
    active: (status.active ?? []).map(({ run }) => run),
    ...(progress && { progress }),
  }
}

/** The fields of a run that a storage has in another form. */
function storageState({ conditions, lastValidationTime, nextValidationTime, users }: ResourceStatus) {
  const available = conditionOf(conditions, 'Available')?.status ?? 'Unknown'
  const phases = { True: 'Available', False: 'Unavailable', Unknown: 'Unknown' }
  return {
    phase: phases[available],
    lastSuccessfulTime: available === 'True' ? lastValidationTime : undefined,
    lastFailedTime: available === 'False' ? lastValidationTime : undefined,
    nextScheduleTime: nextValidationTime,
    users,
  }
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find(one => one.type === type)
}

/** Conditions that a person has to know about: those that are not as they should be. */
export function troubledConditions(conditions: readonly Condition[] = []): Condition[] {
  const bad: Partial<Record<ConditionType, string>> = {
    ...{ Ready: 'False', Stalled: 'True', Succeeded: 'False', RecoveryPoint: 'False' },
    ...{ SecretsFound: 'False', Verified: 'False', Drilled: 'False' },
  }
  return conditions.filter(({ type, status }) => bad[type] === status)
}

/** The newest run: one under way, else the last that ended. */
export function newestRun({ status = {} }: Resource): { run: string; ended: EndedRun | undefined } | undefined {
  const [active] = status.active ?? []
  const [ended] = status.history ?? []
  if (active) return { run: active.run, ended: undefined }
  return ended && { run: ended.run, ended }
}
