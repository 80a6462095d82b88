import { hasCode } from '../../errors.ts'
import { configMapKind, type Job, jobKind } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { Brain } from './brain.ts'

/**
 * Removes the Job, and before it its ConfigMap where no other Job needs it: broken off between the two, the Job is found
 * again and removed, while nobody would look for the ConfigMap. A Job that still works stays until its pods are gone, so
 * that the next one does not meet them.
 */
export async function removeJob(
  api: KubeApi,
  { configMapOf }: Pick<Brain, 'configMapOf'>,
  job: Job,
  others: readonly Job[],
  isOver: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = job.metadata
  const configMap = configMapOf(job)
  if (configMap !== undefined && !others.some(other => configMapOf(other) === configMap)) {
    const removal = api.remove(configMapKind, { namespace, name: configMap }, { propagation: 'Background' }, signal)
    await unlessGone(removal, async () => false)
  }
  const ref = { namespace, name }
  const propagation = isOver ? 'Background' : 'Foreground'
  const removal = api.remove(jobKind, ref, { propagation, ...(uid !== undefined && { uid }) }, signal)
  const isAnother = async () => (await api.getMetadata(jobKind, ref, signal)).metadata.uid !== uid
  await unlessGone(removal, isAnother)
}

/** A conflict means that it is another one by now, or only that somebody changed it at the same moment. */
async function unlessGone(removal: Promise<void>, isAnother: () => Promise<boolean>): Promise<void> {
  try {
    await removal
  } catch (error) {
    if (hasCode(error, 'KUBE_NOT_FOUND')) return
    if (!hasCode(error, 'KUBE_CONFLICT') || !(await isAnother())) throw error
  }
}
