import { hasCode } from '../../errors.ts'
import { configMapKind, type Job, jobKind } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { refOf } from '../kube/object.ts'
import type { StepObjects } from './brain.ts'
import { isRefusedByTermination } from './namespace.ts'
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
  try {
    await api.create(configMapKind, configMap, signal)
  } catch (error) {
    if (!hasCode(error, 'KUBE_EXISTS')) throw refusalOf(error)
  }
  try {
    return await api.create(jobKind, job, signal)
  } catch (error) {
    if (!hasCode(error, 'KUBE_EXISTS')) throw refusalOf(error)
    return adopt(api, job, ownerUid, signal)
  }
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
