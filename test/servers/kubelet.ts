import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeGuardedFolder } from './guard.ts'
import type { Kube } from './kube.ts'
import type { KubeApi } from './kube-api.ts'
import { type KubeObject, refOf } from './kube-object.ts'
import { type KubeletImage, machineImage } from './kubelet-images.ts'
import { type PodParts, type RunningPod, startPod } from './kubelet-pod.ts'
import type { Pod } from './kubelet-pod-spec.ts'
import { persist } from './kubelet-report.ts'

export interface KubeletOptions {
  /** By the name that containers give. `machine` is always there: the programs of this machine. */
  images?: Readonly<Record<string, KubeletImage>>
}

export interface Kubelet {
  nodeName: string
  /** What the container has printed; also after the pod is gone. */
  logs(namespace: string, pod: string, container?: string): Promise<string>
  /** The folder of a persistent volume claim. */
  claimPath(namespace: string, name: string): string
  /** Kills all containers without a word to the API server. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A node in small: takes every pod of this test file that has no node yet, runs its containers as processes of this machine, and
 * reports. It has what the pods of the operator use, and no more; CONTRIBUTING.md lists what only the real node does. Each pod has
 * a loopback address, so two can listen on one port if they bind `status.podIP`. Needs root, for mounts and users.
 */
export async function startKubelet(kube: Kube, options: KubeletOptions = {}): Promise<Kubelet> {
  if (process.getuid?.() !== 0) throw new Error('pods as processes need root, for their mounts and users')
  const folder = await makeGuardedFolder('kubelet')
  const claimPath = (namespace: string, name: string) => join(folder.path, 'claims', namespace, name)
  const logPath = (namespace: string, pod: string, container: string) =>
    join(folder.path, `${namespace}_${pod}_${container}.log`)
  const nodeName = `node-${process.pid}-${Math.floor(Math.random() * 1e6)}`
  const node = openNode(kube, nodeName, {
    api: kube.api,
    images: { machine: machineImage, ...options.images },
    serviceEnv: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(kube.port) },
    folder: folder.path,
    claimPath,
    logPath: ({ metadata }, container) => logPath(metadata.namespace ?? '', metadata.name ?? '', container),
  })
  const stop = async () => {
    await node.stop()
    await folder.remove()
  }
  return {
    nodeName,
    logs: async (namespace, pod, container = 'main') => readFile(logPath(namespace, pod, container), 'utf8'),
    claimPath,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

interface HeldPod {
  running: RunningPod
  removing?: Promise<void>
}

function openNode({ api, isOwn }: Kube, nodeName: string, parts: PodParts): { stop(): Promise<void> } {
  const held = new Map<string, HeldPod>()
  const stopping = new AbortController()
  const nextAddress = makeAddresses()
  const take = (pod: Pod) => {
    if (!isOwn(pod.metadata.namespace ?? '')) return undefined
    const uid = pod.metadata.uid ?? ''
    const known = held.get(uid)
    if (pod.spec.nodeName === undefined) return bindPod(api, pod, nodeName)
    if (pod.spec.nodeName !== nodeName) return undefined
    if (known === undefined && !isOver(pod)) held.set(uid, { running: startPod(pod, nextAddress(), parts) })
    const own = held.get(uid)
    if (own && pod.metadata.deletionTimestamp) own.removing ??= removePod(api, pod, own.running)
    return undefined
  }
  const drop = async (pod: KubeObject) => {
    const uid = pod.metadata.uid ?? ''
    await held.get(uid)?.running.abandon()
    held.delete(uid)
    await rm(join(parts.folder, uid), { recursive: true, force: true })
  }
  const watching = api.watch(
    { apiVersion: 'v1', kind: 'Pod' },
    {},
    ({ type, object }) => void (type === 'DELETED' ? drop(object) : take({ ...object, ...podKind } as Pod)),
    stopping.signal,
  )
  return {
    stop: async () => {
      stopping.abort()
      await watching
      await Promise.all([...held.values()].map(({ running }) => running.abandon()))
    },
  }
}

/** Items of a list do not say what they are. */
const podKind = { apiVersion: 'v1', kind: 'Pod' }

function isOver({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

async function bindPod(api: KubeApi, pod: Pod, nodeName: string): Promise<void> {
  const { name = '', namespace = '', uid } = pod.metadata
  const target = { apiVersion: 'v1', kind: 'Node', name: nodeName }
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace, uid }, target }
  // Refused when it is deleted or taken by another node meanwhile.
  await persist(() => api.createSub(refOf(pod), 'binding', binding))
}

async function removePod(api: KubeApi, pod: Pod, running: RunningPod): Promise<void> {
  await running.terminate((pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000)
  const options = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }
  await persist(() => api.delete(refOf(pod), options))
}

/** 127.x.y.z, from a range that other runners on this machine hardly share. */
function makeAddresses(): () => string {
  const network = 1 + Math.floor(Math.random() * 254)
  let count = Math.floor(Math.random() * 254 * 254)
  return () => {
    count = (count + 1) % (254 * 254)
    return `127.${network}.${Math.floor(count / 254)}.${1 + (count % 254)}`
  }
}
