import { createHash } from 'node:crypto'
import { formatUtc } from '../../lib/clock.ts'
import { type AnyController, type Resource, resourceKinds } from '../crd/resource.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../kube/object.ts'
import type { JobStep } from './job-pod.ts'

/** A Job with what it is for. */
export interface JobIdentity {
  controller: AnyController
  resource: Resource
  apiGroup: string
  /** Unique among the runs of the resource. */
  run: string
  step: JobStep
  /** When the run was due. */
  dueMs: number
}

const NAME_LENGTH = 40
const HASH_LENGTH = 10
const LABEL_LENGTH = 63

export const managedBy = 'kafka-backup-operator'

/** The same run has the same name for ever: the API server lets only one Job have it, so the name is the lock. */
export function jobName({ metadata }: Pick<KubeObject, 'metadata'>, run: string, stage: JobStep['stage']): string {
  return `${cutName(metadata.name)}-${hashOf(metadata.uid ?? '', run, stage)}`
}

/** By its content: a Job never sees another job file than the one that it was made with. */
export function configMapName({ metadata }: Pick<KubeObject, 'metadata'>, jobFile: string): string {
  return `${cutName(metadata.name)}-${hashOf(metadata.uid ?? '', 'job file', jobFile)}`
}

/** The command with the namespace of the object, for messages that are read anywhere. */
export function kubectlIn({ namespace }: Pick<ObjectMeta, 'namespace'>): string {
  return namespace === undefined ? 'kubectl' : `kubectl -n ${namespace}`
}

/** Without dots: pods of an Indexed Job are named after it as hosts are. */
function cutName(name: string): string {
  return name.slice(0, NAME_LENGTH).replaceAll('.', '-').replace(/-+$/, '')
}

function hashOf(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, HASH_LENGTH)
}

/** The text where it may be the value of a label, else the beginning of it with a hash of the whole. */
export function labelValue(text: string): string {
  if (text.length <= LABEL_LENGTH && /^([A-Za-z0-9]([\w.-]*[A-Za-z0-9])?)?$/.test(text)) return text
  const start = text.slice(0, LABEL_LENGTH - HASH_LENGTH - 1).replace(/[^\w.-]/g, '-')
  return `${start.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '') || 'x'}-${hashOf(text)}`
}

/** Of all that belongs to a resource, to find it by. */
export function ownerLabels({ controller, resource, apiGroup }: JobOwner): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'kafka-backup',
    'app.kubernetes.io/managed-by': managedBy,
    [`${apiGroup}/controller`]: controller,
    [`${apiGroup}/resource`]: labelValue(resource.metadata.name),
  }
}

export type JobOwner = Pick<JobIdentity, 'controller' | 'resource' | 'apiGroup'>

export function jobLabels(identity: JobIdentity): Record<string, string> {
  return { ...ownerLabels(identity), [`${identity.apiGroup}/purpose`]: identity.step.purpose }
}

/** A continuous backup does not end by itself. */
export function isEndless({ resource, step }: Pick<JobIdentity, 'resource' | 'step'>): boolean {
  return step.purpose === 'main' && resource.spec.backup?.continuous === true
}

/** The KafkaOffsetReset whose snapshot a Job and its pods set: they may outlive the KafkaOffsetRollback that names it. */
export function resetAnnotation(apiGroup: string): string {
  return `${apiGroup}/reset`
}

/** Read by `readJobState`: a restarted operator recognizes its Jobs by them. */
export function jobAnnotations({ apiGroup, resource, run, step, dueMs }: JobIdentity): Record<string, string> {
  const { resetRef } = resource.spec
  return {
    ...(resetRef && { [resetAnnotation(apiGroup)]: resetRef.name }),
    ...(isEndless({ resource, step }) && { [`${apiGroup}/continuous`]: 'true' }),
    [`${apiGroup}/run`]: run,
    [`${apiGroup}/stage`]: step.stage,
    [`${apiGroup}/shards`]: String(step.shards),
    [`${apiGroup}/backup-id`]: step.backupId,
    [`${apiGroup}/due`]: formatUtc(dueMs),
    ...(step.generation !== undefined && { [`${apiGroup}/generation`]: String(step.generation) }),
    ...(step.specHash !== undefined && { [`${apiGroup}/spec-hash`]: step.specHash }),
  }
}

/** Of an object of the resource: it goes when the resource does. */
export function ownedMeta(name: string, owner: JobOwner, labels: Record<string, string>): ObjectMeta {
  const { namespace } = owner.resource.metadata
  return { name, ...(namespace !== undefined && { namespace }), labels, ownerReferences: [ownerReference(owner)] }
}

/** Items of a list do not say what they are, so that the kind is not the object's own. */
function ownerReference({ controller, resource, apiGroup }: JobOwner): OwnerReference {
  const { apiVersion, kind } = resourceKinds(apiGroup)[controller]
  const { name, uid = '' } = resource.metadata
  return { apiVersion, kind, name, uid, controller: true }
}
