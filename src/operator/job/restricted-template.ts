import type { PodTemplate } from '../resource/pod-template.ts'

interface Template {
  metadata: PodTemplate['metadata']
  spec: NonNullable<PodTemplate['spec']>
}

/** What the level `restricted` of Pod Security has in place of all kinds of volumes. */
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
const seccompTypes = ['RuntimeDefault', 'Localhost']
const appArmor = 'container.apparmor.security.beta.kubernetes.io/'
const isRefused = 'which the Pod Security level restricted does not let in'

/**
 * What a template asks for beyond that level, by its fields. The operator makes Jobs with rights of its own: nobody gets
 * more through it than a namespace that enforces the level would give.
 */
export function restrictedProblems({ metadata, spec }: Template): string[] {
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
