import { after, before } from 'node:test'
import { waitFor } from '../wait-for.ts'
import { type Kube, type KubeOptions, startKube } from './kube.ts'
import type { ObjectRef } from './kube-object.ts'
import { type Kubelet, type KubeletOptions, startKubelet } from './kubelet.ts'
import type { Container, Pod, PodSpec, PodStatus } from './kubelet-pod-spec.ts'
import { shareKube } from './shared-kube.ts'

export { waitFor }

export interface KubeUse {
  kube: Kube
  kubelet: Kubelet
}

/** A control plane with a runner of its pods for the tests of one file; both are there when the first test begins. */
export function useKube(options: KubeOptions & KubeletOptions = {}): KubeUse {
  return usePods(() => startKube(options), options)
}

/** The same with the control plane that other files use at the same time. */
export function useSharedKube(options: KubeletOptions = {}): KubeUse {
  return usePods(shareKube, options)
}

function usePods(openKube: () => Promise<Kube>, options: KubeletOptions): KubeUse {
  const use = {} as KubeUse
  before(async () => {
    use.kube = await openKube()
    use.kubelet = await startKubelet(use.kube, options)
  })
  after(async () => {
    await use.kubelet?.stop()
    await use.kube?.stop()
  })
  return use
}

/** A container that runs a script with the programs of this machine. */
export function shell(script: string, more: Partial<Container> = {}): Container {
  return { name: 'main', image: 'machine', command: ['/bin/sh', '-c', script], ...more }
}

export async function createPod(
  { kube }: KubeUse,
  namespace: string,
  spec: Partial<PodSpec>,
  name = 'pod',
): Promise<ObjectRef> {
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name }
  await kube.api.create({ ...ref, metadata: { name, namespace }, spec: { restartPolicy: 'Never', ...spec } })
  return ref
}

/** Makes the pod and waits for its end. */
export async function runPod(use: KubeUse, namespace: string, spec: Partial<PodSpec>, name?: string): Promise<Pod> {
  const isOver = ({ phase }: PodStatus = {}) => phase === 'Succeeded' || phase === 'Failed'
  return use.kube.api.wait<Pod>(await createPod(use, namespace, spec, name), pod => isOver(pod.status))
}

export function podsOf({ kube }: Pick<KubeUse, 'kube'>, namespace: string): Promise<Pod[]> {
  return kube.api.list<Pod>({ apiVersion: 'v1', kind: 'Pod', namespace })
}

/** Reason and exit code of each container that has ended. */
export function endsOf(pod: Pod | undefined): [string, number][] {
  const states = (pod?.status?.containerStatuses ?? []).map(({ state }) => state.terminated)
  return states.flatMap(state => (state ? [[state.reason, state.exitCode] as [string, number]] : []))
}

/** The termination message of the first container; the whole status where there is none, for the test to show. */
export function messageOf(pod: Pod): string {
  return pod.status?.containerStatuses?.[0]?.state.terminated?.message ?? JSON.stringify(pod.status)
}

export async function createSecret({ kube }: KubeUse, namespace: string, name: string, stringData: object) {
  await kube.api.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData })
}

export async function createMap({ kube }: KubeUse, namespace: string, name: string, data: object) {
  await kube.api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data })
}

export async function waitForLog({ kubelet }: KubeUse, namespace: string, text: string, pod = 'pod'): Promise<void> {
  await waitFor(`the log ${text}`, async () => (await kubelet.logs(namespace, pod).catch(() => '')) === text)
}
