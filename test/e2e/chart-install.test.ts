import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { buildDefinitions } from '../../src/operator/crd/definitions.ts'
import type { Resource } from '../../src/operator/crd/resource.ts'
import { buildJob } from '../../src/operator/job/build-job.ts'
import type { JobStep } from '../../src/operator/job/job-pod.ts'
import { jobLabels } from '../../src/operator/job/names.ts'
import { numbersToTry } from '../full.ts'
import { sampleDraft } from '../operator/job/samples.ts'
import {
  type ChartValues,
  chartFolder,
  chartName,
  inOrder,
  installChart,
  renderChart,
  runHelm,
  runTemplate,
} from '../servers/chart.ts'
import { applyAll, type Kube } from '../servers/kube.ts'
import { kubeVersion } from '../servers/kube-binaries.ts'
import { type KubeObject, refOf, trueCondition } from '../servers/kube-object.ts'
import { prometheusOperatorCrds } from '../servers/prometheus-operator-crds.ts'
import { shareKube } from '../servers/shared-kube.ts'
import { chartCases, otherNamespaces, refusedCases } from './chart-cases.ts'

let kube: Kube
let namespace: string

before(async () => {
  kube = await shareKube()
  await applyAll(kube.api, await prometheusOperatorCrds())
  for (const name of otherNamespaces) {
    await kube.api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  namespace = await kube.makeNamespace('release', { 'pod-security.kubernetes.io/enforce': 'restricted' })
})
after(() => kube?.stop())

/** What helm makes of a case, once for all tests. */
const rendered = new Map<ChartValues, Promise<KubeObject[]>>()
function renderCase(values: ChartValues): Promise<KubeObject[]> {
  const objects = rendered.get(values) ?? renderChart(values, { namespace, release: 'r' })
  rendered.set(values, objects)
  return objects
}

const cases = Object.entries(chartCases)
/** Rendering finds what is wrong with the values of a case; linting looks at the chart, which is the same in all of them. */
const lintedCases = numbersToTry(cases.length)

for (const [at, [name, values]] of cases.entries()) {
  test(`with ${name}, helm reports nothing and the API server accepts every object`, async () => {
    if (lintedCases.includes(at + 1)) await assertLints(values)
    const objects = await renderCase(values)
    assert.ok(objects.some(({ kind }) => kind === 'Deployment'))
    for (const object of inOrder(objects)) await kube.api.applyDry(object)
    await createDry(podOf(objects))
  })
}

for (const [name, { values, says }] of Object.entries(refusedCases)) {
  test(`refuses ${name}`, async () => {
    const { exitCode, stderr } = await runTemplate(values)
    assert.notEqual(exitCode, 0)
    assert.match(stderr, says)
  })
}

test('renders no object twice, and all have the labels of the release', async () => {
  for (const values of Object.values(chartCases)) {
    const objects = await renderCase(values)
    const names = objects.map(object => Object.values(refOf(object)).join(' '))
    assert.equal(new Set(names).size, names.length)
    for (const { kind, metadata } of objects) {
      const { 'app.kubernetes.io/instance': instance, 'app.kubernetes.io/managed-by': by } = metadata.labels ?? {}
      assert.deepEqual([instance, by], ['r', 'Helm'], `${kind} ${metadata.name}`)
    }
  }
})

test('accepts names of namespace and release that look like numbers', async () => {
  const metrics = { serviceMonitor: { enabled: true }, podMonitor: { enabled: true }, dashboard: { enabled: true } }
  const objects = await renderChart({ metrics }, { namespace: '2024', release: '1e3' })
  const text = JSON.stringify(objects)
  assert.match(text, /"namespace":"2024"/)
  assert.doesNotMatch(text, /"namespace":\d|\[2024\]|"app.kubernetes.io\/instance":\d/)
})

test('user labels override those of the chart, except selector labels', async () => {
  const labels = { 'app.kubernetes.io/part-of': 'platform', 'app.kubernetes.io/name': 'mine' }
  const serviceMonitor = { enabled: true, labels: { team: 'monitors' } }
  const values = { commonLabels: { ...labels, team: 'data' }, podLabels: labels, metrics: { serviceMonitor } }
  const objects = await renderChart(values, { namespace })
  const find = (wanted: string) => objects.find(({ kind }) => kind === wanted)?.metadata.labels ?? {}
  for (const found of [find('Service'), podOf(objects).metadata.labels ?? {}]) {
    const { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': partOf, team } = found
    assert.deepEqual([name, partOf, team], [chartName, 'platform', 'data'])
  }
  assert.equal(find('ServiceMonitor').team, 'monitors')
})

test('a namespaced release has no cluster objects except CRDs and user roles', async () => {
  const objects = await renderChart({}, { namespace })
  const ofCluster = objects.filter(({ metadata }) => metadata.namespace === undefined)
  const others = ofCluster.filter(({ kind }) => kind !== 'CustomResourceDefinition')
  assert.deepEqual(
    others.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    [`ClusterRole ${chartName}-view`, `ClusterRole ${chartName}-edit`],
  )
})

test('an installed release runs its Deployment, and an upgrade and a second install change nothing', async () => {
  const own = await kube.makeNamespace('installed')
  const installed = await installChart(kube, own, {}, { withDeployment: true })
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: own, name: chartName }
  const first = await kube.api.wait(ref, ({ status }) => (status as { replicas?: number })?.replicas === 2)
  await installChart(kube, own, {}, { withDeployment: true })
  const second = await kube.api.get(ref)
  assert.equal(second.metadata.generation, first.metadata.generation)
  assert.equal(installed.serviceAccount, chartName)
  assert.equal(installed.jobServiceAccount, `${chartName}-jobs`)
  assert.equal(trueCondition(second, 'ReplicaFailure'), undefined)
})

test('the ServiceMonitor selects the Service of the operator in its namespace, and keeps the labels of the metrics', async () => {
  const values = {
    metrics: { path: '/m', serviceMonitor: { enabled: true, namespace: 'monitoring', interval: '17s' } },
  }
  const objects = await renderChart(values, { namespace })
  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor')
  assert.equal(monitor?.metadata.namespace, 'monitoring')
  assert.deepEqual(monitor?.spec, {
    selector: { matchLabels: { 'app.kubernetes.io/name': chartName } },
    namespaceSelector: { matchNames: [namespace] },
    endpoints: [{ port: 'metrics', path: '/m', interval: '17s', honorLabels: true }],
  })
  const service = objects.find(({ kind }) => kind === 'Service')
  assert.equal(service?.metadata.labels?.['app.kubernetes.io/name'], chartName)
  assert.equal(service?.metadata.namespace, namespace)
  const { ports } = (service?.spec ?? {}) as { ports?: { name: string; port: number }[] }
  assert.deepEqual(
    ports?.map(({ name, port }) => [name, port]),
    [['metrics', 8080]],
  )
})

test('the PodMonitor selects the pods that serve metrics, and labels them with their purpose', async () => {
  const values = { apiGroup: 'backup.example.org', metrics: { podMonitor: { enabled: true } } }
  const monitor = (await renderChart(values, { namespace })).find(({ kind }) => kind === 'PodMonitor')
  const { selector, podMetricsEndpoints } = (monitor?.spec ?? {}) as unknown as PodMonitorSpec
  const [{ port, relabelings }] = podMetricsEndpoints
  assert.equal(port, 'metrics')
  const [keep, ...named] = relabelings
  for (const [controller, purpose, serves] of [
    ['backup', 'main', true],
    ['backup', 'verify', true],
    ['backup', 'delete', false],
    ['restore', 'main', true],
    ['offset_reset', 'main', false],
    ['offset_rollback', 'main', false],
  ] as const) {
    const resource = { metadata: { name: 'r', namespace, uid: 'u' }, spec: {} } as Resource
    const step = { purpose, stage: 'whole', backupId: 'b', shards: 1 } as JobStep
    const identity = { controller, resource, apiGroup: values.apiGroup, run: 'once', step, dueMs: 0 }
    const labels = jobLabels(identity)
    for (const [name, value] of Object.entries(selector.matchLabels)) assert.equal(labels[name], value)
    const seen = new Map(Object.entries(labels).map(([name, value]) => [metaLabel(name), value]))
    const of = ({ sourceLabels }: Relabeling) => sourceLabels.map(name => seen.get(name)).join(';')
    assert.equal(new RegExp(`^(?:${keep?.regex})$`).test(keep ? of(keep) : ''), serves, `${controller} ${purpose}`)
    assert.deepEqual(
      named.map(each => [each.targetLabel, of(each)]),
      [
        ['controller', controller],
        ['resource', 'r'],
        ['purpose', purpose],
      ],
    )
  }
})

test('another API group applies to all CRDs', async () => {
  const objects = await renderChart({ apiGroup: 'backup.example.org' }, { namespace })
  const rendered = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  const built = buildDefinitions('backup.example.org')
  const byName = (one: { metadata: { name?: string } }) => one.metadata.name ?? ''
  assert.deepEqual(
    rendered.map(each => [byName(each), each.spec]).sort(),
    built.map(each => [byName(each), JSON.parse(JSON.stringify(each.spec))]).sort(),
  )
})

test('values set the thresholds of alerts, and can change or disable an alert', async () => {
  const prometheusRule = {
    enabled: true,
    thresholds: {
      ...{ missingSeconds: 90_001, slowSeconds: 14_400, overdueSeconds: 1801 },
      ...{ verifyOverdueSeconds: 3601, drillOverdueSeconds: 3602 },
    },
    alerts: {
      KafkaBackupOperatorErrors: { enabled: false },
      KafkaRestoreFailed: { severity: 'page', for: '1m', labels: { team: 'data' } },
    },
  }
  const before = await rulesOf({ metrics: { prometheusRule: { enabled: true } } })
  const after = await rulesOf({ metrics: { prometheusRule } })
  assert.deepEqual(
    [...before.keys()].filter(name => !after.has(name)),
    ['KafkaBackupOperatorErrors'],
  )
  const put = (name: string, from: number, to: number) => {
    const { expr = '' } = before.get(name) ?? {}
    assert.ok(expr.includes(String(from)), name)
    assert.equal(after.get(name)?.expr, expr.replaceAll(String(from), String(to)))
  }
  put('KafkaBackupMissing', 7200, 90_001)
  put('KafkaBackupSlow', 3600, 14_400)
  put('KafkaBackupOverdue', 7200, 1801)
  put('KafkaBackupNeverSucceeded', 7200, 1801)
  put('KafkaBackupVerifyOld', 86_400, 3601)
  put('KafkaBackupDrillOverdue', 86_400, 3602)
  const failed = after.get('KafkaRestoreFailed')
  assert.deepEqual([failed?.for, failed?.labels], ['1m', { severity: 'page', team: 'data' }])
})

test('the default alerts are those of the file', async () => {
  const file = parse(await readFile(join(chartFolder, 'files/alerts.yaml'), 'utf8')) as { groups: { rules: Rule[] }[] }
  const expected = new Map(file.groups.flatMap(({ rules }) => rules).map(rule => [rule.alert, rule]))
  const alone = { replicas: 1, leaderElection: { enabled: false } }
  assert.deepEqual(await rulesOf({ ...alone, metrics: { prometheusRule: { enabled: true } } }), expected)
  const down = (await rulesOf({ metrics: { prometheusRule: { enabled: true } } })).get('KafkaBackupOperatorDown')
  assert.match(
    down?.expr ?? '',
    /^absent\(kafka_backup_operator_leader\{lease="[\w-]+\/kafka-backup-operator"\} == 1\)$/,
  )
})

test('values set the arguments', async () => {
  const { args } = await installChart(kube, await kube.makeNamespace('arguments'), {
    clusterWide: true,
    crds: { install: false },
    rbac: { create: false, aggregateRoles: false },
    image: { repository: 'here/kafka-backup', tag: '1.2.3' },
    imagePullSecrets: [{ name: 'login' }],
    jobs: { fsGroup: 1_000_650_000, resources: { limits: { memory: '2Gi' } }, priorityClassName: 'batch' },
    metrics: { port: 9999, path: '/prometheus' },
    listenAddress: '$(POD_IP)',
    leaderElection: { leaseName: 'one' },
    workers: 3,
    extraArgs: ['-v'],
  })
  assert.deepEqual(args, [
    'operator',
    '--all-namespaces',
    '--api-group=kafka-backup.dev',
    '--job-image=here/kafka-backup:1.2.3',
    '--job-service-account=default',
    '--job-image-pull-secret=login',
    '--job-fs-group=1000650000',
    '--job-resources={"limits":{"memory":"2Gi"},"requests":{"cpu":"100m","memory":"256Mi"}}',
    '--job-pod-defaults={"priorityClassName":"batch"}',
    '--metrics-address=$(POD_IP):9999',
    '--metrics-path=/prometheus',
    '--health-address=$(POD_IP):8081',
    '--lease-name=one',
    '--workers=3',
    '-v',
  ])
})

interface Relabeling {
  sourceLabels: string[]
  regex?: string
  targetLabel?: string
}

interface PodMonitorSpec {
  selector: { matchLabels: Record<string, string> }
  podMetricsEndpoints: [{ port: string; relabelings: Relabeling[] }]
}

/** As Prometheus calls a label of a pod. */
function metaLabel(name: string): string {
  return `__meta_kubernetes_pod_label_${name.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`
}

interface Rule {
  alert: string
  expr: string
  for?: string
  labels?: Record<string, string>
}

async function rulesOf(values: ChartValues): Promise<Map<string, Rule>> {
  const object = (await renderChart(values, { namespace })).find(({ kind }) => kind === 'PrometheusRule')
  const { groups } = (object?.spec ?? { groups: [] }) as { groups: { rules: Rule[] }[] }
  return new Map(groups.flatMap(({ rules }) => rules).map(rule => [rule.alert, rule]))
}

async function assertLints(values: ChartValues): Promise<void> {
  const linted = await runHelm(['lint', '--strict', '--kube-version', kubeVersion, chartFolder], values)
  assert.equal(linted.exitCode, 0, linted.stdout + linted.stderr)
}

async function createDry(pod: KubeObject): Promise<void> {
  const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods`
  await kube.api.request('POST', `${path}?dryRun=All&fieldValidation=Strict`, pod)
}

function podOf(objects: readonly KubeObject[]): KubeObject {
  const deployment = objects.find(({ kind }) => kind === 'Deployment')
  assert.ok(deployment)
  const { template } = deployment.spec as { template: { metadata: KubeObject['metadata']; spec: object } }
  const metadata = { ...template.metadata, name: 'pod', namespace }
  // Its own account is not there, as nothing was installed; what is asked is whether Pod Security lets it in.
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...template.spec, serviceAccountName: 'default' } }
}

/** Of a NetworkPolicy, as far as the chart uses it. */
interface Peer {
  podSelector?: { matchLabels?: Record<string, string> }
  namespaceSelector?: {
    matchLabels?: Record<string, string>
    matchExpressions?: { key: string; operator: string; values: string[] }[]
  }
}
interface Rule {
  ports?: { port: number | string; protocol: string }[]
  from?: Peer[]
  to?: Peer[]
}
type Policy = KubeObject & { spec: { podSelector: Peer['podSelector']; ingress: Rule[]; egress: Rule[] } }

test('the NetworkPolicies allow everything that operator and jobs need if traffic is denied by default', async () => {
  const watched = 'team-a'
  const values = { watchNamespaces: [watched], networkPolicy: { enabled: true, jobs: { enabled: true } } }
  const objects = await renderChart(values, { namespace })
  const policies = objects.filter((object): object is Policy => object.kind === 'NetworkPolicy')
  const ofOperator = policies.find(({ metadata }) => metadata.namespace === namespace) ?? assert.fail()
  const ofJobs = policies.find(({ metadata }) => metadata.namespace === watched) ?? assert.fail()
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as KubeObject & { spec: { template: PodOf } }
  const operator = deployment.spec.template
  const job = (buildJob(sampleDraft()).spec as unknown as { template: PodOf }).template
  for (const [policy, pod] of [
    [ofOperator, operator],
    [ofJobs, job],
  ] as const) {
    assert.ok(isSelected(policy.spec.podSelector, pod.metadata.labels), `${policy.metadata.name} selects no pod`)
  }
  const progress = portOf(job, 'metrics')
  const isAllowed = (rules: Rule[], side: 'from' | 'to', port: string | number, labels = {}, from = 'anywhere') =>
    rules.some(
      rule =>
        (rule.ports === undefined || rule.ports.some(one => one.port === port)) &&
        (rule[side] === undefined || rule[side].some(peer => isPeer(peer, labels, from, namespace))),
    )
  const { ingress, egress } = ofOperator.spec
  assert.ok(
    isAllowed(egress, 'to', progress, job.metadata.labels, watched),
    'the operator asks jobs for their progress',
  )
  assert.ok(isAllowed(ofJobs.spec.ingress, 'from', 'metrics', operator.metadata.labels, namespace), 'and they answer')
  assert.equal(isAllowed(ofJobs.spec.ingress, 'from', 'metrics', { app: 'other' }, 'elsewhere'), false)
  for (const port of [53, 443, 6443]) assert.ok(isAllowed(egress, 'to', port), `the operator reaches port ${port}`)
  for (const name of ['health', 'metrics']) {
    assert.ok(portOf(operator, name) > 0)
    assert.ok(isAllowed(ingress, 'from', name), `the operator is asked on ${name}`)
  }
  for (const port of [53, 9092, 443, 8081]) assert.ok(isAllowed(ofJobs.spec.egress, 'to', port), `jobs reach ${port}`)
})

interface PodOf {
  metadata: { labels: Record<string, string> }
  spec: { containers: { ports?: { name: string; containerPort: number }[] }[] }
}

function portOf({ spec }: PodOf, name: string): number {
  const ports = spec.containers.flatMap(({ ports = [] }) => ports)
  return ports.find(port => port.name === name)?.containerPort ?? assert.fail(`no port is called ${name}`)
}

function isSelected(selector: Peer['podSelector'], labels: Record<string, string>): boolean {
  return Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value)
}

/** Without a selector of namespaces it is about pods of the policy's own. */
function isPeer(peer: Peer, labels: Record<string, string>, from: string, own: string): boolean {
  const { matchLabels = {}, matchExpressions = [] } = peer.namespaceSelector ?? {
    matchLabels: { 'kubernetes.io/metadata.name': own },
  }
  const names = { 'kubernetes.io/metadata.name': from }
  const isNamed = matchExpressions.every(({ key, values }) => key in names && values.includes(from))
  return isSelected({ matchLabels }, names) && isNamed && isSelected(peer.podSelector, labels)
}
