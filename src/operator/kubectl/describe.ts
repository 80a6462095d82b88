import type { ActiveRun, Condition, EndedRun } from '../crd/status.ts'
import { containerName } from '../job/build-pod.ts'
import type { Pod } from '../job/kube-job.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { FoundResource } from './find-resources.ts'
import { listEvents, listRunPods, type ShownEvent } from './run-pods.ts'
import { newestRun, type ResourceSummary, summarize, troubledConditions } from './summarize.ts'

export interface ShownPod {
  name: string
  run: string
  phase: string
  node: string
  /** Why it waits, or how it ended. */
  state: string
}

/** All that helps to decide what to do about a resource now; also the JSON of `describe`. */
export interface Description extends ResourceSummary {
  schedule?: string
  backupId?: string
  storage?: string
  records?: number
  bytes?: number
  storedBytes?: number
  gaps?: number
  lastVerifyTime?: string
  /** Conditions that are not as they should be. */
  problems: Pick<Condition, 'type' | 'reason' | 'message' | 'lastTransitionTime'>[]
  runs: (ActiveRun | EndedRun)[]
  /** Of the newest run. */
  pods: ShownPod[]
  /** Null if the user may not read events. */
  events: ShownEvent[] | null
}

const MAX_RUNS = 5
const MAX_EVENTS = 10

export async function describeResource(
  api: KubeApi,
  found: FoundResource,
  apiGroup: string,
  signal: AbortSignal,
): Promise<Description> {
  const { controller, resource } = found
  const [pods, events] = await Promise.all([listRunPods(api, found, apiGroup, signal), listEvents(api, found, signal)])
  const { spec, status = {} } = resource
  const run = newestRun(resource)?.run
  const { records, bytes, storedBytes, gaps, lastVerifyTime } = status
  const backupId = status.backupId ?? spec.backupId
  const problems = troubledConditions(status.conditions)
  return {
    ...summarize(controller, resource),
    ...(spec.schedule !== undefined && { schedule: spec.schedule }),
    ...(backupId !== undefined && { backupId }),
    ...storageOf(spec.storage, spec.storageRef),
    ...(records !== undefined && { records }),
    ...(bytes !== undefined && { bytes }),
    ...(storedBytes !== undefined && { storedBytes }),
    ...(gaps !== undefined && { gaps }),
    ...(lastVerifyTime !== undefined && { lastVerifyTime }),
    problems: problems.map(({ type, reason, message, lastTransitionTime }) => {
      return { type, reason, message, lastTransitionTime }
    }),
    runs: [...(status.active ?? []), ...(status.history ?? [])].slice(0, MAX_RUNS),
    pods: pods
      .filter(one => controller === 'storage' || one.run === run)
      .map(one => ({ ...showPod(one.pod), run: one.run })),
    events: events?.slice(0, MAX_EVENTS) ?? null,
  }
}

function storageOf(storage: unknown, ref: { name: string } | undefined): { storage?: string } {
  if (ref !== undefined) return { storage: `KafkaBackupStorage ${ref.name}` }
  if (typeof storage !== 'object' || storage === null) return {}
  const { backend, account, bucket, container, prefix, pvc, endpoint } = storage as Record<string, unknown>
  const claim = (pvc as { claimName?: unknown } | undefined)?.claimName
  const parts = [backend, account, bucket ?? container ?? claim, prefix].filter(part => typeof part === 'string')
  const address = typeof endpoint === 'string' ? ` at ${endpoint}` : ''
  return parts.length === 0 ? {} : { storage: `${parts.join(' ')}${address}` }
}

function showPod({ metadata, spec = {}, status = {} }: Pod): Omit<ShownPod, 'run'> {
  const { waiting, terminated } = status.containerStatuses?.find(({ name }) => name === containerName)?.state ?? {}
  const pending = status.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  const end = terminated && `${terminated.reason ?? 'ended'}, exit code ${terminated.exitCode}`
  const wait = waiting && [waiting.reason, waiting.message].filter(Boolean).join(': ')
  const state = end ?? wait ?? pending?.message ?? status.message ?? ''
  return { name: metadata.name, phase: status.phase ?? 'Unknown', node: String(spec.nodeName ?? ''), state }
}
