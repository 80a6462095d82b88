import type { KubeObject, ResourceKind } from '../kube/object.ts'

/** What the operator reads of a Job; what it writes is more (`buildJob`). */
export interface Job extends KubeObject {
  spec: Record<string, unknown>
  status?: JobStatus
}

interface JobStatus {
  startTime?: string
  completionTime?: string
  active?: number
  succeeded?: number
  failed?: number
  /** Of an Indexed Job, such as `0,2-4`. */
  completedIndexes?: string
  conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
}

export interface Pod extends KubeObject {
  spec?: Record<string, unknown>
  status?: PodStatus
}

export interface PodStatus {
  phase?: string
  podIP?: string
  reason?: string
  message?: string
  startTime?: string
  conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
  containerStatuses?: ContainerStatus[]
}

export interface ContainerStatus {
  name: string
  ready?: boolean
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: { startedAt?: string }
    terminated?: { exitCode: number; reason?: string; message?: string; startedAt?: string; finishedAt?: string }
  }
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>
  immutable?: boolean
}

export const jobKind: ResourceKind<Job> = { apiVersion: 'batch/v1', kind: 'Job', plural: 'jobs' }
export const podKind: ResourceKind<Pod> = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' }
export const configMapKind: ResourceKind<ConfigMap> = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
