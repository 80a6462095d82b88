import type { JobPod } from '../resource/job-pod.ts'
import type { ResourceNeeds } from '../resource/pod-template.ts'
import type { JobIdentity } from './names.ts'

export interface JobSettings {
  image: string
  imagePullPolicy?: string
  imagePullSecrets?: { name: string }[]
  /** Of pods whose resource names no other. */
  serviceAccountName: string
  /** Of pods whose resource says none. */
  resources?: ResourceNeeds
  /** The group that owns volumes, for stores on a claim; null for none, as where the cluster chooses it (OpenShift). */
  fsGroup?: number | null
}

export interface JobDraft extends JobIdentity {
  pod: JobPod
  settings: JobSettings
}
