import { readFileSync } from 'node:fs'
import { chmod, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnGuarded } from './guard.ts'
import { expand } from './kubelet-env.ts'
import type { KubeletImage } from './kubelet-images.ts'
import type { Container, Pod, Terminated } from './kubelet-pod-spec.ts'
import { formatSandbox, type Mount, type Sandbox, startedMarker } from './kubelet-sandbox.ts'
import type { ReadyVolume } from './kubelet-volumes.ts'

export interface ContainerPlan {
  pod: Pod
  container: Container
  image: KubeletImage
  volumes: Map<string, ReadyVolume>
  env: Record<string, string>
  /** Of the container alone. */
  folder: string
  logFile: string
}

export interface RunningContainer {
  startedAt: string
  exited: Promise<Terminated>
  terminate(): void
  kill(): void
}

const maxMessageBytes = 4096
const maxFallbackBytes = 2048

/** Starts a container as a process of this machine, the first of its own process namespace; returns when it runs. */
export async function startContainer(plan: ContainerPlan): Promise<RunningContainer> {
  const { container, env, folder, logFile } = plan
  const messageFile = join(folder, 'termination-log')
  await mkdir(folder, { recursive: true })
  await writeFile(messageFile, '')
  await chmod(messageFile, 0o666)
  await makeSubPaths(container, plan.volumes)
  const script = join(folder, 'start.sh')
  await writeFile(script, formatSandbox(planSandbox(plan, messageFile)))
  const startedAt = formatTime()
  const flags = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '/bin/sh', script]
  const running = spawnGuarded('/usr/bin/unshare', flags, { cwd: '/', env, logFile })
  const hasStarted = () => hasContent(join(folder, startedMarker))
  while (!running.hasExited() && !(await hasStarted())) await sleep(5)
  const exited = running.exited.then(async ({ code, signal }): Promise<Terminated> => {
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal])
    const times = { startedAt, finishedAt: formatTime() }
    if (!(await hasStarted())) {
      return { exitCode: 128, reason: 'StartError', message: await readEnd(logFile, maxFallbackBytes), ...times }
    }
    const message = await readMessage(container, exitCode, messageFile, logFile)
    return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...(message ? { message } : {}), ...times }
  })
  return {
    startedAt,
    exited,
    terminate: () => {
      if (!running.hasExited()) terminate(running.pid)
    },
    kill: () => running.signal('SIGKILL'),
  }
}

export function formatTime(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}

function planSandbox(plan: ContainerPlan, messageFile: string): Sandbox {
  const { pod, container, image, volumes, env } = plan
  const shared = pod.spec.securityContext ?? {}
  const own = { ...shared, ...container.securityContext }
  const messagePath = container.terminationMessagePath ?? '/dev/termination-log'
  return {
    folder: plan.folder,
    mounts: [...planMounts(container, image, volumes), { source: messageFile, target: messagePath, readOnly: false }],
    readOnlyRoot: own.readOnlyRootFilesystem ?? false,
    user: own.runAsUser ?? image.user ?? 0,
    group: own.runAsGroup ?? 0,
    volumeGroup: shared.fsGroup,
    workingDir: image.workingDir ?? '/',
    command: planCommand(container, image, env),
  }
}

function planMounts(container: Container, image: KubeletImage, volumes: Map<string, ReadyVolume>): Mount[] {
  const folders = Object.entries(image.folders ?? {}).map(([target, source]) => ({ source, target, readOnly: true }))
  const mounted = (container.volumeMounts ?? []).map(({ name, mountPath, subPath, readOnly = false }) => {
    const volume = volumes.get(name)
    if (volume === undefined) throw new Error(`no volume ${name}`)
    const source = subPath === undefined ? volume.path : join(volume.path, subPath)
    return { source, target: mountPath, readOnly: readOnly || volume.readOnly }
  })
  return [...folders, ...mounted]
}

/** A folder of a volume that is not there yet is made, open to those to whom the volume is. */
async function makeSubPaths({ volumeMounts = [] }: Container, volumes: Map<string, ReadyVolume>): Promise<void> {
  for (const { name, subPath } of volumeMounts) {
    const volume = volumes.get(name)
    if (subPath === undefined || volume === undefined || volume.readOnly) continue
    const made = await mkdir(join(volume.path, subPath), { recursive: true })
    if (made !== undefined) await chmod(join(volume.path, subPath), (await stat(volume.path)).mode)
  }
}

/** `command` replaces the entry point, `args` what follows it; a command alone also drops the image's own arguments. */
function planCommand({ command, args }: Container, image: KubeletImage, env: Record<string, string>): string[] {
  const first = command ?? image.entrypoint
  const rest = args ?? (command === undefined ? (image.cmd ?? []) : [])
  return [...first, ...rest].map(text => expand(text, env))
}

async function readMessage(
  { terminationMessagePolicy }: Container,
  exitCode: number,
  messageFile: string,
  logFile: string,
): Promise<string> {
  const message = await readEnd(messageFile, maxMessageBytes)
  const useLog = message === '' && exitCode !== 0 && terminationMessagePolicy === 'FallbackToLogsOnError'
  return useLog ? readEnd(logFile, maxFallbackBytes) : message
}

/** The last bytes of a file, as a kubelet cuts messages. */
async function readEnd(file: string, maxBytes: number): Promise<string> {
  const { size } = await stat(file)
  if (size <= maxBytes) return readFile(file, 'utf8')
  await using handle = await open(file)
  const { buffer } = await handle.read(Buffer.alloc(maxBytes), 0, maxBytes, size - maxBytes)
  return buffer.toString('utf8')
}

async function hasContent(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size > 0,
    () => false,
  )
}

/** The signal that asks goes to the container's first process alone; it is for that one to tell the others. */
function terminate(pid: number): void {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  if (first) process.kill(Number(first), 'SIGTERM')
}
