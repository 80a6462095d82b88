import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, type TestContext, test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { type KubeClient, openKubeClient } from '../../src/operator/kube/client.ts'
import { readKubeconfig, readServiceAccount } from '../../src/operator/kube/credentials.ts'
import { EventRecorder } from '../../src/operator/kube/event-recorder.ts'
import type { KubeApi } from '../../src/operator/kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../../src/operator/kube/object.ts'
import type { TransportOptions } from '../../src/operator/kube/transport.ts'
import { type Lease, leaseKind } from '../../src/operator/leader/lease-claim.ts'
import { runLeader } from '../../src/operator/leader/run-leader.ts'
import { openMetricsAccess } from '../../src/operator/run/metrics-access.ts'
import { Reflector, type ReflectorTiming } from '../../src/operator/watch/reflector.ts'
import { openTcpProxy } from '../fakes/tcp-proxy.ts'
import { applyAll, type Kube } from '../servers/kube.ts'
import { shareKube } from '../servers/shared-kube.ts'
import { waitFor } from '../servers/use-kube.ts'

interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}
interface Thing extends KubeObject {
  spec?: { size: number }
  status?: { phase?: string; count?: number }
}

const maps: ResourceKind<ConfigMap> = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const things: ResourceKind<Thing> = { apiVersion: 'test.kafka-backup.dev/v1', kind: 'Thing', plural: 'things' }
/** The API server keeps no cache of these: what etcd has forgotten is gone at once. */
const events: ResourceKind = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' }
const me = { fieldManager: 'kafka-backup-operator' }
const open = new AbortController().signal

const thingDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.test.kafka-backup.dev' },
  spec: {
    group: 'test.kafka-backup.dev',
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

let kube: Kube
let api: KubeClient
before(async () => {
  kube = await shareKube()
  await applyAll(kube.api, [thingDefinition])
  const kubeconfig = await kube.kubeconfigFor({ user: 'operator', groups: ['system:masters'] })
  api = openKubeClient(await readKubeconfig(kubeconfig))
})
after(async () => {
  api?.close()
  await kube?.stop()
})

test('creates, reads, applies and removes objects', async () => {
  const namespace = await kube.makeNamespace('objects')
  const made = await api.create(maps, newMap(namespace, 'a', { one: '1' }), open)
  assert.deepEqual((await api.get(maps, { namespace, name: 'a' }, open)).metadata.uid, made.metadata.uid)
  const applied = await api.apply(maps, newMap(namespace, 'a', { two: '2' }), me, open)
  assert.deepEqual(applied.data, { one: '1', two: '2' })
  await api.remove(maps, { namespace, name: 'a' }, { propagation: 'Background', uid: made.metadata.uid ?? '' }, open)
  await assert.rejects(api.get(maps, { namespace, name: 'a' }, open), { code: 'KUBE_NOT_FOUND' })
})

test('applies a status without conflict with user fields', async () => {
  const namespace = await kube.makeNamespace('status')
  const thing = { apiVersion: things.apiVersion, kind: 'Thing', metadata: { name: 'a', namespace } }
  await api.create(things, { ...thing, spec: { size: 3 } }, open)
  await api.applyStatus(things, { ...thing, status: { phase: 'Running', count: 1 } }, { ...me, force: true }, open)
  const done = { ...thing, status: { phase: 'Completed' } }
  const { spec, status, metadata } = await api.applyStatus(things, done, { ...me, force: true }, open)
  assert.deepEqual([spec, status, metadata.generation], [{ size: 3 }, { phase: 'Completed' }, 1])
  const again = await api.applyStatus(things, done, { ...me, force: true }, open)
  assert.equal(again.metadata.resourceVersion, metadata.resourceVersion, 'the same status again changes nothing')
  const { resourceVersion = '' } = metadata
  const from = (version: string, status: object) => ({
    ...{ ...thing, metadata: { ...thing.metadata, resourceVersion: version } },
    status,
  })
  await api.applyStatus(things, from(resourceVersion, { phase: 'Running' }), { ...me, force: true }, open)
  const stale = api.applyStatus(things, from(resourceVersion, { phase: 'Pending' }), { ...me, force: true }, open)
  await assert.rejects(stale, { code: 'KUBE_CONFLICT' }, 'also a forced apply')
})

test('maps every refusal of the API server to a code', async () => {
  const namespace = await kube.makeNamespace('refused')
  const map = newMap(namespace, 'a', { key: 'mine' })
  const { metadata } = await api.apply(maps, map, { fieldManager: 'somebody' }, open)
  await assert.rejects(api.create(maps, map, open), { code: 'KUBE_EXISTS', reason: 'AlreadyExists' })
  const stale = { ...map, metadata: { ...metadata, resourceVersion: '1' } }
  await assert.rejects(api.replace(maps, stale, open), { code: 'KUBE_CONFLICT' })
  const other = { propagation: 'Background', uid: 'another' } as const
  await assert.rejects(api.remove(maps, { namespace, name: 'a' }, other, open), { code: 'KUBE_CONFLICT' })

  const contested = newMap(namespace, 'a', { key: 'ours' })
  await assert.rejects(api.apply(maps, contested, me, open), {
    code: 'KUBE_CONFLICT',
    causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "somebody"', field: '.data.key' }],
  })
  assert.deepEqual((await api.apply(maps, contested, { ...me, force: true }, open)).data, { key: 'ours' })

  const thing = { apiVersion: things.apiVersion, kind: 'Thing', metadata: { name: 'a', namespace }, spec: { size: 0 } }
  await assert.rejects(api.create(things, thing, open), {
    code: 'KUBE_INVALID',
    message: /cannot create things\.test\.kafka-backup\.dev "a" in namespace .*spec\.size.*greater than or equal to 1/,
  })
  const unknown = { ...things, plural: 'nothings' }
  await assert.rejects(api.list(unknown, {}, open), { code: 'KUBE_NOT_FOUND', message: /nothings\.test/ })
})

test('reports verb, resource and namespace of a missing permission', async () => {
  const namespace = await kube.makeNamespace('denied')
  await kube.api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'poor', namespace } })
  const { url, ca, token = '' } = await kube.credentialsFor({ serviceAccount: 'poor', namespace })
  const poor = openKubeClient({ server: url, ca: { text: ca }, token: { text: token } })
  await assert.rejects(poor.list(things, { namespace }, open), error => {
    const { code, message } = error as Error & { code: string }
    assert.equal(code, 'KUBE_DENIED')
    assert.ok(message.startsWith(`cannot list things.test.kafka-backup.dev in namespace "${namespace}"`))
    assert.ok(message.includes(`system:serviceaccount:${namespace}:poor`))
    return !message.includes(token)
  })
  poor.close()
})

test('a pod uses a new service account token immediately', async () => {
  const namespace = await kube.makeNamespace('tokens')
  const folder = await mkdtemp(join(tmpdir(), 'account-'))
  const mount = async (name: string, token: string) => {
    await writeFile(join(folder, 'token'), token)
    if (name !== '') await kube.api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } })
  }
  await writeFile(join(folder, 'ca.crt'), kube.ca)
  await writeFile(join(folder, 'namespace'), namespace)
  await mount('old', 'made-up')
  const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(kube.port) }
  const pod = openKubeClient(await readServiceAccount(env, folder))
  await assert.rejects(whoAmI(pod), { code: 'KUBE_AUTH' })
  const { token = '' } = await kube.credentialsFor({ serviceAccount: 'old', namespace })
  await mount('', token)
  assert.equal(await whoAmI(pod), `system:serviceaccount:${namespace}:old`)
  await mount('new', token)
  await mount('', (await kube.credentialsFor({ serviceAccount: 'new', namespace })).token ?? '')
  assert.equal(await whoAmI(pod), `system:serviceaccount:${namespace}:new`)
  pod.close()
  await rm(folder, { recursive: true })
})

test('refuses an API server with a certificate of another CA', async () => {
  const stranger = openKubeClient({ server: kube.url, token: { text: 'secret' } })
  await assert.rejects(stranger.list(maps, {}, open), { code: 'KUBE_TLS' })
  stranger.close()
})

test('a list of many objects is complete', async () => {
  const namespace = await kube.makeNamespace('many')
  const numbers = Array.from({ length: 1010 }, (_, index) => index)
  for (let from = 0; from < numbers.length; from += 20) {
    await Promise.all(
      numbers.slice(from, from + 20).map(each => api.create(maps, newMap(namespace, `map-${each}`, {}), open)),
    )
  }
  const { items } = await api.list(maps, { namespace }, open)
  const names = new Set(items.map(({ metadata }) => metadata.name))
  assert.equal(names.size, items.length)
  assert.ok(numbers.every(each => names.has(`map-${each}`)))
  assert.deepEqual(items[0]?.kind, 'ConfigMap')
})

test('a watch returns each change and ends when requested', async () => {
  const namespace = await kube.makeNamespace('watch')
  const { resourceVersion } = await api.list(maps, { namespace }, open)
  await api.create(maps, newMap(namespace, 'a', { text: 'Grüße 🚀' }), open)
  const seen: string[] = []
  for await (const event of api.watch(maps, { namespace }, { resourceVersion, timeoutMs: 2000 }, open)) {
    if (event.type !== 'BOOKMARK') seen.push(`${event.type} ${event.object.data?.text}`)
  }
  assert.deepEqual(seen, ['ADDED Grüße 🚀'])
})

test('a store recovers from a version that etcd has compacted', async () => {
  const namespace = await kube.makeNamespace('compacted')
  await api.create(events, newEvent(namespace, 'a'), open)
  const { resourceVersion: old } = await api.list(events, { namespace }, open)
  // Up to the revision of the compaction all is forgotten, so the first change must lie before it.
  for (const name of ['b', 'c']) await api.create(events, newEvent(namespace, name), open)
  const { resourceVersion } = await api.list(events, { namespace }, open)
  const compacted = await fetch(`${kube.etcdUrl}/v3/kv/compaction`, {
    method: 'POST',
    body: JSON.stringify({ revision: resourceVersion }),
  })
  assert.equal(compacted.status, 200)
  const watching = api.watch(events, { namespace }, { resourceVersion: old, timeoutMs: 2000 }, open)
  await assert.rejects(
    async () => {
      for await (const event of watching) assert.fail(event.type)
    },
    { code: 'KUBE_GONE' },
  )

  let lists = 0
  const late: KubeApi = {
    ...api,
    list: async (kind, scope, signal) => {
      const list = await api.list(kind, scope, signal)
      return lists++ === 0 ? { items: [], resourceVersion: old } : list
    },
  }
  const failures: unknown[] = []
  const { reflector, stop } = follow(late, events, namespace, error => failures.push(error))
  await waitFor('all events are in the store', async () => reflector.store.size === 3)
  assert.deepEqual(
    failures.map(error => (error as { code?: string }).code),
    ['KUBE_GONE'],
  )
  await stop()
})

test('a store follows changes and removals across a broken connection', async () => {
  const namespace = await kube.makeNamespace('store')
  const proxy = await openTcpProxy({ targetPort: kube.port })
  const through = openThrough(proxy.port)
  const { reflector, changes, stop } = follow(through, maps, namespace)
  await reflector.waitSynced(open)
  const has = (name: string) => reflector.store.get(`${namespace}/${name}`) !== undefined
  await api.create(maps, newMap(namespace, 'early', {}), open)
  await waitFor('what is made is in the store', async () => has('early'))

  await proxy.close()
  await api.remove(maps, { namespace, name: 'early' }, { propagation: 'Background' }, open)
  await api.create(maps, newMap(namespace, 'meanwhile', {}), open)
  assert.ok(has('early') && !has('meanwhile'))
  const again = await openTcpProxy({ targetPort: kube.port, port: proxy.port })
  await waitFor('the store is as the server is', async () => !has('early') && has('meanwhile'))
  const last = changes.filter(({ key }) => key === `${namespace}/early`).at(-1)
  assert.equal(last?.after, undefined)
  await stop()
  through.close()
  await again.close()
})

test('a store recovers from a network that drops everything silently', async () => {
  const namespace = await kube.makeNamespace('silence')
  const proxy = await openTcpProxy({ targetPort: kube.port })
  const through = openThrough(proxy.port, { requestTimeoutMs: 2000 })
  const codes: string[] = []
  const onFailure = (error: unknown) => codes.push((error as { code?: string }).code ?? String(error))
  const { reflector, stop } = follow(through, maps, namespace, onFailure, { watchMs: 1000 })
  await reflector.waitSynced(open)
  proxy.rules.silent = true
  await api.create(maps, newMap(namespace, 'unheard', {}), open)
  await waitFor('the silence is noticed', async () => codes.length >= 2)
  assert.equal(reflector.store.get(`${namespace}/unheard`), undefined)
  assert.deepEqual(new Set(codes), new Set(['KUBE_UNREACHABLE']))
  proxy.rules.silent = false
  await waitFor('it is heard', async () => reflector.store.get(`${namespace}/unheard`) !== undefined)
  await stop()
  through.close()
  await proxy.close()
})

test('events are shown at their object, and repeated ones counted', async () => {
  const namespace = await kube.makeNamespace('events')
  const map = await api.create(maps, newMap(namespace, 'a', {}), open)
  const parts = { api, clock: systemClock, fieldManager: 'kafka-backup.dev/operator', instance: 'pod-1' }
  const recorder = new EventRecorder(parts)
  const failed = { type: 'Warning', reason: 'BackupFailed', action: 'Backup', note: 'exit 1' } as const
  for (let count = 0; count < 3; count++) {
    await recorder.record({ ...map, apiVersion: 'v1', kind: 'ConfigMap' }, failed, open)
  }
  const shown = await kube.api.list({ apiVersion: 'v1', kind: 'Event', namespace })
  const facts = shown.map(({ message, series, involvedObject }) => ({
    message,
    count: (series as { count: number }).count,
    uid: (involvedObject as { uid: string }).uid,
  }))
  assert.deepEqual(facts, [{ message: 'exit 1', count: 3, uid: map.metadata.uid }])
})

const timing = { leaseMs: 4000, renewDeadlineMs: 2500, retryMs: 300 }

test('a leader that stops hands over immediately', async () => {
  const namespace = await kube.makeNamespace('handover')
  const first = lead(namespace, 'first')
  await waitFor('the first leads', async () => first.isLeading())
  const second = lead(namespace, 'second')
  await systemClock.sleep(timing.leaseMs + 1000)
  assert.deepEqual([first.isLeading(), second.isLeading()], [true, false])
  await first.stop()
  const lease = () => api.get<Lease>(leaseKind, { namespace, name: 'operator' }, open)
  assert.notEqual((await lease()).spec?.holderIdentity, 'first', 'the lease was given back')
  await waitFor('the second leads', async () => second.isLeading())
  await second.stop()
  const { spec } = await lease()
  assert.deepEqual([spec?.holderIdentity ?? '', spec?.leaseTransitions], ['', 1])
})

test('a killed leader is replaced when its lease has expired', async t => {
  const namespace = await kube.makeNamespace('killed')
  const first = await startLeader(t, namespace)
  const second = lead(namespace, 'second')
  await systemClock.sleep(1000)
  assert.equal(second.isLeading(), false)
  first.kill('SIGKILL')
  const killed = systemClock.monotonic()
  await waitFor('the second leads', async () => second.isLeading())
  const waitedMs = systemClock.monotonic() - killed
  assert.ok(waitedMs > timing.leaseMs - timing.retryMs * 2 - 500, `${waitedMs} ms is too soon`)
  await second.stop()
})

test('a leader that was frozen for longer than its lease stops leading', async t => {
  const namespace = await kube.makeNamespace('frozen')
  const first = await startLeader(t, namespace)
  first.kill('SIGSTOP')
  const second = lead(namespace, 'second')
  await waitFor('the second leads', async () => second.isLeading())
  first.kill('SIGCONT')
  assert.match(await first.nextLine(), /^LeadershipLost/)
  assert.equal(second.isLeading(), true)
  await second.stop()
})

/** As the admin, over a proxy of that port. */
function openThrough(port: number, options: TransportOptions = {}): KubeClient {
  const { ca, admin } = kube
  const certificates = { clientCert: { text: admin.cert ?? '' }, clientKey: { text: admin.key ?? '' } }
  return openKubeClient({ server: `https://127.0.0.1:${port}`, ca: { text: ca }, ...certificates }, options)
}

function follow<T extends KubeObject>(
  through: KubeApi,
  kind: ResourceKind<T>,
  namespace: string,
  onFailure: (error: unknown) => void = () => {},
  timing: Partial<ReflectorTiming> = {},
) {
  const end = new AbortController()
  const changes: { key: string; after: T | undefined }[] = []
  const scope = { namespace }
  const onChange = (change: { key: string; after: T | undefined }) => changes.push(change)
  const time = { clock: systemClock, random: Math.random, timing }
  const reflector = new Reflector<T>({ api: through, ...time, kind, scope, onChange, onFailure })
  const running = reflector.run(end.signal)
  const stop = async () => {
    end.abort()
    await running
  }
  return { reflector, changes, stop }
}

/** A leader in a process of its own, once it leads. */
async function startLeader(t: TestContext, namespace: string) {
  const kubeconfig = await kube.kubeconfigFor({ user: 'operator', groups: ['system:masters'] })
  const fixture = join(import.meta.dirname, '../servers/fixtures/hold-lease.ts')
  const child = spawn(process.execPath, [fixture, kubeconfig, namespace, JSON.stringify(timing)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  assert.equal(await nextLine(), 'leading')
  return { kill: (signal: NodeJS.Signals) => child.kill(signal), nextLine }
}

function lead(namespace: string, identity: string) {
  const end = new AbortController()
  let isLeading = false
  const lease = { namespace, name: 'operator' }
  const running = runLeader(
    { api, clock: systemClock, random: Math.random, lease, identity, timing },
    async signal => {
      isLeading = true
      await systemClock.sleep(600_000, signal).catch(() => undefined)
      isLeading = false
    },
    end.signal,
  )
  const stop = async () => {
    end.abort()
    await running
  }
  return { isLeading: () => isLeading, stop }
}

async function whoAmI(client: KubeApi): Promise<string> {
  const reviews: ResourceKind<Review> = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
  }
  const review = { apiVersion: reviews.apiVersion, kind: reviews.kind, metadata: { name: '' } }
  return (await client.create(reviews, review, open)).status?.userInfo.username ?? ''
}

interface Review extends KubeObject {
  status?: { userInfo: { username: string } }
}

function newMap(namespace: string, name: string, data: Record<string, string>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
}

function newEvent(namespace: string, name: string): KubeObject {
  const regarding = { apiVersion: 'v1', kind: 'Namespace', name: namespace, namespace }
  const facts = { type: 'Normal', reason: 'Test', action: 'Test', note: name, regarding }
  const reporter = { reportingController: 'test', reportingInstance: 'test', eventTime: '2026-01-01T00:00:00.000000Z' }
  return Object.assign(
    { apiVersion: events.apiVersion, kind: 'Event', metadata: { name, namespace } },
    { ...facts, ...reporter },
  )
}

test('decides who may read the metrics by tokens and roles of the cluster', async () => {
  const namespace = await kube.makeNamespace('scraper')
  const subject = { kind: 'ServiceAccount', name: 'prometheus', namespace }
  await kube.api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'prometheus', namespace } })
  const { token } = await kube.credentialsFor({ serviceAccount: 'prometheus', namespace })
  const refused: string[] = []
  const statusOf = async (given = token) => {
    const guard = openMetricsAccess(api, systemClock, `/metrics/${namespace}`, reason => refused.push(reason))
    return (await guard(`Bearer ${given}`))?.status ?? 200
  }
  assert.equal(await statusOf(`${token?.slice(0, -8)}AAAAAAAA`), 401)
  assert.equal(await statusOf(), 403)
  const [unknown, denied] = refused
  assert.match(unknown ?? '', /^the API server does not accept a token: .*invalid bearer token/)
  assert.match(denied ?? '', new RegExp(`^user system:serviceaccount:${namespace}:prometheus may not get /metrics/`))
  const rbac = 'rbac.authorization.k8s.io'
  const name = `metrics-reader-${namespace}`
  const rules = [{ nonResourceURLs: [`/metrics/${namespace}`], verbs: ['get'] }]
  await kube.api.create({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules })
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name }
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef,
    subjects: [subject],
  }
  await kube.api.create(binding)
  await waitFor('the role to count', async () => (await statusOf()) === 200)
})
