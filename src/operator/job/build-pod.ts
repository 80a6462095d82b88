import { basename, dirname } from 'node:path'
import type { ResourceNeeds } from '../crd/resource.ts'
import { assertTemplateFits } from './check-template.ts'
import { withHeapLimit } from './heap-limit.ts'
import { type EnvVar, type JobPod, jobFilePath, jobPort, type Volume, type VolumeMount } from './job-pod.ts'
import type { ConfigMap, Job } from './kube-job.ts'
import {
  configMapName,
  isEndless,
  type JobIdentity,
  type JobOwner,
  jobAnnotations,
  jobLabels,
  ownedMeta,
  ownerLabels,
} from './names.ts'
import { type PodDefaults, placementDefaults, podFields } from './pod-defaults.ts'

export const containerName = 'kafka-backup'

/** On SIGTERM the CLI commits what is durable, which takes as long as the store needs. */
const GRACE_SECONDS = 120
/** The group of the image's user. */
const GROUP = 65_532
const jobFileVolume = 'job-file'
const RESULT_FILE = '/dev/termination-log'

/** A pod that the Pod Security level `restricted` accepts, with what the user's template adds. */
export function buildPodTemplate(draft: JobDraft): Record<string, unknown> {
  const { resource, pod, settings } = draft
  const env = [...ownEnv, ...pod.env]
  const volumes = [...ownVolumes(draft), ...pod.volumes]
  const mounts = [...ownMounts, ...pod.mounts]
  const { metadata, spec = {} } = resource.spec.podTemplate ?? {}
  assertTemplateFits({ metadata, spec }, { apiGroup: draft.apiGroup, env, volumes, mounts })
  const resources = resource.spec.resources ?? settings.resources
  const container = {
    name: containerName,
    image: settings.image,
    ...(settings.imagePullPolicy !== undefined && { imagePullPolicy: settings.imagePullPolicy }),
    args: argsOf(draft),
    env: [...env, ...withHeapLimit(spec.env ?? [], resources?.limits?.memory, spec.envFrom !== undefined)],
    ...(spec.envFrom && { envFrom: spec.envFrom }),
    ports: [{ name: 'metrics', containerPort: jobPort, protocol: 'TCP' }],
    ...(isEndless(draft) && { readinessProbe }),
    ...(resources && { resources }),
    volumeMounts: [...mounts, ...(spec.volumeMounts ?? [])],
    terminationMessagePath: RESULT_FILE,
    // If the process wrote no result, the end of its log shows whether the heap was full.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: containerSecurity,
  }
  return {
    metadata: {
      labels: { ...metadata?.labels, ...jobLabels(draft) },
      annotations: { ...metadata?.annotations, ...jobAnnotations(draft) },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      serviceAccountName: spec.serviceAccountName ?? settings.serviceAccountName,
      terminationGracePeriodSeconds: resource.spec.job?.terminationGracePeriodSeconds ?? GRACE_SECONDS,
      securityContext: podSecurity(draft),
      ...placementOf(draft),
      containers: [container],
      volumes: [...volumes, ...(spec.volumes ?? [])],
    },
  }
}

/**
 * A continuous backup is ready while its rounds succeed. The kubelet asks, and the operator reads the answer in the status
 * of the pod: that needs neither an API token in the pod nor a way through a NetworkPolicy (ADR 0016).
 */
const readinessProbe = {
  httpGet: { path: '/readyz', port: 'metrics' },
  periodSeconds: 15,
  timeoutSeconds: 5,
  failureThreshold: 2,
}

const ownEnv: EnvVar[] = [
  { name: 'KAFKA_BACKUP_RESULT_FILE', value: RESULT_FILE },
  { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
]

const ownMounts: VolumeMount[] = [
  { name: jobFileVolume, mountPath: dirname(jobFilePath), readOnly: true },
  { name: 'tmp', mountPath: '/tmp' },
]

function ownVolumes({ resource, pod }: JobDraft): Volume[] {
  return [
    { name: jobFileVolume, configMap: { name: configMapName(resource, pod.jobFile) } },
    { name: 'tmp', emptyDir: {} },
  ]
}

/** Kubernetes expands `$(NAME)`, so every `$` of an argument is escaped; only the index is a variable. */
function argsOf({ pod, step }: JobDraft): string[] {
  const args = pod.args.map(arg => arg.replaceAll('$', '$$$$'))
  if (step.stage !== 'shards') return args
  return [...args, '--shard', `$(JOB_COMPLETION_INDEX)/${step.shards}`]
}

const containerSecurity = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}

/** No user ID: it comes from the image, or from the cluster. */
function podSecurity({ resource, settings }: JobDraft): Record<string, unknown> {
  const fsGroup = settings.fsGroup === undefined ? GROUP : settings.fsGroup
  return {
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
    // Avoids a walk through a large volume before each run.
    ...(fsGroup !== null && { fsGroup, fsGroupChangePolicy: 'OnRootMismatch' }),
    ...resource.spec.podTemplate?.spec?.securityContext,
  }
}

/** Each field of the resource replaces the default of the operator. */
function placementOf(draft: JobDraft): Record<string, unknown> {
  const { resource, settings } = draft
  const spec = resource.spec.podTemplate?.spec ?? {}
  const defaults = placementDefaults(settings.podDefaults, jobLabels(draft))
  const given = podFields.flatMap(field => {
    const value = spec[field] ?? defaults[field]
    return value === undefined ? [] : [[field, value]]
  })
  const secrets = [...(settings.imagePullSecrets ?? []), ...(spec.imagePullSecrets ?? [])]
  const imagePullSecrets = [...new Map(secrets.map(secret => [secret.name, secret])).values()]
  return { ...Object.fromEntries(given), ...(imagePullSecrets.length > 0 && { imagePullSecrets }) }
}

/** The job file of a Job. It is immutable: a different file is a different object. */
export function buildConfigMap(owner: JobOwner, jobFile: string): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMeta(configMapName(owner.resource, jobFile), owner, ownerLabels(owner)),
    immutable: true,
    data: { [basename(jobFilePath)]: jobFile },
  }
}

/** The ConfigMap of a Job; it can be removed when no Job of the resource uses it. */
export function configMapOf({ spec }: Job): string | undefined {
  const { template } = spec as { template?: { spec?: { volumes?: { name: string; configMap?: { name: string } }[] } } }
  return template?.spec?.volumes?.find(({ name }) => name === jobFileVolume)?.configMap?.name
}

export interface JobSettings {
  image: string
  imagePullPolicy?: string
  imagePullSecrets?: { name: string }[]
  /** Default service account of the pods. */
  serviceAccountName: string
  /** Default resources of the pods. */
  resources?: ResourceNeeds
  /** Default placement of the pods. */
  podDefaults?: PodDefaults
  /** The group that owns volumes, for stores on a claim; null for none, if the cluster chooses it (OpenShift). */
  fsGroup?: number | null
}

export interface JobDraft extends JobIdentity {
  pod: JobPod
  settings: JobSettings
}
