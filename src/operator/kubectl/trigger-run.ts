import { hasCode, KafkaBackupError } from '../../errors.ts'
import { type Clock, formatUtc } from '../../lib/clock.ts'
import { type Resource, type ResourceKinds, triggerAnnotation } from '../crd/resource.ts'
import type { ActiveRun, EndedRun } from '../crd/status.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import { referenceReasons } from '../plan/events.ts'
import { deleteAgainKey, triggerKey } from '../plan/run-key.ts'
import { isNamespaceTerminating } from '../run/namespace.ts'
import type { FoundResource } from './find-resources.ts'

export interface TriggerParts {
  api: KubeApi
  clock: Clock
  kinds: ResourceKinds
  apiGroup: string
  /** A part of the annotation, which has to be new each time. */
  id: string
  onWait(message: string): void
}

const fieldManager = 'kubectl-kafka-backup'
const POLL_MS = 500
/** The operator reacts within a second; one that does not run, never. */
const ACCEPT_MS = 30_000

/** Sets the trigger annotation. Resolves with the run when the operator has started it. */
export async function triggerRun(found: FoundResource, parts: TriggerParts, signal: AbortSignal): Promise<string> {
  const { api, clock, kinds, apiGroup, id, onWait } = parts
  const { controller, resource } = found
  const { name, namespace, uid } = resource.metadata
  refuseUseless(found)
  const value = `${formatUtc(clock.now())}-${id}`
  const annotations = { [triggerAnnotation(apiGroup)]: value }
  const kind = kinds[controller]
  // The uid keeps the apply from creating a resource that was deleted meanwhile.
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    annotations,
  }
  const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata } as Resource
  await api.apply(kind, object, { fieldManager, force: true }, signal)
  const run = triggerKey(value)
  const untilMs = clock.monotonic() + ACCEPT_MS
  let said = ''
  for (;;) {
    const current = await api.get(kind, { namespace, name }, signal)
    if (isStarted(current, run, value)) return startedRun(current, run, value)
    const { status = {} } = current
    const why = status.reason ?? 'Waiting'
    if (clock.monotonic() >= untilMs) throw notAccepted(current, apiGroup)
    if (why !== said && isBlocked(why)) onWait(`waiting: ${why}: ${status.message ?? ''}`)
    said = why
    await clock.sleep(POLL_MS, signal)
  }
}

/** The operator ignores the annotation for these. */
function refuseUseless({ controller, resource }: FoundResource): void {
  const { spec, metadata } = resource
  const isContinuous = controller === 'backup' && spec.backup?.continuous === true
  if (spec.suspend !== true || (controller === 'backup' && !isContinuous)) return
  throw new KafkaBackupError('USAGE', `${resource.kind} ${metadata.name} is suspended, so a trigger starts nothing`, {
    help: 'Set spec.suspend to false first.',
  })
}

function isStarted({ status = {} }: Resource, run: string, value: string): boolean {
  return (
    status.lastTrigger === value || [...(status.active ?? []), ...(status.history ?? [])].some(one => one.run === run)
  )
}

/** A continuous backup restarts as the run of its generation, and of a resource that is being deleted the deletion is repeated. */
function startedRun({ status = {} }: Resource, run: string, value: string): string {
  const { active = [], history = [] } = status
  const known = [...active, ...history].map(one => one.run)
  const started = [run, deleteAgainKey(value)].find(one => known.includes(one))
  return started ?? active.find(({ purpose }) => purpose === 'main')?.run ?? run
}

function isBlocked(reason: string): boolean {
  const own = ['SecretMissing', 'InvalidSpec', 'JobRefused', 'EarlierJob', 'StorageNotValidated']
  const runs = ['WaitingForVerify', 'Stopping', 'WaitingForReset', 'WaitingForRollback']
  return [...own, ...runs, ...referenceReasons].includes(reason)
}

function notAccepted({ kind = '', metadata, status = {} }: Resource, apiGroup: string): KafkaBackupError {
  const { reason, message, active = [] } = status
  // A backup does not wait for a drill.
  const other = active.find(({ purpose }) => purpose !== 'drill')
  const busy = other && `run ${other.run} is still active`
  const why = busy ?? (reason === undefined ? 'the operator has not answered' : `${reason}: ${message ?? ''}`)
  return new KafkaBackupError(
    'KUBE_CONFLICT',
    `${kind} ${metadata.name} was triggered, but its run has not started: ${why}`,
    {
      help: `The annotation ${triggerAnnotation(apiGroup)} stays, so the run starts as soon as it can. Is the operator running?`,
    },
  )
}

/** Waits until the run has ended. A restart of the operator and short outages of the API server are survived. */
export async function waitForEnd(
  { controller, resource }: FoundResource,
  run: string,
  { api, clock, kinds }: Pick<TriggerParts, 'api' | 'clock' | 'kinds'>,
  onProgress: (resource: Resource) => void,
  signal: AbortSignal,
): Promise<EndedRun> {
  const { name, namespace } = resource.metadata
  const kind = kinds[controller]
  for (let last = resource; ; await clock.sleep(POLL_MS * 2, signal)) {
    let current: Resource
    try {
      current = await api.get(kind, { namespace, name }, signal)
      assertSame(resource, current, run)
    } catch (error) {
      if (hasCode(error, 'KUBE_UNREACHABLE')) continue
      const deletion = activeRun(last, run)
      const isDeleted = hasCode(error, 'KUBE_NOT_FOUND') && deletion?.purpose === 'delete' && wantsDeletion(last)
      if (!isDeleted || (await isNamespaceTerminating(api, kind, last, signal))) throw error
      return { ...deletion, phase: 'Completed', completionTime: formatUtc(clock.now()) }
    }
    const ended = current.status?.history?.find(one => one.run === run)
    if (ended) return ended
    if (activeRun(last, run) && !activeRun(current, run)) throw forgotten(current, run)
    last = current
    onProgress(current)
  }
}

function activeRun({ status }: Resource, run: string): ActiveRun | undefined {
  return status?.active?.find(one => one.run === run)
}

/** Then the operator removes the finalizer, and with it the resource, only when the backup is deleted, or the namespace is being deleted too. */
function wantsDeletion({ metadata, spec }: Resource): boolean {
  return metadata.deletionTimestamp !== undefined && spec.deletionPolicy === 'Delete'
}

/** A computer that was suspended may ask again only after many later runs. */
function forgotten({ kind = '', metadata }: Resource, run: string): KafkaBackupError {
  return new KafkaBackupError('KUBE_NOT_FOUND', `the status of ${kind} ${metadata.name} no longer has run ${run}`, {
    help: 'It has ended, and status.history has only the runs after it. The Events of the resource may still report how it ended.',
  })
}

/** The status of a resource that was created again never shows the run. */
export function assertSame({ kind = '', metadata }: Resource, current: Resource, run: string): void {
  if (current.metadata.uid === metadata.uid) return
  throw new KafkaBackupError(
    'KUBE_NOT_FOUND',
    `${kind} ${metadata.name} was deleted and created again, so its status does not show run ${run}`,
    { help: 'What became of the run is unknown. Trigger the resource again.' },
  )
}
