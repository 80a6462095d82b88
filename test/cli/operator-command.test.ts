import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import type { ServeOptions } from '../../src/operator/run/serve-operator.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function optionsOf(args: string[], env: Record<string, string> = {}): Promise<ServeOptions> {
  const actions = fakeActions()
  const io = new FakeIo({ env })
  assert.equal(await main(['operator', ...args], io, actions), 0, io.stderr.text)
  return actions.calls.serveOperator?.[0] as ServeOptions
}

test('operator passes its options on, with defaults', async () => {
  assert.deepEqual(await optionsOf([], { KAFKA_BACKUP_IMAGE: 'kafka-backup:1' }), {
    apiGroup: 'kafka-backup.dev',
    namespaces: [],
    leaseName: 'kafka-backup-operator',
    workers: 4,
    strimziApi: undefined,
    progressIntervalMs: 5000,
    metricsHoldMs: 45_000,
    kubeconfig: undefined,
    health: { host: '0.0.0.0', port: 8081 },
    metrics: { host: '0.0.0.0', port: 8080, path: '/metrics' },
    job: {
      image: 'kafka-backup:1',
      serviceAccountName: 'default',
      fsGroup: 65_532,
      resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } },
    },
  })
})

test('operator accepts every option', async () => {
  const where = ['--namespace', 'a', '--namespace=b', '--api-group', 'backup.example.com', '--kubeconfig', 'k.yaml']
  const job = [
    '--job-image',
    'i:2',
    '--job-service-account',
    'runner',
    '--job-image-pull-secret',
    'pull',
    '--job-fs-group',
    'none',
    '--job-resources',
    '{}',
    '--job-pod-defaults',
    '{"priorityClassName":"batch","topologySpreadConstraints":[{"topologyKey":"zone"}]}',
  ]
  const service = ['--metrics-address', '[::1]:9', '--metrics-path', '/m', '--health-address', '127.0.0.1:0']
  const more = [
    '--no-leader-elect',
    '--workers',
    '9',
    '--strimzi-api',
    'auto',
    '--progress-interval',
    '10s',
    '--metrics-hold',
    '2m',
  ]
  assert.deepEqual(await optionsOf([...where, ...job, ...service, ...more], { KAFKA_BACKUP_IMAGE: 'other' }), {
    apiGroup: 'backup.example.com',
    namespaces: ['a', 'b'],
    leaseName: undefined,
    workers: 9,
    strimziApi: 'auto',
    progressIntervalMs: 10_000,
    metricsHoldMs: 120_000,
    kubeconfig: 'k.yaml',
    health: { host: '127.0.0.1', port: 0 },
    metrics: { host: '::1', port: 9, path: '/m' },
    job: {
      image: 'i:2',
      serviceAccountName: 'runner',
      fsGroup: null,
      imagePullSecrets: [{ name: 'pull' }],
      podDefaults: { priorityClassName: 'batch', topologySpreadConstraints: [{ topologyKey: 'zone' }] },
    },
  })
  const all = await optionsOf(['--all-namespaces', '--no-metrics', '--job-image', 'i'])
  assert.deepEqual([all.namespaces, all.metrics], ['all', undefined])
})

const refused: [string[], RegExp][] = [
  [['--job-image='], /--job-image is missing/],
  [['--namespace', 'A'], /--namespace A is not a valid namespace name/],
  [['--namespace', 'team.a'], /--namespace team\.a is not a valid namespace name/],
  [['--namespace', 'a'.repeat(64)], /is not a valid namespace name/],
  [['--namespace', 'a', '--all-namespaces'], /exclude each other/],
  [['--api-group', 'kafka'], /--api-group: "kafka" is not a valid API group name/],
  [['--api-group', 'Kafka.dev'], /is not a valid API group name/],
  [['--metrics-address', '8080'], /--metrics-address 8080 is not an address/],
  [['--health-address', 'a:99999'], /--health-address a:99999 is not an address/],
  [['--metrics-path', 'metrics'], /is not a path/],
  [['--lease-name', 'a_b'], /--lease-name a_b is not a valid Kubernetes name/],
  [['--job-fs-group', 'root'], /--job-fs-group root is not a group/],
  [['--job-resources', 'much'], /--job-resources is not a JSON object/],
  [['--job-resources', '[]'], /--job-resources is not a JSON object/],
  [['--job-resources', '{"limit":{}}'], /--job-resources: unknown field "limit": use requests, limits/],
  [['--job-resources', '{"limits":"1Gi"}'], /--job-resources: limits is not an object of amounts/],
  [['--job-resources', '{"limits":{"memory":"1 GB"}}'], /limits\.memory: "1 GB" is not an amount/],
  [['--job-pod-defaults', '{"hostNetwork":true}'], /--job-pod-defaults: unknown field "hostNetwork": use nodeSelector/],
  [['--job-pod-defaults', '{"tolerations":{}}'], /--job-pod-defaults: tolerations is not a list of objects/],
  [['--job-pod-defaults', '{"priorityClassName":1}'], /priorityClassName is not text/],
  [['--job-pod-defaults', '{"affinity":[]}'], /affinity is not an object/],
  [['--workers', '0'], /--workers 0 is not a number/],
  [['--workers', 'x'], /--workers x is not a number/],
  [['--metrics-hold', 'long'], /--metrics-hold long is not a duration/],
  [['--progress-interval', '5'], /--progress-interval 5 is not a duration/],
  [['--progress-interval', '10ms'], /is not a duration from 1s/],
  [['--job-service-account', ''], /--job-service-account {2}is not a valid Kubernetes name/],
]
for (const [args, message] of refused) {
  test(`operator ${args.join(' ')} is refused`, async () => {
    const io = new FakeIo()
    assert.equal(await main(['operator', '--job-image', 'i', ...args, '--log-format', 'text'], io, fakeActions()), 2)
    assert.match(io.stderr.text, message)
  })
}

test('operator logs one JSON object per line, and exits 0 when it is stopped', async () => {
  const io = new FakeIo()
  const actions = fakeActions({
    serveOperator: async (_, { log }, signal) => {
      log.write('info', 'it works', { namespace: 'shop', name: 'orders' })
      io.signal('SIGTERM')
      signal.throwIfAborted()
    },
  })
  assert.equal(await main(['operator', '--job-image', 'i'], io, actions), 0)
  const [line] = io.stderr.text.split('\n').map(text => text && JSON.parse(text))
  assert.partialDeepStrictEqual(line, { level: 'info', msg: 'it works', namespace: 'shop', name: 'orders' })
  const text = new FakeIo()
  await main(['operator', '--job-image', 'i', '--log-format', 'text'], text, actions)
  assert.match(text.stderr.text, /^\S+Z info: it works$/m)
  const help = new FakeIo()
  assert.equal(await main(['operator', '--help'], help, actions), 0)
  assert.match(help.stdout.text, /--log-format <format> [\s\S]*?\(choices: "text",\s+"json",\s+default:\s+"json"\)/)
})

test('operator without credentials for an API server names what it needs', async () => {
  const io = new FakeIo()
  const args = ['operator', '--job-image', 'i', '--kubeconfig', '/nowhere/config']
  assert.equal(await main(args, io, realActions), 2)
  assert.match(io.stderr.text, /cannot read the kubeconfig \/nowhere\/config/)
})

test('crds prints the five definitions with the requested API group', async () => {
  const io = new FakeIo()
  assert.equal(await main(['crds', '--api-group', 'backup.example.com'], io, realActions), 0)
  const names = [...io.stdout.text.matchAll(/^ {2}name: (\S+)$/gm)].map(([, name]) => name)
  const kinds = ['kafkabackups', 'kafkarestores', 'kafkaoffsetresets', 'kafkaoffsetrollbacks', 'kafkabackupstorages']
  assert.deepEqual(
    names,
    kinds.map(kind => `${kind}.backup.example.com`),
  )
  assert.equal(io.stdout.text.match(/^---$/gm)?.length, 5)
  const json = new FakeIo()
  assert.equal(await main(['crds', '--format', 'json'], json, realActions), 0)
  const list = JSON.parse(json.stdout.text) as { kind: string; items: { spec: { group: string } }[] }
  assert.deepEqual([list.kind, list.items.map(({ spec }) => spec.group)], ['List', Array(5).fill('kafka-backup.dev')])
})
