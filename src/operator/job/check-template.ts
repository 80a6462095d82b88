import { posix } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { reservedVariables, seccompTypes } from '../crd/pod-template-fields.ts'
import type { PodTemplate } from '../crd/resource.ts'
import type { EnvVar, Volume, VolumeMount } from './job-pod.ts'

/** The operator's own parts of a pod. */
interface OwnParts {
  apiGroup: string
  env: readonly EnvVar[]
  volumes: readonly Volume[]
  mounts: readonly VolumeMount[]
}

type TemplateSpec = NonNullable<PodTemplate['spec']>

interface Given {
  metadata: PodTemplate['metadata']
  spec: TemplateSpec
}

const terminationLog = '/dev/termination-log'
const temporary = '/tmp'

/** Reports all problems in one error. Kubernetes would silently use the last of two values, or reject the pod later. */
export function assertTemplateFits({ metadata, spec }: Given, own: OwnParts): void {
  const problems = [
    ...takenKeys('labels', metadata?.labels, own.apiGroup),
    ...takenKeys('annotations', metadata?.annotations, own.apiGroup),
    ...takenNames('env', spec.env, [...own.env.map(({ name }) => name), ...reservedVariables]),
    ...takenNames(
      'volumes',
      spec.volumes,
      own.volumes.map(({ name }) => name),
    ),
    ...takenPaths(spec, own),
    ...rootProblems(spec),
    ...restrictedProblems({ metadata, spec }),
  ]
  if (problems.length === 0) return
  throw new KafkaBackupError('CONFIG_INVALID', problems.join('; '), {
    help: 'Correct the fields of spec.podTemplate that the message names.',
  })
}

/** The operator finds and distinguishes pods by them. */
function takenKeys(field: string, given: Record<string, string> = {}, apiGroup: string): string[] {
  const isTaken = (key: string) =>
    [`${apiGroup}/`, 'batch.kubernetes.io/', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/name'].some(start =>
      start.endsWith('/') ? key.startsWith(start) : key === start,
    ) || ['controller-uid', 'job-name'].includes(key)
  return Object.keys(given)
    .filter(isTaken)
    .map(key => `spec.podTemplate.metadata.${field}: ${quote(key)} is set by the operator`)
}

function takenNames(field: string, given: readonly { name: string }[] = [], own: readonly string[]): string[] {
  return given.flatMap(({ name }, at) =>
    own.includes(name)
      ? [`spec.podTemplate.spec.${field}[${at}].name: ${quote(name)} is used by the operator itself`]
      : [],
  )
}

/** A mount above one of the operator's mounts would hide it; a mount below the job file is impossible. */
function takenPaths({ volumeMounts = [], volumes = [] }: TemplateSpec, own: OwnParts): string[] {
  const taken = [...own.mounts.map(({ mountPath }) => mountPath), terminationLog].map(normalPath)
  return volumeMounts.flatMap(({ name, mountPath }, at) => {
    const path = normalPath(mountPath)
    const field = `spec.podTemplate.spec.volumeMounts[${at}]`
    const clash = taken.find(one => isWithin(one, path) || (one !== temporary && isWithin(path, one)))
    return [
      ...(clash === undefined ? [] : [`${field}.mountPath: ${quote(mountPath)} conflicts with ${clash}`]),
      ...(volumes.some(volume => volume.name === name)
        ? []
        : [`${field}.name: ${quote(name)} is not in spec.podTemplate.spec.volumes`]),
    ]
  })
}

function rootProblems({ securityContext = {} }: TemplateSpec): string[] {
  const field = 'spec.podTemplate.spec.securityContext'
  const { runAsUser, runAsNonRoot } = securityContext
  return [
    ...(runAsUser === 0 ? [`${field}.runAsUser: 0 is root, and pods never run as root`] : []),
    ...(runAsNonRoot === false ? [`${field}.runAsNonRoot: must not be false`] : []),
  ]
}

/** Without a trailing slash; `/` becomes empty. */
function normalPath(path: string): string {
  return posix.normalize(path).replace(/\/$/, '')
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

interface Template {
  metadata: PodTemplate['metadata']
  spec: NonNullable<PodTemplate['spec']>
}

/** The kinds of volumes that the Pod Security level `restricted` allows. */
const volumeKinds = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]
const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']
const appArmor = 'container.apparmor.security.beta.kubernetes.io/'
const isRefused = 'which the Pod Security level restricted forbids'

/**
 * What a template requests beyond that level, by its fields. The operator creates Jobs with its own rights, so a template must
 * not get more than a namespace that enforces the level would allow.
 */
function restrictedProblems({ metadata, spec }: Template): string[] {
  const { volumes = [], securityContext = {} } = spec
  const field = 'spec.podTemplate.spec'
  return [
    ...volumes.flatMap(({ name, ...sources }, at) =>
      Object.keys(sources)
        .filter(kind => !volumeKinds.includes(kind))
        .map(kind => `${field}.volumes[${at}].${kind}: is a kind of volume ${isRefused}`),
    ),
    ...seLinuxProblems(`${field}.securityContext.seLinuxOptions`, fieldsOf(securityContext.seLinuxOptions)),
    ...seccompProblems(`${field}.securityContext.seccompProfile`, fieldsOf(securityContext.seccompProfile)),
    ...Object.entries(metadata?.annotations ?? {})
      .filter(([key, value]) => key.startsWith(appArmor) && value === 'unconfined')
      .map(([key]) => `spec.podTemplate.metadata.annotations: ${JSON.stringify(key)} is unconfined, ${isRefused}`),
  ]
}

function seLinuxProblems(field: string, { type = '', user = '', role = '' }: Record<string, unknown>): string[] {
  return [
    ...(seLinuxTypes.includes(String(type)) ? [] : [`${field}.type: ${JSON.stringify(type)} is a type ${isRefused}`]),
    ...(user === '' ? [] : [`${field}.user: is a setting ${isRefused}`]),
    ...(role === '' ? [] : [`${field}.role: is a setting ${isRefused}`]),
  ]
}

function seccompProblems(field: string, { type }: Record<string, unknown>): string[] {
  if (type === undefined || seccompTypes.includes(String(type))) return []
  return [`${field}.type: ${JSON.stringify(type)} is a profile ${isRefused}`]
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
