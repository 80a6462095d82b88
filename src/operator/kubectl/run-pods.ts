import { hasCode } from '../../errors.ts'
import { type Job, jobKind, type Pod, podKind } from '../job/kube-job.ts'
import { labelValue, managedBy } from '../job/names.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import type { FoundResource } from './find-resources.ts'

export interface RunPod {
  run: string
  pod: Pod
}

/** The pods of a resource with the runs that they work for, the oldest first. */
export async function listRunPods(
  api: KubeApi,
  { controller, resource }: FoundResource,
  apiGroup: string,
  signal: AbortSignal,
): Promise<RunPod[]> {
  const { name, namespace = '', uid } = resource.metadata
  const labels = {
    'app.kubernetes.io/managed-by': managedBy,
    [`${apiGroup}/controller`]: controller,
    [`${apiGroup}/resource`]: labelValue(name),
  }
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  const scope = { namespace, labelSelector }
  const [jobs, pods] = await Promise.all([api.list(jobKind, scope, signal), api.list(podKind, scope, signal)])
  const own = jobs.items.filter(job => isOwnedBy(job, uid))
  return pods.items
    .flatMap(pod => {
      const job = own.find(one => isOwnedBy(pod, one.metadata.uid))
      return job ? [{ run: runOf(job, apiGroup), pod }] : []
    })
    .toSorted((one, other) => createdAt(one.pod) - createdAt(other.pod))
}

function runOf({ metadata }: Job, apiGroup: string): string {
  return metadata.annotations?.[`${apiGroup}/run`] ?? ''
}

function isOwnedBy({ metadata }: KubeObject, uid: string | undefined): boolean {
  return metadata.ownerReferences?.some(owner => owner.uid === uid) ?? false
}

function createdAt({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0
}

export interface ShownEvent {
  time: string
  type: string
  reason: string
  message: string
  count: number
}

interface EventObject extends KubeObject {
  type?: string
  reason?: string
  note?: string
  eventTime?: string | null
  deprecatedLastTimestamp?: string | null
  deprecatedCount?: number
  series?: { count?: number; lastObservedTime?: string }
}

const eventKind: ResourceKind<EventObject> = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' }

/** Events about the resource, the newest first. Undefined if the user may not read them. */
export async function listEvents(
  api: KubeApi,
  { resource }: FoundResource,
  signal: AbortSignal,
): Promise<ShownEvent[] | undefined> {
  const { name, namespace = '', uid } = resource.metadata
  const fieldSelector = `regarding.name=${name}${uid === undefined ? '' : `,regarding.uid=${uid}`}`
  try {
    const { items } = await api.list(eventKind, { namespace, fieldSelector }, signal)
    return items.map(readEvent).toSorted((one, other) => (one.time < other.time ? 1 : -1))
  } catch (error) {
    if (hasCode(error, 'KUBE_DENIED')) return undefined
    throw error
  }
}

function readEvent(event: EventObject): ShownEvent {
  const { series, eventTime, deprecatedLastTimestamp, deprecatedCount = 1, type = '', reason = '', note = '' } = event
  const time =
    series?.lastObservedTime ?? eventTime ?? deprecatedLastTimestamp ?? event.metadata.creationTimestamp ?? ''
  return { time, type, reason, message: note, count: series?.count ?? deprecatedCount }
}
