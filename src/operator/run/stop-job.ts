import { hasCode } from '../../errors.ts'
import { type Job, jobKind } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef } from '../kube/object.ts'
import { fieldManager } from './operator-options.ts'

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
