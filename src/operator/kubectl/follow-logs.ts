import { hasCode, KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { containerName } from '../job/build-pod.ts'
import type { KubeClient } from '../kube/client.ts'
import type { FoundResource } from './find-resources.ts'
import { listRunPods, type RunPod } from './run-pods.ts'
import { newestRun } from './summarize.ts'
import { assertSame } from './trigger-run.ts'

export interface LogParts {
  client: KubeClient
  clock: Clock
  apiGroup: string
  /** Reads the resource again. */
  read(): Promise<FoundResource>
  onPod(name: string, run: string): void
}

export interface LogRequest {
  /** Undefined for the newest. */
  run: string | undefined
  follow: boolean
  tailLines: number | undefined
}

const POLL_MS = 1000

/**
 * The log of the newest pod of the run. With `follow`, the logs of the pods that replace it and of the Job that commits, one
 * after the other, until the run has ended.
 */
export async function* readRunLog(
  found: FoundResource,
  { run = newestRun(found.resource)?.run, follow, tailLines }: LogRequest,
  parts: LogParts,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { client, clock, apiGroup, onPod } = parts
  if (run === undefined && !follow) throw noPod(found, undefined)
  const shown = new Set<string>()
  let wasActive = false
  let wanted = run
  for (
    let current: FoundResource | undefined = found;
    current;
    current = await readAgain(found, current, wanted, shown.size > 0, parts)
  ) {
    wanted ??= newestRun(current.resource)?.run
    const isNow = wanted !== undefined && isActive(current, wanted)
    wasActive ||= isNow
    const pods = (await listRunPods(client, current, apiGroup, signal)).filter(one => one.run === wanted && hasLog(one))
    const next = shown.size === 0 ? pods.at(-1) : pods.find(({ pod }) => !shown.has(pod.metadata.uid ?? ''))
    if (next && hasStarted(next)) {
      const { pod } = next
      onPod(pod.metadata.name, next.run)
      for (const one of shown.size === 0 ? pods : [next]) shown.add(one.pod.metadata.uid ?? '')
      const scope = { container: containerName, follow, ...(tailLines !== undefined && { tailLines }) }
      yield* client.logs({ namespace: pod.metadata.namespace, name: pod.metadata.name }, scope, signal)
      if (!follow) return
      continue
    }
    // A computer that was suspended may ask again only after many later runs, which the status has instead.
    const isOver = isEnded(current, wanted) || (wasActive && !isNow)
    // A run that is not known would be waited for without end.
    const isExpected = follow && (next !== undefined || wanted === undefined || isNow)
    if (shown.size === 0 && (!isExpected || isOver)) throw noPod(current, wanted, next)
    if (isOver) return
    await clock.sleep(POLL_MS, signal)
  }
}

/** Undefined after the log of a deletion: the resource goes when its backup is deleted, and may be created again. */
async function readAgain(
  found: FoundResource,
  last: FoundResource,
  run: string | undefined,
  hasShown: boolean,
  { read }: LogParts,
): Promise<FoundResource | undefined> {
  try {
    const current = await read()
    if (run !== undefined) assertSame(found.resource, current.resource, run)
    return current
  } catch (error) {
    const isDeleted = hasCode(error, 'KUBE_NOT_FOUND') && hasShown && isDeletion(last, run)
    if (!isDeleted) throw error
    return undefined
  }
}

function isDeletion({ resource: { status = {} } }: FoundResource, run: string | undefined): boolean {
  const runs = [...(status.active ?? []), ...(status.history ?? [])]
  return runs.some(one => one.run === run && one.purpose === 'delete')
}

/** A pod that ended without its container having run, as one that a node has rejected, never has one. */
function hasLog(one: RunPod): boolean {
  return hasStarted(one) || !/^(Failed|Succeeded)$/.test(one.pod.status?.phase ?? '')
}

/** Before that the API server answers with an error. */
function hasStarted({ pod }: RunPod): boolean {
  const state = pod.status?.containerStatuses?.find(({ name }) => name === containerName)?.state
  return state?.running !== undefined || state?.terminated !== undefined
}

function isActive({ resource }: FoundResource, run: string): boolean {
  return resource.status?.active?.some(one => one.run === run) ?? false
}

function isEnded({ resource }: FoundResource, run: string | undefined): boolean {
  return resource.status?.history?.some(one => one.run === run) ?? false
}

function noPod({ resource }: FoundResource, run: string | undefined, waiting?: RunPod): KafkaBackupError {
  const { kind = '', metadata, status = {} } = resource
  const what = `${kind} ${metadata.name}`
  if (run === undefined)
    return new KafkaBackupError('KUBE_NOT_FOUND', `${what} has not run yet`, { help: askHelp(what) })
  if (waiting) {
    const why = status.message ?? 'its container has not started'
    return new KafkaBackupError(
      'KUBE_NOT_FOUND',
      `pod ${waiting.pod.metadata.name} of run ${run} has no log yet: ${why}`,
      {
        help: 'Pass --follow to wait for it.',
      },
    )
  }
  return new KafkaBackupError('KUBE_NOT_FOUND', `run ${run} of ${what} has no pod`, {
    help: `Its Job was removed, or its pod has not been created yet. ${askHelp(what)}`,
  })
}

function askHelp(what: string): string {
  return `See \`kubectl kafka-backup describe\` of ${what}; spec.job.failedJobsHistoryLimit sets how many Jobs stay with their logs.`
}
