import type { JobLimits, Resource, ResourceSpec } from '../../src/operator/crd/resource.ts'
import { type AnyController, resourceKinds } from '../../src/operator/crd/resource.ts'
import type { Phase, ResourceStatus } from '../../src/operator/crd/status.ts'
import type { ChartValues } from './chart.ts'
import type { Kube } from './kube.ts'
import { type KubeFaultProxy, startKubeFaultProxy } from './kube-fault-proxy.ts'
import type { KubeObject, ObjectRef } from './kube-object.ts'
import { type Kubelet, startKubelet } from './kubelet.ts'
import type { KubeletImage } from './kubelet-images.ts'
import type { Pod } from './kubelet-pod-spec.ts'
import { type Operator, type OperatorOptions, startOperator } from './operator.ts'
import { installOperatorAccess } from './operator-access.ts'
import { shareKube } from './shared-kube.ts'

export interface StageOptions {
  /** What the pods of Jobs run. */
  image: KubeletImage
  /** A control plane that no other test file uses; without it, perhaps a shared one. */
  kube?: Kube
  /** Of the chart, besides the image. */
  values?: ChartValues
}

export interface StartOptions extends Pick<OperatorOptions, 'podName'> {
  throughProxy?: boolean
  /** After the chart's arguments. */
  flags?: readonly string[]
}

/** A control plane with the operator's definitions and rights, and a namespace for all that a test makes. */
export interface OperatorStage {
  kube: Kube
  kubelet: Kubelet
  namespace: string
  /** Before the API server, for those operators that are started through it. */
  proxy: KubeFaultProxy
  /** Ready when it is given; ended with the stage. */
  start(options?: StartOptions): Promise<Operator>
  /** Makes the resource or sets its spec anew. */
  apply(controller: AnyController, name: string, spec: ResourceSpec): Promise<ObjectRef>
  /** A volume claim; gives the spec's `storage` of it and its folder on this machine. */
  volume(name: string): Promise<{ storage: Record<string, unknown>; path: string }>
  secret(name: string, stringData: Record<string, string>): Promise<void>
  status(ref: ObjectRef): Promise<ResourceStatus>
  /** Waits; what all parts said is in the error of one that does not come to it. */
  until(ref: ObjectRef, what: string, check: (status: ResourceStatus) => boolean, ms?: number): Promise<ResourceStatus>
  /** Where it fails instead, that is told at once. */
  untilPhase(ref: ObjectRef, phase: Phase, ms?: number): Promise<ResourceStatus>
  annotate(ref: ObjectRef, annotations: Record<string, string>): Promise<void>
  jobs(ref: ObjectRef): Promise<KubeObject[]>
  pods(ref: ObjectRef): Promise<Pod[]>
  /** `type reason` of each event of the resource, the oldest first. */
  events(ref: ObjectRef): Promise<{ type: string; reason: string; note: string }[]>
  /** Everything that anybody could read of it: objects other than secrets, events and logs, as one text. */
  everything(): Promise<string>
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export const stageImage = 'kafka-backup:test'
/** Fast where a user would not want it: pods fail once, and Jobs stay to be looked at. */
export const quickJob: JobLimits = { backoffLimit: 0, terminationGracePeriodSeconds: 5 }

const waitMs = 120_000
const [repository, tag] = stageImage.split(':')
const chartValues = { jobs: { image: { repository, tag } } }

export async function openOperatorStage({ image, kube: own, values = {} }: StageOptions): Promise<OperatorStage> {
  const kube = own ?? (await shareKube())
  const kubelet = await startKubelet(kube, { images: { [stageImage]: image } })
  const proxy = await startKubeFaultProxy(kube)
  const namespace = await kube.makeNamespace('operator', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  const { account, args } = await installOperatorAccess(kube, namespace, { ...chartValues, ...values })
  const operators: Operator[] = []
  const start: OperatorStage['start'] = async ({ throughProxy = false, flags = [], ...options } = {}) => {
    const direct = await kube.credentialsFor(account)
    const credentials = throughProxy ? proxy.through(direct) : direct
    const operator = await startOperator({
      credentials,
      namespace,
      args: [...args, '--progress-interval=1s', '--metrics-hold=0s', ...flags],
      ...options,
    })
    operators.push(operator)
    await operator.waitReady()
    return operator
  }
  const stop = async () => {
    for (const operator of operators) await operator[Symbol.asyncDispose]()
    await proxy.stop()
    await kubelet.stop()
    await kube.stop()
  }
  const look = openLook(kube, kubelet, namespace, operators)
  return { kube, kubelet, namespace, proxy, start, ...look, stop, [Symbol.asyncDispose]: stop }
}

type Look = Omit<OperatorStage, 'kube' | 'kubelet' | 'namespace' | 'proxy' | 'start' | 'stop' | symbol>

function openLook({ api }: Kube, kubelet: Kubelet, namespace: string, operators: readonly Operator[]): Look {
  const kinds = resourceKinds()
  const list = <T extends KubeObject>(apiVersion: string, kind: string) => api.list<T>({ apiVersion, kind, namespace })
  const status = async (ref: ObjectRef) => (await api.get(ref)).status ?? {}
  const jobs = async (ref: ObjectRef) => (await list('batch/v1', 'Job')).filter(job => isOwned(job, ref))
  const pods = async (ref: ObjectRef) => {
    const names = new Set((await jobs(ref)).map(({ metadata }) => metadata.name))
    return (await list<Pod>('v1', 'Pod')).filter(pod => names.has(pod.metadata.ownerReferences?.[0]?.name))
  }
  const logOf = ({ metadata, spec }: Pod) =>
    kubelet.logs(namespace, metadata.name ?? '', spec.containers[0]?.name).catch(() => '')
  const events = async (ref: ObjectRef) =>
    (await list<StoredEvent>('events.k8s.io/v1', 'Event'))
      .filter(({ regarding }) => regarding?.name === ref.name && regarding.kind === ref.kind)
      .sort((one, other) => ((one.eventTime ?? '') < (other.eventTime ?? '') ? -1 : 1))
      .map(({ type, reason, note }) => ({ type, reason, note }))
  const everything = async () => {
    const read = [
      ...Object.values(kinds).map(({ apiVersion, kind }) => [apiVersion, kind] as const),
      ...[['batch/v1', 'Job'] as const, ['v1', 'Pod'] as const, ['v1', 'ConfigMap'] as const],
      ...[['events.k8s.io/v1', 'Event'] as const, ['coordination.k8s.io/v1', 'Lease'] as const],
    ]
    const objects = (await Promise.all(read.map(([apiVersion, kind]) => list(apiVersion, kind)))).flat()
    const logs = await Promise.all(objects.filter(({ kind }) => kind === 'Pod').map(pod => logOf(pod as Pod)))
    const said = await Promise.all(operators.map(operator => operator.log()))
    const pages = await Promise.all(operators.map(operator => operator.metrics().catch(() => '')))
    return [...objects.map(each => JSON.stringify(each)), ...logs, ...said, ...pages].join('\n')
  }
  const until = async (ref: ObjectRef, what: string, check: (status: ResourceStatus) => boolean, ms = waitMs) => {
    try {
      return (await api.wait<Resource & KubeObject>(ref, ({ status: now }) => check(now ?? {}), ms)).status ?? {}
    } catch (error) {
      throw new Error(`${ref.kind} ${ref.name}: not ${what}\n${error}\n${await tell(ref)}`)
    }
  }
  const untilPhase: Look['untilPhase'] = async (ref, phase, ms) => {
    const found = await until(ref, phase, now => now.phase === phase || now.phase === 'Failed', ms)
    if (found.phase === phase) return found
    throw new Error(`${ref.kind} ${ref.name}: not ${phase}\n${JSON.stringify(found)}\n${await tell(ref)}`)
  }
  const tell = async (ref: ObjectRef) => {
    const found = await pods(ref)
    const logs = await Promise.all(found.map(logOf))
    const said = await Promise.all(operators.map(operator => operator.log()))
    return [
      ...(await events(ref)).map(({ type, reason, note }) => `event ${type} ${reason}: ${note}`),
      ...(await jobs(ref)).map(job => `job ${job.metadata.name}: ${JSON.stringify(job.status)}`),
      ...found.map((pod, at) => `pod ${pod.metadata.name}: ${JSON.stringify(pod.status)}\n${logs[at]}`),
      ...said.map(text => `operator: ${text.slice(-6000)}`),
    ].join('\n')
  }
  return {
    apply: async (controller, name, spec) => {
      const { apiVersion, kind } = kinds[controller]
      const metadata = { name, namespace }
      await api.apply({ apiVersion, kind, metadata, spec })
      return { apiVersion, kind, namespace, name }
    },
    volume: async name => {
      const spec = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } }
      await api.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace }, spec })
      return { storage: { backend: 'pvc', pvc: { claimName: name } }, path: kubelet.claimPath(namespace, name) }
    },
    secret: async (name, stringData) => {
      await api.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData })
    },
    status,
    until,
    untilPhase,
    annotate: async (ref, annotations) => void (await api.patch(ref, { metadata: { annotations } })),
    jobs,
    pods,
    events,
    everything,
  }
}

interface StoredEvent extends KubeObject {
  type: string
  reason: string
  note: string
  eventTime?: string
  regarding?: { kind: string; name: string }
}

function isOwned({ metadata }: KubeObject, { kind, name }: ObjectRef): boolean {
  return metadata.ownerReferences?.some(owner => owner.kind === kind && owner.name === name) ?? false
}
