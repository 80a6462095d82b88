import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ResourceSpec } from '../../src/operator/crd/resource.ts'
import { type ObjectRef, trueCondition } from '../servers/kube-object.ts'
import type { Pod } from '../servers/kubelet-pod-spec.ts'
import { messageOf, waitFor } from '../servers/use-kube.ts'
import { type NodeWorld, operatorPods, upgradeOperator } from './node-world.ts'

/** What the cases need of the file that they run in. */
export interface NodeCases {
  world: NodeWorld
  /** A backup of a topic of 2.5 MB. */
  backup(more?: Partial<ResourceSpec>): ResourceSpec
  /** Of that topic. */
  records: number
}

type Terminated = NonNullable<
  NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]['state']['terminated']
>

/** The group that the chart gives to the volumes of jobs. */
const FS_GROUP = 65_532
const quick = { backoffLimit: 0, terminationGracePeriodSeconds: 5 }
const running = { backup: { continuous: true, commitInterval: '1s' }, job: quick }

/** Cases in which a kubelet, a container runtime or a controller of nodes does something to a pod. */
export function addNodeFailureCases({ world, backup, records }: NodeCases): void {
  const refOfPod = (pod: Pod): ObjectRef => ({
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: world.namespace,
    name: pod.metadata.name ?? '',
  })
  const runningPod = async (ref: ObjectRef): Promise<Pod> => {
    const find = async () => (await world.pods(ref)).find(({ status }) => isReady(status))
    await waitFor(`${ref.name} has a ready pod`, async () => (await find()) !== undefined)
    return (await find()) as Pod
  }

  test('a pod that is deleted commits before it ends, and its successor copies only the rest', async () => {
    const { api } = world.node.kube
    const slowly = { rateLimit: '500KiB', commitInterval: '1h' }
    const job = { terminationGracePeriodSeconds: 20 }
    const ref = await world.create('backup', 'interrupted', backup({ backup: slowly, job }))
    await waitFor('a pod that copies', async () => (await copiedRecords(world, ref)) > 0)
    const [pod] = await world.pods(ref)
    const podRef = refOfPod(pod as Pod)
    const ends: Terminated[] = []
    const watch = new AbortController()
    const seen = api.watch(
      podRef,
      { fieldSelector: `metadata.name=${podRef.name}` },
      ({ object }) => {
        const end = (object as Pod).status?.containerStatuses?.[0]?.state.terminated
        if (end) ends.push(end)
      },
      watch.signal,
    )
    await api.delete(podRef)
    await api.waitGone(podRef)
    watch.abort()
    await seen
    const [end] = ends
    assert.equal(end?.exitCode, 143, JSON.stringify(end))
    const first = JSON.parse(end.message ?? '')
    assert.equal(first.code, 'TERMINATED')
    const status = await world.untilEnd(ref)
    assert.equal(status.phase, 'Completed', status.message)
    const [successor] = await world.pods(ref)
    const { totals } = JSON.parse(messageOf(successor as Pod))
    assert.ok(first.totals.records > 0 && totals.records > 0, `${first.totals.records}, then ${totals.records}`)
    assert.deepEqual([first.totals.records + totals.records, totals.backup.records], [records, records])
  })

  test('a container that exceeds its memory limit is reported as OutOfMemory', async () => {
    // Without this the process ends by itself, at the heap limit that the operator sets.
    const podTemplate = { spec: { env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=4096' }] } }
    const resources = { limits: { memory: '24Mi' } }
    const ref = await world.create('backup', 'too-small', backup({ resources, podTemplate, job: quick }))
    const status = await world.untilEnd(ref)
    assert.deepEqual([status.phase, status.reason], ['Failed', 'OutOfMemory'], status.message)
    const [pod] = await world.pods(ref)
    assert.equal(pod?.status?.containerStatuses?.[0]?.state.terminated?.reason, 'OOMKilled')
  })

  test('a pod that the kubelet evicts is reported as Evicted', async () => {
    const limits = { 'ephemeral-storage': '1Ki' }
    const ref = await world.create('backup', 'evicted', backup({ ...running, resources: { limits } }))
    const status = await world.until(ref, 'evicted', ({ reason }) => reason === 'Evicted')
    assert.match(status.message ?? '', /ephemeral/)
    await world.remove(ref)
  })

  test('the group of the chart may write to a volume of the node', async () => {
    const path = join(world.node.folder, 'volume')
    await mkdir(path, { mode: 0o755 })
    await createLocalVolume(world, 'local', path)
    const storage = { backend: 'pvc', pvc: { claimName: 'local', subPath: 'prod' } }
    const status = await world.untilEnd(await world.create('backup', 'to-volume', backup({ storage })))
    assert.equal(status.phase, 'Completed', status.message)
    const { gid, mode } = await stat(path)
    assert.deepEqual([gid, mode & 0o2070], [FS_GROUP, 0o2070])
    assert.ok((await readdir(join(path, 'prod'))).length > 0)
  })

  test('a rotated secret appears in a running pod', async t => {
    const sasl = { mechanism: 'PLAIN', username: 'backup', passwordSecret: { name: 'rotated', key: 'password' } }
    await world.secret('rotated', { password: 'first' })
    // A broker that does not answer keeps the pod running.
    const silent = createServer(() => undefined)
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    t.after(() => silent.close())
    const bootstrapServers = [`127.0.0.1:${(silent.address() as AddressInfo).port}`]
    const secured = { bootstrapServers, security: { protocol: 'SASL_PLAINTEXT', sasl } }
    const ref = await world.create('backup', 'logs-in', backup({ kafkaCluster: secured, ...running }))
    const started = async () => (await world.pods(ref)).find(({ status }) => status?.phase === 'Running')
    await waitFor('a running pod', async () => (await started()) !== undefined)
    const pod = (await started()) as Pod
    await assertRotated(world, pod)
    await world.remove(ref)
  })

  test('the operator becomes ready with a tenth of a CPU, and an image that cannot be pulled is reported', async () => {
    await upgradeOperator(world, {
      resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '100m', memory: '512Mi' } },
      jobs: { image: { repository: '127.0.0.1:1/nowhere', tag: 'none' } },
    })
    const restarts = (await operatorPods(world)).map(({ status }) => status?.containerStatuses?.[0]?.restartCount)
    assert.deepEqual(restarts, [0, 0])
    const ref = await world.create('backup', 'no-image', backup())
    const status = await world.until(ref, 'waiting', ({ reason = '' }) =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(reason),
    )
    assert.equal(status.phase, 'Pending')
    assert.match(status.message ?? '', /127\.0\.0\.1:1\/nowhere/)
    await world.remove(ref)
    await upgradeOperator(world)
  })

  test('a lost node is reported, and a run continues when the node is back', async () => {
    const { api } = world.node.kube
    const ref = await world.create('backup', 'loses-its-node', backup(running))
    const pod = refOfPod(await runningPod(ref))
    // The operator has this from `/progress` of the pod, over the network of pods.
    await world.until(ref, 'counted', ({ progress }) => (progress?.records ?? 0) > 0)
    await world.node.signalKubelet('SIGSTOP')
    try {
      await untilLost(world, ref, pod)
    } finally {
      await world.node.signalKubelet('SIGCONT')
    }
    await api.wait<Pod>(pod, ({ status }) => isReady(status))
    await world.until(ref, 'no longer lost', ({ reason }) => reason !== 'NodeLost')
    await world.remove(ref)
  })

  test('the command that is reported for a lost node replaces its pod', async () => {
    const { api } = world.node.kube
    const ref = await world.create('backup', 'leaves-its-node', backup(running))
    const pod = refOfPod(await runningPod(ref))
    const node = { apiVersion: 'v1', kind: 'Node', name: world.node.name }
    await world.node.signalKubelet('SIGSTOP')
    try {
      const [key, value, effect] = await untilLost(world, ref, pod)
      const { taints = [] } = (await api.get(node)).spec as { taints?: object[] }
      await api.patch(node, { spec: { taints: [...taints, { key, value, effect }] } })
      await api.waitGone(pod)
      await waitFor('another pod', async () => (await world.pods(ref)).length === 1)
      await world.until(ref, 'no longer lost', ({ reason }) => reason !== 'NodeLost')
    } finally {
      // The controller of nodes adds its own taints again while the node is not ready.
      await api.patch(node, { spec: { taints: null } })
      await world.node.signalKubelet('SIGCONT')
    }
    assert.notEqual(refOfPod(await runningPod(ref)).name, pod.name)
    await world.remove(ref)
  })
}

/** Waits until the silent node of the pod is reported; gives key, value and effect of the taint in the message. */
async function untilLost({ node, until }: NodeWorld, ref: ObjectRef, pod: ObjectRef): Promise<string[]> {
  const { api } = node.kube
  await api.wait<Pod>(pod, ({ status }) => !isReady(status))
  // Only the time is simulated: the pod counts as lost five minutes after the controller has marked it.
  const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  await api.patch(pod, { status: { conditions } }, { subresource: 'status', type: 'strategic-merge' })
  const { message = '' } = await until(ref, 'reported as lost', ({ reason }) => reason === 'NodeLost')
  const [, name, ...taint] = /`kubectl taint node (\S+) (\S+)=(\S+):(\S+)`/.exec(message) ?? []
  assert.equal(name, node.name, message)
  return taint
}

/** What `/progress` of the pod says, over the network of pods. */
async function copiedRecords(world: NodeWorld, ref: ObjectRef): Promise<number> {
  const [pod] = await world.pods(ref)
  const answer = await fetch(`http://${pod?.status?.podIP}:8080/progress`).catch(() => undefined)
  return ((await answer?.json()) as { records?: number } | undefined)?.records ?? 0
}

function isReady(status: Pod['status']): boolean {
  return trueCondition({ apiVersion: '', kind: '', metadata: {}, status }, 'Ready') !== undefined
}

/** Only of a local volume the kubelet sets the group, as of one of a cloud; a `hostPath` has none. */
async function createLocalVolume({ node, namespace }: NodeWorld, name: string, path: string): Promise<void> {
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node.name] }]
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } }
  const volume = { ...common, capacity: { storage: '1Gi' }, local: { path }, nodeAffinity }
  const claim = { ...common, resources: { requests: { storage: '1Gi' } } }
  const { api } = node.kube
  await api.apply({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: volume })
  await api.apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace }, spec: claim })
}

/** Changes the secret, and waits until the file of the container has the other value. */
async function assertRotated(world: NodeWorld, pod: Pod): Promise<void> {
  const pid = await findProcess(pod.metadata.uid ?? '')
  const mounts = pod.spec.containers[0]?.volumeMounts ?? []
  const readAll = async () => {
    const folders = mounts.map(({ mountPath }) => join(`/proc/${pid}/root`, mountPath))
    const files = await Promise.all(
      folders.map(async folder => (await readdir(folder).catch(() => [])).map(name => join(folder, name))),
    )
    return Promise.all(files.flat().map(file => readFile(file, 'utf8').catch(() => '')))
  }
  assert.ok((await readAll()).includes('first'), 'the secret is a file of the container')
  await world.secret('rotated', { password: 'second' })
  await waitFor('the other value', async () => (await readAll()).includes('second'))
}

/** A process of the pod's container, by its number on this machine. */
async function findProcess(uid: string): Promise<number> {
  for (const name of await readdir('/proc')) {
    const groups = await readFile(`/proc/${name}/cgroup`, 'utf8').catch(() => '')
    const program = await readFile(`/proc/${name}/comm`, 'utf8').catch(() => '')
    if (groups.includes(uid) && /^(node|MainThread)/.test(program)) return Number(name)
  }
  throw new Error(`no process of pod ${uid}`)
}
