import { hasCode } from '../../errors.ts'
import { type ConfigMap, configMapKind, type Job, jobKind } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { type ObjectRef, refOf } from '../kube/object.ts'
import { isRefusedByTermination } from './namespace.ts'
import { fieldManager } from './operator-options.ts'
import type { Planner, StepObjects } from './planner.ts'
import type { Problem } from './resource-memory.ts'

/** The API server takes the Job in no way that another try would change soon: a quota, a policy, a field. */
export class JobRefused extends Error {
  readonly problem: Problem

  constructor(problem: Problem, cause: unknown) {
    super(problem.message, { cause })
    this.name = 'JobRefused'
    this.problem = problem
  }
}

/**
 * Makes the ConfigMap and the Job, or finds that they are there already: names stand for what they are for, so that a
 * call without an answer, and another leader, do no harm. Throws JobRefused where they cannot be made.
 */
export async function startJob(
  api: KubeApi,
  { configMap, job }: StepObjects,
  ownerUid: string,
  signal: AbortSignal,
): Promise<Job> {
  const created = configMap && (await createConfigMap(api, configMap, signal))
  try {
    return await api.create(jobKind, job, signal)
  } catch (error) {
    if (hasCode(error, 'KUBE_EXISTS')) return adopt(api, job, ownerUid, signal)
    const refusal = refusalOf(error)
    const isLeft = created !== undefined && refusal instanceof JobRefused
    // The refusal is what the status has to report, also if this fails.
    if (isLeft) await removeConfigMap(api, created, signal).catch(() => undefined)
    throw refusal
  }
}

/** Undefined if it exists already. */
async function createConfigMap(
  api: KubeApi,
  configMap: ConfigMap,
  signal: AbortSignal,
): Promise<ObjectRef | undefined> {
  try {
    await api.create(configMapKind, configMap, signal)
    return refOf(configMap)
  } catch (error) {
    if (!hasCode(error, 'KUBE_EXISTS')) throw refusalOf(error)
    return undefined
  }
}

/** Without a Job nothing would remove it before the resource goes, and each run of a mode `full` has another one. */
export async function removeConfigMap(
  api: KubeApi,
  { namespace, name }: ObjectRef,
  signal: AbortSignal,
): Promise<void> {
  const removal = api.remove(configMapKind, { namespace, name }, { propagation: 'Background' }, signal)
  await unlessGone(removal, async () => false)
}

async function adopt(api: KubeApi, job: Job, ownerUid: string, signal: AbortSignal): Promise<Job> {
  const there = await api.get(jobKind, refOf(job), signal)
  if ((there.metadata.ownerReferences ?? []).some(({ uid }) => uid === ownerUid)) return there
  const { namespace, name } = job.metadata
  const message = `the Job "${name}" of the namespace "${namespace}" is not of this resource, and has the name that its Job would have; remove it`
  throw new JobRefused({ reason: 'NameTaken', message }, undefined)
}

/** The error as a refusal where it is one. */
export function refusalOf(error: unknown): unknown {
  if (!hasCode(error, 'KUBE_DENIED', 'KUBE_INVALID')) return error
  const reason = isRefusedByTermination(error) ? 'NamespaceTerminating' : 'JobRefused'
  return new JobRefused({ reason, message: `${error.message}. ${error.help}` }, error)
}

/**
 * Lets the Job start no further pod: without retries the Job controller fails it at once, since one of its pods has
 * failed, ends a pod that it started meanwhile, and keeps those that ended with their logs.
 */
export async function stopJob(api: KubeApi, ref: ObjectRef, uid: string, signal: AbortSignal): Promise<void> {
  const { apiVersion, kind } = jobKind
  const { namespace, name } = ref
  // The uid keeps the apply from creating a Job that has gone.
  const job: Job = {
    apiVersion,
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), uid },
    spec: { backoffLimit: 0 },
  }
  try {
    await api.apply(jobKind, job, { fieldManager, force: true }, signal)
  } catch (error) {
    if (!hasCode(error, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT') || !(await isGone(api, ref, uid, signal))) throw error
  }
}

async function isGone(api: KubeApi, ref: ObjectRef, uid: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await api.getMetadata(jobKind, ref, signal)).metadata.uid !== uid
  } catch (error) {
    if (hasCode(error, 'KUBE_NOT_FOUND')) return true
    throw error
  }
}

/**
 * Removes the Job, and first its ConfigMap if no other Job needs it: after an interruption between the two, the Job is found
 * again, but the ConfigMap would not be. An active Job stays until its pods are gone, so the next one does not
 * run at the same time.
 */
export async function removeJob(
  api: KubeApi,
  { configMapOf }: Pick<Planner, 'configMapOf'>,
  job: Job,
  others: readonly Job[],
  isOver: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = job.metadata
  const configMap = configMapOf(job)
  if (configMap !== undefined && !others.some(other => configMapOf(other) === configMap)) {
    await removeConfigMap(api, { namespace, name: configMap }, signal)
  }
  const ref = { namespace, name }
  const propagation = isOver ? 'Background' : 'Foreground'
  const removal = api.remove(jobKind, ref, { propagation, ...(uid !== undefined && { uid }) }, signal)
  const isAnother = async () => (await api.getMetadata(jobKind, ref, signal)).metadata.uid !== uid
  await unlessGone(removal, isAnother)
}

/** A conflict means that it was replaced, or only changed at the same moment. */
async function unlessGone(removal: Promise<void>, isAnother: () => Promise<boolean>): Promise<void> {
  try {
    await removal
  } catch (error) {
    if (hasCode(error, 'KUBE_NOT_FOUND')) return
    if (!hasCode(error, 'KUBE_CONFLICT') || !(await isAnother())) throw error
  }
}
