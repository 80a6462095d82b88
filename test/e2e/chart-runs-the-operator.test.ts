import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { resourceKinds } from '../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../src/operator/crd/status.ts'
import { chartName, installChart, renderChart } from '../servers/chart.ts'
import type { KubeObject, ObjectRef } from '../servers/kube-object.ts'
import { startKubelet } from '../servers/kubelet.ts'
import { kafkaBackupImage } from '../servers/kubelet-images.ts'
import { runCommand } from '../servers/run-command.ts'
import { shareKube } from '../servers/shared-kube.ts'
import { type KubeUse, podsOf, waitFor } from '../servers/use-kube.ts'

const { apiVersion, kind } = resourceKinds().backup
const image = 'images.example.org/kafka-backup:test'
/** All pods of this machine share its addresses, so each listens on its own one only. */
const values = { image: { repository: 'images.example.org/kafka-backup', tag: 'test' }, listenAddress: '$(POD_IP)' }

const use = {} as KubeUse
let namespace: string

before(async () => {
  use.kube = await shareKube()
  use.kubelet = await startKubelet(use.kube, { images: { [image]: kafkaBackupImage() } })
  namespace = await use.kube.makeNamespace('operator', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  await installChart(use.kube, namespace, values, { withDeployment: true })
})
after(async () => {
  await use.kubelet?.stop()
  await use.kube?.stop()
})

test('both replicas start with the arguments and the service account of the chart, and respond at its ports', async () => {
  const { metrics, health } = await portsOfChart()
  for (const ip of await operatorAddresses(2)) {
    await waitFor(`${ip} is ready`, async () => (await ask(ip, health, '/readyz'))?.status === 200)
    assert.equal((await ask(ip, health, '/healthz'))?.status, 200)
    const page = await ask(ip, metrics, '/metrics')
    assert.match((await page?.text()) ?? '', /^# TYPE kafka_backup_operator_reconciliations_total counter$/m)
  }
})

test('the pod of helm test succeeds with a ready operator, and fails with the reason without one', async () => {
  const objects = await renderChart(values, { namespace })
  const pod = objects.find(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test')
  assert.ok(pod)
  const [container] = (pod.spec as { containers: { args: string[]; env: { value: string }[] }[] }).containers
  const { metrics } = await portsOfChart()
  assert.equal(container?.env[0]?.value, `http://${chartName}.${namespace}.svc:${metrics}/metrics`)
  const [script = ''] = container?.args ?? []
  const run = (url: string) => {
    const env = { METRICS_URL: url, TIMEOUT_MS: '0' }
    return runCommand(process.execPath, ['--eval', script], { env })
  }
  const [ip = ''] = await operatorAddresses(2)
  const good = await run(`http://${ip}:${metrics}/metrics`)
  assert.deepEqual([good.exitCode, good.stderr], [0, ''])
  assert.match(good.stdout, /^operator \S+ is ready and serves/)
  const bad = await run(`http://${ip}:2/metrics`)
  assert.equal(bad.exitCode, 1)
  assert.match(bad.stderr, /ECONNREFUSED.*Is a replica ready/)
  assert.match((await run(`http://${ip}:${metrics}/`)).stderr, /status 404/)
})

test('one replica holds the Lease, and the other takes it over', async () => {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name: chartName }
  const holder = async () => {
    const { spec } = (await use.kube.api.find(lease)) ?? {}
    return ((spec ?? {}) as { holderIdentity?: string }).holderIdentity ?? ''
  }
  await waitFor('somebody leads', async () => (await holder()) !== '')
  const first = await holder()
  const [pod = ''] = first.split('_')
  await use.kube.api.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: pod })
  await waitFor('somebody else leads', async () => !['', first].includes(await holder()))
})

test('a resource becomes a Job with its image and service account, and gets status and events', async () => {
  const storage = { backend: 'pvc', pvc: { claimName: 'backups' } }
  const kafkaCluster = { bootstrapServers: ['127.0.0.1:1'] }
  const backup = await create('nightly', { kafkaCluster, topics: { include: ['*'] }, storage })
  const owned = (object: KubeObject) => object.metadata.ownerReferences?.some(({ name }) => name === 'nightly') ?? false
  const jobs = async () => (await use.kube.api.list({ apiVersion: 'batch/v1', kind: 'Job', namespace })).filter(owned)
  await waitFor('a Job', async () => (await jobs()).length === 1)
  const [job] = await jobs()
  assert.ok(job)
  const { spec } = (job.spec as { template: { spec: PodSpec } }).template
  assert.deepEqual([spec.containers[0]?.image, spec.serviceAccountName], [image, `${chartName}-jobs`])
  assert.equal(spec.automountServiceAccountToken, false)
  await waitFor('its status', async () => (await statusOf(backup)).active?.[0]?.job === job.metadata.name)
  const events = async () => use.kube.api.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event', namespace })
  await waitFor('an event', async () => (await events()).some(({ regarding }) => isAbout(regarding, 'nightly')))
})

test('reports a missing secret in the status, without permission to list secrets', async () => {
  const storage = {
    backend: 's3',
    bucket: 'backups',
    region: 'eu-west-1',
    accessKeyIdSecret: { name: 'login', key: 'id' },
    secretAccessKeySecret: { name: 'login', key: 'key' },
  }
  const kafkaCluster = { bootstrapServers: ['127.0.0.1:1'] }
  const backup = await create('waits', { kafkaCluster, topics: { include: ['*'] }, storage })
  await waitFor('the reason', async () => (await statusOf(backup)).reason === 'SecretMissing')
})

test('keeps a resource with deletionPolicy Delete until its backup is removed', async () => {
  const kafkaCluster = { bootstrapServers: ['127.0.0.1:1'] }
  const storage = { backend: 'pvc', pvc: { claimName: 'backups' } }
  const spec = { kafkaCluster, topics: { include: ['*'] }, storage, suspend: true, deletionPolicy: 'Delete' }
  const backup = await create('goes', spec)
  const finalizers = async () => (await use.kube.api.get(backup)).metadata.finalizers ?? []
  await waitFor('the finalizer', async () => (await finalizers()).includes('kafka-backup.dev/delete-backup'))
  await use.kube.api.patch(backup, { spec: { deletionPolicy: 'Retain' } })
  await waitFor('no finalizer', async () => (await finalizers()).length === 0)
})

interface PodSpec {
  serviceAccountName: string
  automountServiceAccountToken: boolean
  containers: { image: string; ports?: { name: string; containerPort: number }[] }[]
}

async function portsOfChart(): Promise<Record<string, number>> {
  const deployment = (await renderChart(values)).find(object => object.kind === 'Deployment')
  assert.ok(deployment)
  const { template } = deployment.spec as { template: { spec: PodSpec } }
  const ports = template.spec.containers.flatMap(container => container.ports ?? [])
  return Object.fromEntries(ports.map(({ name, containerPort }) => [name, containerPort]))
}

async function operatorAddresses(count: number): Promise<string[]> {
  const running = async () => {
    const pods = await podsOf(use, namespace)
    return pods.filter(
      ({ metadata, status }) => metadata.labels?.['app.kubernetes.io/name'] === chartName && status?.podIP,
    )
  }
  await waitFor(`${count} operator pods`, async () => (await running()).length === count)
  return (await running()).map(({ status }) => status?.podIP ?? '')
}

function ask(ip: string, port: number | undefined, path: string): Promise<Response | undefined> {
  return fetch(`http://${ip}:${port}${path}`).catch(() => undefined)
}

async function create(name: string, spec: object): Promise<ObjectRef> {
  await use.kube.api.create({ apiVersion, kind, metadata: { name, namespace }, spec })
  return { apiVersion, kind, namespace, name }
}

async function statusOf(ref: ObjectRef): Promise<ResourceStatus> {
  return ((await use.kube.api.get(ref)).status ?? {}) as ResourceStatus
}

function isAbout(regarding: unknown, name: string): boolean {
  return (regarding as { name?: string } | undefined)?.name === name
}
