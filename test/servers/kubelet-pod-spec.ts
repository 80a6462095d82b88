import type { Condition, KubeObject } from './kube-object.ts'

/** The parts of a pod that the runner honours. */
export interface Pod extends KubeObject {
  spec: PodSpec
  status?: PodStatus
}

export interface PodSpec {
  nodeName?: string
  restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  initContainers?: Container[]
  containers: Container[]
  volumes?: Volume[]
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  securityContext?: SecurityContext & { fsGroup?: number; supplementalGroups?: number[] }
}

export interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  workingDir?: string
  env?: EnvVar[]
  envFrom?: { prefix?: string; configMapRef?: OptionalRef; secretRef?: OptionalRef }[]
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
  runAsNonRoot?: boolean
  allowPrivilegeEscalation?: boolean
  readOnlyRootFilesystem?: boolean
  capabilities?: { drop?: string[] }
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: {
    secretKeyRef?: OptionalRef & { key: string }
    configMapKeyRef?: OptionalRef & { key: string }
    fieldRef?: { fieldPath: string }
    resourceFieldRef?: object
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
  downwardAPI?: { defaultMode?: number; items: DownwardItem[] }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  hostPath?: { path: string }
}

export interface FilesSource extends OptionalRef {
  items?: { key: string; path: string; mode?: number }[]
  defaultMode?: number
}

export interface DownwardItem {
  path: string
  fieldRef?: { fieldPath: string }
}

export interface ProjectedSource {
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number }
  configMap?: FilesSource
  secret?: FilesSource
  downwardAPI?: { items: DownwardItem[] }
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  conditions?: Condition[]
  podIP?: string
  podIPs?: { ip: string }[]
  hostIP?: string
  startTime?: string
  initContainerStatuses?: ContainerStatus[]
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
  lastState?: ContainerState
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
