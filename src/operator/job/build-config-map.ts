import { basename } from 'node:path'
import { jobFilePath } from '../resource/job-pod.ts'
import type { ConfigMap, Job } from './kube-job.ts'
import { configMapName, type JobOwner, ownedMeta, ownerLabels } from './names.ts'

/** The job file of a Job. Another file is another object: nobody can change one that a Job was made with. */
export function buildConfigMap(owner: JobOwner, jobFile: string): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMeta(configMapName(owner.resource, jobFile), owner, ownerLabels(owner)),
    immutable: true,
    data: { [basename(jobFilePath)]: jobFile },
  }
}

export const jobFileVolume = 'job-file'

/** The ConfigMap that a Job was made with; one that no Job of its resource names any more may go. */
export function configMapOf({ spec }: Job): string | undefined {
  const { template } = spec as { template?: { spec?: { volumes?: { name: string; configMap?: { name: string } }[] } } }
  return template?.spec?.volumes?.find(({ name }) => name === jobFileVolume)?.configMap?.name
}
