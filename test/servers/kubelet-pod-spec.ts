import type { Condition, KubeObject } from './kube-object.ts'

/** The parts of a pod that the runner honours. */
export interface Pod extends KubeObject {
  spec: PodSpec
  status?: PodStatus
}

export interface PodSpec {
  nodeName?: string
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  containers: Container[]
  volumes?: Volume[]
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  securityContext?: SecurityContext & { fsGroup?: number }
}

export interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  env?: EnvVar[]
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[]
  ports?: { name?: string; containerPort: number }[]
  readinessProbe?: { httpGet: { path: string; port: number | string }; periodSeconds?: number }
  securityContext?: SecurityContext
  terminationMessagePath?: string
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError'
}

export interface SecurityContext {
  runAsUser?: number
  runAsGroup?: number
  readOnlyRootFilesystem?: boolean
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: {
    secretKeyRef?: OptionalRef & { key: string }
    fieldRef?: { fieldPath: string }
  }
}

export interface OptionalRef {
  name: string
  optional?: boolean
}

export interface Volume {
  name: string
  emptyDir?: object
  configMap?: FilesSource
  secret?: Omit<FilesSource, 'name'> & { secretName: string }
  projected?: { defaultMode?: number; sources: ProjectedSource[] }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
}

export interface FilesSource extends OptionalRef {
  items?: { key: string; path: string; mode?: number }[]
  defaultMode?: number
}

export interface ProjectedSource {
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number }
  configMap?: FilesSource
  secret?: FilesSource
  downwardAPI?: { items: { path: string; fieldRef: { fieldPath: string } }[] }
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  conditions?: Condition[]
  podIP?: string
  podIPs?: { ip: string }[]
  hostIP?: string
  startTime?: string
  containerStatuses?: ContainerStatus[]
}

export interface ContainerStatus {
  name: string
  image: string
  imageID: string
  ready: boolean
  started: boolean
  restartCount: number
  state: ContainerState
}

/** One of the three. */
export interface ContainerState {
  waiting?: { reason: string; message?: string }
  running?: { startedAt: string }
  terminated?: Terminated
}

export interface Terminated {
  exitCode: number
  reason: string
  message?: string
  startedAt: string
  finishedAt: string
}
