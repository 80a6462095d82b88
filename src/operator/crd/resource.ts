import type { KubeObject, ResourceKind } from '../kube/object.ts'
import type { ResourceStatus } from './status.ts'

/** As the label `controller` of the metrics names them. */
export const controllers = ['backup', 'restore', 'offset_reset', 'offset_rollback'] as const

export type Controller = (typeof controllers)[number]

/** With the kind that runs nothing itself: a location that the others refer to. */
export const allControllers = [...controllers, 'storage'] as const

export type AnyController = (typeof allControllers)[number]

export const defaultApiGroup = 'kafka-backup.dev'

export const apiVersionName = 'v1alpha1'

export interface Resource extends KubeObject {
  spec: ResourceSpec
  status?: ResourceStatus
}

/**
 * What the operator itself reads of a spec; a kind has those of them that mean something to it. The API server has put
 * the defaults in. All other fields are those of a job file in camelCase, and are read by `planJobPod` alone.
 */
export interface ResourceSpec {
  /** Cron of five fields, or a name such as `@daily`. Without it the resource runs once. */
  schedule?: string
  /** A name of the IANA database; UTC without it. */
  timeZone?: string
  mode?: 'full' | 'incremental'
  suspend?: boolean
  concurrencyPolicy?: 'Forbid' | 'Replace' | 'Allow'
  /** How late a scheduled run may begin. */
  startingDeadlineSeconds?: number
  /** Pods that share the work of a run. */
  parallelism?: number
  verify?: { schedule?: string; deep?: boolean }
  drill?: DrillSpec
  dryRun?: boolean
  /** What a restore measures to estimate its time. */
  probe?: 'store' | 'target'
  deletionPolicy?: 'Retain' | 'Delete'
  backupId?: string
  strategy?: string
  operation?: 'rollback' | 'snapshot' | 'verify'
  /** A KafkaOffsetReset of the namespace, whose snapshot is meant. */
  resetRef?: { name: string }
  /** A KafkaBackupStorage of the namespace, instead of `storage`. */
  storageRef?: { name: string }
  /** A Kafka of Strimzi in the namespace, instead of `kafkaCluster`. */
  clusterRef?: ClusterRef
  kafkaUserRef?: KafkaUserRef
  /** How often a KafkaBackupStorage is validated: `1h`. */
  validationInterval?: string
  enterprise?: { licenseSecret?: { name: string }; [field: string]: unknown }
  backup?: { continuous?: boolean; [field: string]: unknown }
  job?: JobLimits
  resources?: ResourceNeeds
  podTemplate?: PodTemplate
  [field: string]: unknown
}

/** What a drill restores, to which cluster; `kafkaCluster` and `restore` are read as those of a KafkaRestore. */
export interface DrillSpec {
  schedule?: string
  kafkaCluster?: unknown
  topics?: string[]
  samplePercent?: number
  newest?: string
  schemas?: boolean
  signingKeySecret?: { name: string; key: string }
  scratchPrefix?: string
  restore?: unknown
}

export interface ClusterRef {
  kind?: 'Kafka'
  name: string
  listener: string
  caCertSecret?: { name: string; key: string }
}

export interface KafkaUserRef {
  name: string
  userName?: string
  secretName?: string
}

export interface JobLimits {
  backoffLimit?: number
  activeDeadlineSeconds?: number
  terminationGracePeriodSeconds?: number
  /** Jobs that are kept after they ended, for their logs. */
  successfulJobsHistoryLimit?: number
  failedJobsHistoryLimit?: number
}

export type ResourceKinds = Record<AnyController, ResourceKind<Resource>>

export function resourceKinds(apiGroup: string = defaultApiGroup): ResourceKinds {
  const apiVersion = `${apiGroup}/${apiVersionName}`
  const kindOf = (kind: string, plural: string): ResourceKind<Resource> => ({ apiVersion, kind, plural })
  return {
    backup: kindOf('KafkaBackup', 'kafkabackups'),
    restore: kindOf('KafkaRestore', 'kafkarestores'),
    offset_reset: kindOf('KafkaOffsetReset', 'kafkaoffsetresets'),
    offset_rollback: kindOf('KafkaOffsetRollback', 'kafkaoffsetrollbacks'),
    storage: kindOf('KafkaBackupStorage', 'kafkabackupstorages'),
  }
}

/** A new value of it starts a run, whatever the schedule says. */
export function triggerAnnotation(apiGroup: string): string {
  return `${apiGroup}/trigger`
}

/** Amounts as Kubernetes writes them: `500m`, `512Mi`. */
export interface ResourceNeeds {
  requests?: Record<string, string | number>
  limits?: Record<string, string | number>
}

/** What a resource says of its pods; `spec` has the fields of a pod that a user may set, as Kubernetes has them. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec?: {
    serviceAccountName?: string
    nodeSelector?: Record<string, string>
    tolerations?: unknown[]
    affinity?: unknown
    topologySpreadConstraints?: unknown[]
    priorityClassName?: string
    runtimeClassName?: string
    schedulerName?: string
    imagePullSecrets?: { name: string }[]
    securityContext?: Record<string, unknown>
    hostAliases?: unknown[]
    dnsPolicy?: string
    dnsConfig?: unknown
    /** Added to those of the operator; names that it uses itself are refused. */
    env?: { name: string; [field: string]: unknown }[]
    envFrom?: unknown[]
    volumes?: { name: string; [field: string]: unknown }[]
    volumeMounts?: { name: string; mountPath: string; [field: string]: unknown }[]
  }
}
