import assert from 'node:assert/strict'
import type { Resource, ResourceSpec } from '../../src/operator/crd/resource.ts'
import { type Controller, resourceKinds } from '../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../src/operator/crd/status.ts'
import { type ChartValues, chartFolder, chartName, runHelm } from '../servers/chart.ts'
import type { KubeObject, ObjectRef } from '../servers/kube-object.ts'
import type { Pod } from '../servers/kubelet-pod-spec.ts'
import { type KubeNode, startNode } from '../servers/node/node.ts'
import { productImage } from '../servers/node/product-image.ts'
import { podsOf } from '../servers/use-kube.ts'

/** A real node with the operator on it, as the chart installs it. */
export interface NodeWorld {
  node: KubeNode
  /** Of the level `restricted`, with the operator and everything that tests create. */
  namespace: string
  create(controller: Controller, name: string, spec: ResourceSpec): Promise<ObjectRef>
  secret(name: string, stringData: Record<string, string>): Promise<void>
  status(ref: ObjectRef): Promise<ResourceStatus>
  /** Waits for the status; the error of one that does not come has the pods and their logs. */
  until(ref: ObjectRef, what: string, check: (status: ResourceStatus) => boolean): Promise<ResourceStatus>
  /** Waits for the end of the run. */
  untilEnd(ref: ObjectRef): Promise<ResourceStatus>
  /** Deletes the resource with its pods. */
  remove(ref: ObjectRef): Promise<void>
  /** Of the Jobs of a resource. */
  pods(ref: ObjectRef): Promise<Pod[]>
  log(pod: string): Promise<string>
  /** Runs a pod to its end, and gives its log. */
  runPod(name: string, spec: object): Promise<string>
}

const waitMs = 120_000
const [repository, tag] = productImage.split(':')
/** Of the chart. */
export const operatorValues: ChartValues = {
  crds: { install: false },
  image: { repository, tag },
  extraArgs: ['--progress-interval=1s'],
}

export async function openNodeWorld(): Promise<NodeWorld> {
  const node = await startNode()
  const { api } = node.kube
  const namespace = await node.kube.makeNamespace('operator', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  const kinds = resourceKinds()
  const log = async (pod: string) => String(await api.request('GET', `/api/v1/namespaces/${namespace}/pods/${pod}/log`))
  const list = (apiVersion: string, kind: string) => api.list({ apiVersion, kind, namespace })
  const pods = async ({ name, kind }: ObjectRef) => {
    const isOwned = ({ metadata }: KubeObject) =>
      metadata.ownerReferences?.some(owner => owner.kind === kind && owner.name === name)
    const jobs = (await list('batch/v1', 'Job')).filter(isOwned).map(({ metadata }) => metadata.name)
    const found = (await list('v1', 'Pod')) as unknown as Pod[]
    return found.filter(pod => jobs.includes(pod.metadata.ownerReferences?.[0]?.name))
  }
  const explain = async () => {
    const found = await list('v1', 'Pod')
    const logs = found.map(async ({ metadata: { name = '' }, status }) => {
      const text = await log(name).catch(String)
      return `pod ${name}: ${JSON.stringify(status)}\n${text.slice(-3000)}`
    })
    return (await Promise.all(logs)).join('\n')
  }
  const until: NodeWorld['until'] = async (ref, what, check) => {
    try {
      return (await api.wait<Resource & KubeObject>(ref, ({ status }) => check(status ?? {}), waitMs)).status ?? {}
    } catch (error) {
      throw new Error(`${ref.kind} ${ref.name}: not ${what}\n${error}\n${await explain()}`)
    }
  }
  return {
    node,
    namespace,
    create: async (controller, name, spec) => {
      const { apiVersion, kind } = kinds[controller]
      await api.create({ apiVersion, kind, metadata: { name, namespace }, spec })
      return { apiVersion, kind, namespace, name }
    },
    secret: async (name, stringData) => {
      await api.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData })
    },
    status: async ref => ((await api.get(ref)).status ?? {}) as ResourceStatus,
    until,
    untilEnd: ref => until(ref, 'ended', ({ phase }) => phase === 'Completed' || phase === 'Failed'),
    remove: async ref => {
      await api.delete(ref, { propagationPolicy: 'Foreground' })
      await api.waitGone(ref)
    },
    pods,
    log,
    runPod: async (name, spec) => {
      const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name }
      await api.create({ ...ref, metadata: { name, namespace }, spec })
      await api.wait<Pod>(ref, ({ status }) => ['Succeeded', 'Failed'].includes(status?.phase ?? ''))
      return log(name)
    },
  }
}

/** Installs the chart and waits until both replicas are ready, as a user does. */
export function installOperator(world: NodeWorld): Promise<void> {
  return helm(world, 'install', {})
}

/** Changes the values, and waits until both replicas have them. */
export function upgradeOperator(world: NodeWorld, values: ChartValues = {}): Promise<void> {
  return helm(world, 'upgrade', values)
}

/** Those that are not being deleted. */
export async function operatorPods({ node, namespace }: NodeWorld): Promise<Pod[]> {
  const pods = await podsOf(node, namespace)
  return pods.filter(
    ({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === chartName && !metadata.deletionTimestamp,
  )
}

async function helm({ node, namespace }: NodeWorld, verb: string, more: ChartValues): Promise<void> {
  const kubeconfig = await node.kube.kubeconfigFor({ user: 'installer', groups: ['system:masters'] })
  const values = { ...operatorValues, ...more }
  const where = ['--namespace', namespace, '--kubeconfig', kubeconfig]
  const wait = ['--wait', '--timeout', '180s']
  const { stdout, stderr, exitCode } = await runHelm([verb, chartName, chartFolder, ...where, ...wait], values)
  assert.equal(exitCode, 0, `${stderr}${stdout}\n${(await node.log()).slice(-4000)}`)
}
