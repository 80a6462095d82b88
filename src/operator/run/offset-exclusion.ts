import { type AnyController, type Resource, triggerAnnotation } from '../crd/resource.ts'
import { labelValue, resetAnnotation } from '../job/names.ts'
import type { KubeObject } from '../kube/object.ts'
import type { AnySituation, Situation } from '../plan/plan.ts'
import { formatKey } from '../watch/store.ts'
import type { ClusterView } from './cluster-view.ts'
import { isOver } from './earlier-job.ts'
import { hasEnded } from './known-jobs.ts'

type Exclusion = Pick<Situation, 'referredSnapshotId' | 'referredReset' | ActiveRollback>
type ActiveRollback = 'activeRollback' | 'leftOfRollback'

interface ExclusionParts {
  controller: AnyController
  apiGroup: string
  view: ClusterView
}

/** The runs of a reset and of the rollbacks that refer to it set the offsets of the same groups: only one may be active. */
export function findExclusion(resource: Resource, parts: ExclusionParts): Exclusion {
  const { controller, apiGroup, view } = parts
  const reset = controller === 'offset_reset' ? resource.metadata.name : resource.spec.resetRef?.name
  if (reset === undefined) return { referredSnapshotId: undefined, activeRollback: undefined }
  const referred =
    controller === 'offset_reset'
      ? { referredSnapshotId: undefined }
      : referredSnapshot(resource, reset, view, apiGroup)
  return { ...referred, ...findActiveRollback(resource, reset, parts) }
}

/** None while the reset runs, again or still: its next snapshot is not known yet. */
function referredSnapshot(
  { metadata }: Resource,
  name: string,
  view: ClusterView,
  apiGroup: string,
): Pick<Exclusion, 'referredSnapshotId' | 'referredReset'> {
  const reset = view.resources.offset_reset.get(formatKey({ namespace: metadata.namespace, name }))
  if (reset === undefined) return { referredSnapshotId: null, referredReset: 'missing' }
  if (isAtWork(reset, view, apiGroup)) return { referredSnapshotId: null, referredReset: 'active' }
  const { snapshotId, history = [] } = reset.status ?? {}
  if (snapshotId !== undefined) return { referredSnapshotId: snapshotId }
  return { referredSnapshotId: null, referredReset: history.length > 0 ? 'unchanged' : 'new' }
}

/** Another one than the resource itself. Not one that was only triggered: it waits too, and each would wait for the other. */
function findActiveRollback(
  { metadata }: Resource,
  reset: string,
  parts: ExclusionParts,
): Pick<Exclusion, ActiveRollback> {
  const { namespace, uid } = metadata
  const { view } = parts
  const active = view.resources.offset_rollback
    .list()
    .filter(one => one.metadata.namespace === namespace && one.metadata.uid !== uid)
    .find(one => one.spec.resetRef?.name === reset && isActive(one, view))
  return active ? { activeRollback: active.metadata.name } : findLeftRollback(metadata, reset, parts)
}

/** One that was deleted, or that names another reset since it started: Kubernetes ends its pods after the resource is gone. */
function findLeftRollback(
  { namespace, name }: Resource['metadata'],
  reset: string,
  { controller, view, apiGroup }: ExclusionParts,
): Pick<Exclusion, ActiveRollback> {
  const nameLabel = `${apiGroup}/resource`
  const own = controller === 'offset_rollback' ? labelValue(name) : undefined
  const isOfReset = ({ metadata: { annotations, labels, ...one } }: KubeObject) =>
    one.namespace === namespace &&
    annotations?.[resetAnnotation(apiGroup)] === reset &&
    (own === undefined || labels?.[nameLabel] !== own)
  const rollbacks = view.resources.offset_rollback.list()
  const ended = new Set(rollbacks.flatMap(({ status }) => status?.history ?? []).map(({ job }) => job))
  const job = view.jobs.list().find(one => isOfReset(one) && !isOver(one) && !ended.has(one.metadata.name))
  const pod = job ? undefined : view.pods.list().find(one => isOfReset(one) && !hasEnded(one))
  const left = job ?? pod
  if (left === undefined) return { activeRollback: undefined }
  const node = pod?.spec?.nodeName
  return {
    activeRollback: left.metadata.labels?.[nameLabel],
    leftOfRollback: {
      kind: job ? 'Job' : 'Pod',
      name: left.metadata.name,
      ...(typeof node === 'string' && { node }),
    },
  }
}

/** Active, or a trigger was set that no plan has seen yet. */
function isAtWork(resource: Resource, view: ClusterView, apiGroup: string): boolean {
  const { metadata, spec, status } = resource
  const trigger = metadata.annotations?.[triggerAnnotation(apiGroup)] ?? ''
  const isTriggered = trigger !== '' && trigger !== status?.lastTrigger && spec?.suspend !== true
  return isActive(resource, view) || isTriggered
}

/** A run is active, or pods of a removed Job have not ended. The status lags behind its Job, and a leader that stops between both never writes it. */
function isActive({ metadata, status = {} }: Resource, { jobs, starting }: ClusterView): boolean {
  const { active = [], history = [], conditions = [] } = status
  const ended = new Set(history.map(({ job }) => job))
  const isStarted = jobs.ownedBy(metadata.uid ?? '').some(job => !isOver(job) && !ended.has(job.metadata.name))
  const isProgressing = conditions.some(one => one.type === 'Progressing' && one.status === 'True')
  return active.length > 0 || isProgressing || isStarted || starting.has(metadata.uid ?? '')
}

/**
 * Marks the resource as starting, until the cache shows its Job; false if another run of the same groups has started since the situation was
 * observed. Nothing is awaited between the check and the mark, and one process leads, so only one of two that are due at the same time starts.
 */
export function claimStart(situation: AnySituation, view: ClusterView): boolean {
  const { controller, apiGroup, resource, referredSnapshotId, activeRollback } = situation
  if (controller !== 'offset_reset' && controller !== 'offset_rollback') return true
  const now = findExclusion(resource, { controller, apiGroup, view })
  if (now.referredSnapshotId !== referredSnapshotId || now.activeRollback !== activeRollback) return false
  view.starting.add(resource.metadata.uid ?? '')
  return true
}
