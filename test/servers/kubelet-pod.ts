import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { NotReadyError } from './kubelet-config.ts'
import { formatTime, type RunningContainer, startContainer } from './kubelet-container.ts'
import { makeEnvironment } from './kubelet-env.ts'
import type { KubeletImage } from './kubelet-images.ts'
import type { Container, Pod, Terminated } from './kubelet-pod-spec.ts'
import { startReadinessProbe } from './kubelet-probe.ts'
import { openPodReport, type PodReport } from './kubelet-report.ts'
import { type ContainerRecord, newRecord, type PodRecord } from './kubelet-status.ts'
import { makeVolumes, type ReadyVolume, type VolumeParts } from './kubelet-volumes.ts'

export interface PodParts extends Omit<VolumeParts, 'podIp' | 'folder'> {
  images: Readonly<Record<string, KubeletImage>>
  /** In the environment of every container. */
  serviceEnv: Record<string, string>
  folder: string
  logPath(pod: Pod, container: string): string
}

export interface RunningPod {
  /** SIGTERM, after the grace period SIGKILL; resolves when the last status is written. */
  terminate(graceMs: number): Promise<void>
  /** SIGKILL at once, and no word about it. */
  abandon(): Promise<void>
}

const retryMs = 200

interface PodRun {
  pod: Pod
  parts: PodParts
  record: PodRecord
  report: PodReport
  /** No container starts any more. */
  stopping: AbortController
  /** No container lives any more. */
  killing: AbortController
}

/** Runs the pod's containers to their end, and tells the API server of every change. */
export function startPod(pod: Pod, podIp: string, parts: PodParts): RunningPod {
  const record: PodRecord = {
    containers: pod.spec.containers.map(newRecord),
    startTime: formatTime(),
    podIp,
    stopped: false,
  }
  const report = openPodReport(pod, record, parts.api)
  const run: PodRun = { pod, parts, record, report, stopping: new AbortController(), killing: new AbortController() }
  const finished = runPod(run)
  const terminate = async (graceMs: number) => {
    run.stopping.abort()
    const timer = setTimeout(() => run.killing.abort(), graceMs)
    await finished
    clearTimeout(timer)
    await report.settled()
  }
  const abandon = async () => {
    report.close()
    run.stopping.abort()
    run.killing.abort()
    await finished
  }
  return { terminate, abandon }
}

async function runPod(run: PodRun): Promise<void> {
  const { record, report, stopping } = run
  report.changed()
  const volumes = await prepareVolumes(run)
  if (volumes && !stopping.signal.aborted) {
    await Promise.all(record.containers.map(each => runContainer(run, each, volumes)))
  }
  record.stopped = true
  report.changed()
  await report.settled()
}

/** Tries until everything is there, as a kubelet does; undefined when the pod is stopped before. */
async function prepareVolumes({ pod, parts, record, stopping }: PodRun) {
  const folder = join(parts.folder, pod.metadata.uid ?? '')
  while (!stopping.signal.aborted) {
    try {
      return await makeVolumes(pod, { ...parts, podIp: record.podIp, folder })
    } catch {
      await pause(retryMs, stopping.signal)
    }
  }
  return undefined
}

async function runContainer(run: PodRun, record: ContainerRecord, volumes: Map<string, ReadyVolume>): Promise<void> {
  const container = await startWhenReady(run, record, volumes)
  if (container === undefined) return
  record.state = { running: { startedAt: container.startedAt } }
  const probe = startReadinessProbe(record, run.record.podIp, () => run.report.changed())
  run.report.changed()
  record.state = { terminated: await waitForEnd(container, run) }
  probe.stop()
  run.report.changed()
}

/** Hands on the signals of the pod's end while it lasts. */
async function waitForEnd(container: RunningContainer, { stopping, killing }: PodRun): Promise<Terminated> {
  const { terminate, kill } = container
  if (stopping.signal.aborted) terminate()
  if (killing.signal.aborted) kill()
  stopping.signal.addEventListener('abort', terminate)
  killing.signal.addEventListener('abort', kill)
  const terminated = await container.exited
  stopping.signal.removeEventListener('abort', terminate)
  killing.signal.removeEventListener('abort', kill)
  return terminated
}

async function startWhenReady(run: PodRun, record: ContainerRecord, volumes: Map<string, ReadyVolume>) {
  while (!run.stopping.signal.aborted) {
    try {
      return await startOnce(run, record.container, volumes)
    } catch (error) {
      const reason = error instanceof NotReadyError ? error.reason : 'CreateContainerError'
      record.state = { waiting: { reason, message: (error as Error).message } }
      run.report.changed()
      await pause(retryMs, run.stopping.signal)
    }
  }
  return undefined
}

async function startOnce(
  { pod, parts, record }: PodRun,
  container: Container,
  volumes: Map<string, ReadyVolume>,
): Promise<RunningContainer> {
  const image = parts.images[container.image]
  if (image === undefined) {
    throw new NotReadyError('ImagePullBackOff', `Back-off pulling image "${container.image}": the runner has none such`)
  }
  const base = { ...defaultEnv, HOSTNAME: pod.metadata.name ?? '', ...parts.serviceEnv, ...image.env }
  const env = await makeEnvironment(parts.api, pod, container, record.podIp, base)
  const folder = join(parts.folder, pod.metadata.uid ?? '', 'containers', container.name)
  return startContainer({ pod, container, image, volumes, env, folder, logFile: parts.logPath(pod, container.name) })
}

const defaultEnv = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/' }

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
}
