import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { resourceKinds } from '../../src/operator/crd/resource.ts'
import { chartName, installChart } from '../servers/chart.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { startKube } from '../servers/kube.ts'
import type { KubeObject, ObjectRef } from '../servers/kube-object.ts'
import { startKubelet } from '../servers/kubelet.ts'
import { kafkaBackupImage } from '../servers/kubelet-images.ts'
import type { Pod } from '../servers/kubelet-pod-spec.ts'
import { scrapeConfigsOf } from '../servers/monitored-services.ts'
import { findFreePorts } from '../servers/ports.ts'
import { type PromAlert, type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { prometheusOperatorCrds } from '../servers/prometheus-operator-crds.ts'
import { type KubeUse, podsOf } from '../servers/use-kube.ts'
import { useKafka } from './use-kafka.ts'

const { apiVersion, kind } = resourceKinds().backup
const monitoring = 'monitoring'
/** Where the resources are: the alerts have to name it, and not the namespace of the operator. */
const namespace = 'shop'
const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const quickJob = { backoffLimit: 0, terminationGracePeriodSeconds: 5 }
const waitMs = 120_000
/** What a user would set, but for times: a test does not wait for half a minute at every step. */
const values = {
  image: { repository: 'images.example.org/kafka-backup', tag: 'test' },
  // All pods of this machine share its addresses, so each listens on its own one only.
  listenAddress: '$(POD_IP)',
  watchNamespaces: [namespace],
  metrics: {
    serviceMonitor: {
      ...{ enabled: true, namespace: monitoring, interval: '1s', labels: { release: 'prometheus' } },
      // As in installations that keep the number of labels low.
      relabelings: [{ action: 'labeldrop', regex: 'service|endpoint|container' }],
    },
    prometheusRule: { enabled: true, namespace: monitoring, alerts: { KafkaBackupMissing: { for: '3s' } } },
  },
  extraArgs: ['--metrics-hold=5s'],
}

describe('the alerts of the chart', () => {
  const kafka = useKafka()
  const use = {} as KubeUse
  let home: string
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  let prometheus: Prometheus
  let old: ObjectRef
  let rule: KubeObject

  before(async () => {
    await kafka.driver.createTopic('orders', { partitions: 1 })
    await kafka.driver.seedBulk('orders', { count: 100, partitions: 1, valueBytes: 50 })
    use.kube = await startKube({ manifests: await prometheusOperatorCrds() })
    use.kubelet = await startKubelet(use.kube, {
      images: { 'images.example.org/kafka-backup:test': kafkaBackupImage() },
    })
    const { api } = use.kube
    await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: monitoring } })
    await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: restricted } })
    home = await use.kube.makeNamespace('operator', restricted)
    const spec = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } }
    await api.create({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'backups', namespace },
      spec,
    })
    await installChart(use.kube, home, values)
    // Its next run is far away, and its last success is what an operator that starts finds.
    old = await createBackup('old', {
      schedule: '0 0 1 1 *',
      kafkaCluster: { bootstrapServers: kafka.server.bootstrapServers },
    })
    const lastSuccessfulTime = minutesAgo(180)
    await api.patch(old, { status: { phase: 'Completed', lastSuccessfulTime } }, { subresource: 'status' })
    // So is a run that failed when no operator was there to be scraped.
    const found = await createBackup('found', { schedule: '0 0 1 1 *', kafkaCluster: { bootstrapServers: ['a:1'] } })
    const run = { run: 'scheduled-20261116t0200z', purpose: 'main', job: 'found-1', phase: 'Failed', reason: 'Error' }
    const history = [{ ...run, message: 'it failed', startTime: minutesAgo(3), completionTime: minutesAgo(2) }]
    await api.patch(found, { status: { phase: 'Failed', history } }, { subresource: 'status' })
    await installChart(use.kube, home, values, { withDeployment: true })
    await until('both replicas run', async () => (await operatorPods()).length === 2)
    folder = await makeGuardedFolder('rules')
    const monitored = { namespace: monitoring, name: chartName }
    rule = await api.get({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', ...monitored })
    const monitor = await api.get({ apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', ...monitored })
    const file = join(folder.path, 'rules.yaml')
    await writeFile(file, stringify(rule.spec))
    prometheus = await startPrometheus({ scrapeConfigs: await scrapeConfigsOf(api, monitor), ruleFiles: [file] })
  })
  after(async () => {
    await prometheus?.stop()
    await folder?.remove()
    await use.kubelet?.stop()
    await use.kube?.stop()
  })

  test('Prometheus finds both replicas by the ServiceMonitor, and one of them leads', async () => {
    const up = async () => (await prometheus.targets()).map(({ health }) => health)
    await until('both are scraped', async () => (await up()).join() === 'up,up')
    await until('one leads', async () => (await prometheus.query('kafka_backup_operator_leader == 1')).length === 1)
    assert.equal((await prometheus.query('kafka_backup_operator_leader{service!=""}')).length, 0)
    const [phase] = await prometheus.query('kafka_backup_resource_phase{name="old"} == 1')
    assert.equal(phase?.metric.namespace, namespace)
  })

  test('KafkaBackupOperatorDown is quiet while one leads, although relabeling dropped labels of the target', async () => {
    const { groups } = rule.spec as unknown as { groups: { rules: { alert: string; expr: string }[] }[] }
    const { expr = '' } =
      groups.flatMap(({ rules }) => rules).find(one => one.alert === 'KafkaBackupOperatorDown') ?? {}
    assert.match(expr, /^absent\(/)
    assert.deepEqual(await prometheus.query(expr), [])
    assert.equal((await prometheus.query(expr.replace('lease="', 'lease="another-'))).length, 1)
  })

  test('KafkaBackupMissing fires for an old status', async () => {
    const { labels, annotations } = await firing('KafkaBackupMissing', 'old')
    assert.deepEqual([labels.severity, labels.namespace], ['warning', namespace])
    assert.match(annotations.summary ?? '', /\/old has not succeeded for 3h/)
  })

  test('KafkaBackupFailed fires for a failure before the operator started', async () => {
    await firing('KafkaBackupFailed', 'found')
  })

  test('KafkaBackupFailed fires after the first run ever of a backup has failed', async () => {
    const [port = 0] = await findFreePorts(1)
    const broken = await createBackup('broken', { kafkaCluster: { bootstrapServers: [`127.0.0.1:${port}`] } })
    await untilPhase(broken, 'Failed')
    const { labels, annotations } = await firing('KafkaBackupFailed', 'broken')
    assert.deepEqual([labels.severity, labels.namespace], ['critical', namespace])
    assert.match(annotations.description ?? '', /KafkaBackup broken in namespace/)
  })

  test('KafkaBackupMissing resolves after a successful backup, and no other alert fires', async () => {
    await use.kube.api.patch(old, { metadata: { annotations: { 'kafka-backup.dev/trigger': 'now' } } })
    await until('it is over', async () => ((await statusOf(old)).history ?? []).length === 1)
    await untilPhase(old, 'Completed')
    await until('the alert is gone', async () => (await find('KafkaBackupMissing', 'old')) === undefined)
    assert.equal(await find('KafkaBackupFailed', 'old'), undefined)
    assert.equal((await firing('KafkaBackupFailed', 'broken')).state, 'firing')
  })

  async function createBackup(name: string, more: object): Promise<ObjectRef> {
    const storage = { backend: 'pvc', pvc: { claimName: 'backups' } }
    const spec = { topics: { include: ['orders'] }, storage, job: quickJob, ...more }
    await use.kube.api.create({ apiVersion, kind, metadata: { name, namespace }, spec })
    return { apiVersion, kind, namespace, name }
  }

  async function operatorPods(): Promise<Pod[]> {
    const isOurs = ({ metadata }: Pod) => metadata.labels?.['app.kubernetes.io/name'] === chartName
    return (await podsOf(use, home)).filter(pod => isOurs(pod) && pod.status?.podIP !== undefined)
  }

  async function statusOf(ref: ObjectRef): Promise<{ phase?: string; history?: object[] }> {
    return ((await use.kube.api.get(ref)).status ?? {}) as { phase?: string; history?: object[] }
  }

  async function untilPhase(ref: ObjectRef, phase: string): Promise<void> {
    await use.kube.api.wait(ref, ({ status }) => (status as { phase?: string })?.phase === phase, waitMs)
  }

  async function find(alertname: string, backup: string): Promise<PromAlert | undefined> {
    return (await prometheus.alerts()).find(
      ({ labels }) => labels.alertname === alertname && labels.backup_name === backup,
    )
  }

  async function firing(alertname: string, backup: string): Promise<PromAlert> {
    let found: PromAlert | undefined
    await until(`${alertname} fires`, async () => {
      found = await find(alertname, backup)
      return found?.state === 'firing'
    })
    assert.ok(found)
    return found
  }

  async function until(what: string, check: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + waitMs
    while (!(await check())) {
      assert.ok(performance.now() < deadline, `not after ${waitMs / 1000} seconds: ${what}`)
      await sleep(100)
    }
  }
})

function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString()
}
