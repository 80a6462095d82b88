import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { defaultApiGroup, resourceKinds } from '../../src/operator/crd/resource.ts'
import { configMapKind, jobKind, podKind } from '../../src/operator/job/kube-job.ts'
import { type KubeClient, openKubeClient } from '../../src/operator/kube/client.ts'
import { EventRecorder } from '../../src/operator/kube/event-recorder.ts'
import type { KubeObject, ResourceKind } from '../../src/operator/kube/object.ts'
import { LeaseClaim, leaseKind } from '../../src/operator/leader/lease-claim.ts'
import { type ChartValues, type InstalledChart, installChart } from '../servers/chart.ts'
import type { Kube } from '../servers/kube.ts'
import { shareKube } from '../servers/shared-kube.ts'
import { installStrimziDefinition } from '../servers/strimzi.ts'
import { formatRight, type Right, rightsOf } from './access-reviews.ts'

const open = new AbortController().signal
const secretKind: ResourceKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
const kinds = Object.values(resourceKinds())

/** What the operator does with the resources of a namespace. */
const work: Right[] = [
  ...kinds.flatMap(({ plural }) => [
    ...rights(['get', 'list', 'watch', 'patch', 'update'], defaultApiGroup, plural),
    ...rights(['patch'], defaultApiGroup, `${plural}/status`),
  ]),
  ...rights(['get', 'list', 'watch', 'create', 'patch', 'delete'], 'batch', 'jobs'),
  ...rights(['list', 'watch'], '', 'pods'),
  ...rights(['create', 'delete'], '', 'configmaps'),
  ...rights(['get'], '', 'namespaces'),
  ...rights(['get'], '', 'secrets'),
  ...rights(['create', 'patch'], 'events.k8s.io', 'events'),
]

/** What only one release of a cluster can own. */
const withoutShared = { crds: { install: false }, rbac: { aggregateRoles: false } }

let kube: Kube
before(async () => {
  kube = await shareKube()
})
after(() => kube?.stop())

describe('a release for its own namespace', () => {
  const use = useRelease({})

  test('has exactly the permissions of the operator in it', async () => {
    assert.deepEqual(await rightsOf(kube, use.user, use.namespace), [...work, ...leaderRights(use)].sort())
  })

  test('has no permission in another namespace or on the cluster', async () => {
    assert.deepEqual(await rightsOf(kube, use.user, use.elsewhere), [])
    assert.deepEqual(await rightsOf(kube, use.user, undefined), [])
  })

  test('the service account of jobs has no permission', async () => {
    const user = `system:serviceaccount:${use.namespace}:${use.installed.jobServiceAccount}`
    assert.deepEqual(await rightsOf(kube, user, use.namespace), [])
    assert.deepEqual(await rightsOf(kube, user, undefined), [])
  })

  test('reads a named secret, and can neither list secrets nor read another namespace', async () => {
    const { api, namespace, elsewhere } = use
    assert.equal((await api.get(secretKind, { namespace, name: 'login' }, open)).metadata.name, 'login')
    await assertForbidden(api.list(secretKind, { namespace }, open))
    await assertForbidden(api.list(secretKind, {}, open))
    await assertForbidden(api.get(secretKind, { namespace: elsewhere, name: 'login' }, open))
    await assertForbidden(watchOnce(api, secretKind, namespace, '1'))
  })

  test('creates, reads and removes ConfigMaps and Jobs', async () => {
    const { api, namespace } = use
    await api.create(configMapKind, { ...meta(configMapKind, namespace, 'file'), data: { a: 'b' } }, open)
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'machine' }] } }
    await api.create(jobKind, { ...meta(jobKind, namespace, 'job'), spec: { template } }, open)
    const jobs = await api.list(jobKind, { namespace }, open)
    assert.equal(jobs.items.length, 1)
    await assertForbidden(api.list(configMapKind, { namespace }, open))
    const pods = await api.list(podKind, { namespace }, open)
    await watchOnce(api, jobKind, namespace, jobs.resourceVersion)
    await watchOnce(api, podKind, namespace, pods.resourceVersion)
    await api.remove(jobKind, { namespace, name: 'job' }, { propagation: 'Background' }, open)
    await api.remove(configMapKind, { namespace, name: 'file' }, { propagation: 'Background' }, open)
    await assertForbidden(api.create(podKind, meta(podKind, namespace, 'pod'), open))
  })

  test('creates and updates events', async () => {
    const { api, namespace } = use
    const recorder = new EventRecorder({ api, clock: systemClock, fieldManager: 'operator', instance: 'pod-0' })
    const about = await kube.api.get({ apiVersion: 'v1', kind: 'Secret', namespace, name: 'login' })
    const happening = { type: 'Normal', reason: 'Tried', action: 'Try', note: 'A try.' } as const
    await recorder.record(about as unknown as KubeObject, happening, open)
    await recorder.record(about as unknown as KubeObject, happening, open)
    const events = await kube.api.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event', namespace })
    const [event] = events.filter(({ reason }) => reason === 'Tried')
    assert.equal((event as { series?: { count: number } }).series?.count, 2)
  })

  test('acquires, renews and releases its lease, and no other one', async () => {
    const { api, namespace, installed } = use
    const name = argument(installed, '--lease-name')
    const parts = { api, clock: systemClock, identity: 'me', leaseMs: 15_000 }
    const claim = new LeaseClaim({ ...parts, lease: { namespace, name } })
    assert.equal(await claim.claim(open), true)
    assert.equal(await claim.claim(open), true)
    await claim.release(open)
    await kube.api.create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'other', namespace },
    })
    await assertForbidden(api.get(leaseKind, { namespace, name: 'other' }, open))
    await assertForbidden(new LeaseClaim({ ...parts, lease: { namespace, name: 'other' } }).claim(open))
  })
})

describe('a release that reads clusters of Strimzi', () => {
  const use = useRelease({ strimzi: { enabled: true }, ...withoutShared })

  test('has the permission to read them, and no other one', async () => {
    await installStrimziDefinition(kube)
    const kafkas = rights(['get', 'list', 'watch'], 'kafka.strimzi.io', 'kafkas')
    assert.deepEqual(await rightsOf(kube, use.user, use.namespace), [...work, ...kafkas, ...leaderRights(use)].sort())
  })
})

describe('a release for two other namespaces', () => {
  const watched = ['watched-one', 'watched-two']
  const use = useRelease({ watchNamespaces: watched, ...withoutShared }, watched)

  test('works in these, and only leads in its own', async () => {
    for (const namespace of watched) assert.deepEqual(await rightsOf(kube, use.user, namespace), [...work].sort())
    assert.deepEqual(await rightsOf(kube, use.user, use.namespace), leaderRights(use))
    assert.deepEqual(await rightsOf(kube, use.user, undefined), [])
  })

  test('creates the service account of jobs in each of them', async () => {
    for (const namespace of watched) {
      const ref = { apiVersion: 'v1', kind: 'ServiceAccount', namespace, name: use.installed.jobServiceAccount }
      assert.equal((await kube.api.get(ref)).automountServiceAccountToken, false)
    }
  })
})

describe('a chart that may release resources in a deleted namespace', () => {
  const watched = ['doomed-one']
  const rbac = { aggregateRoles: false, releaseInDeletedNamespaces: true }
  const use = useRelease({ watchNamespaces: watched, fullnameOverride: 'releasing', ...withoutShared, rbac }, watched)

  test('reads and patches the KafkaBackups of any namespace, reads its own namespaces, and nothing else there', async () => {
    const backups = rights(['get', 'list', 'watch', 'patch', 'update'], defaultApiGroup, 'kafkabackups')
    const namespaces = watched.map(name => formatRight('get', '', 'namespaces', name))
    assert.deepEqual(await rightsOf(kube, use.user, use.elsewhere), [...backups, ...namespaces].sort())
    assert.deepEqual(await rightsOf(kube, use.user, watched[0]), [...work, ...namespaces].sort())
  })
})

describe('a release for all namespaces', () => {
  const use = useRelease({ clusterWide: true, fullnameOverride: 'wide', ...withoutShared })

  test('has exactly the permissions of the operator in each', async () => {
    assert.deepEqual(await rightsOf(kube, use.user, undefined), [...work].sort())
    assert.deepEqual(await rightsOf(kube, use.user, use.elsewhere), [...work].sort())
  })

  test('reads a named secret in any namespace, and lists secrets in none', async () => {
    const { api, namespace, elsewhere } = use
    assert.equal((await api.get(secretKind, { namespace: elsewhere, name: 'login' }, open)).metadata.name, 'login')
    await assertForbidden(api.list(secretKind, {}, open))
    await assertForbidden(api.list(secretKind, { namespace }, open))
  })
})

test('users with the roles view, edit and admin of a namespace can see or edit the four kinds', async () => {
  const namespace = await kube.makeNamespace('people')
  const own = ['view', 'edit', 'admin'].map(role => ({ role, user: `a-${role}` }))
  for (const { role, user } of own) {
    await kube.api.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: role, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  }
  const see = kinds.flatMap(({ plural }) => [
    ...rights(['get', 'list', 'watch'], defaultApiGroup, plural),
    ...rights(['get'], defaultApiGroup, `${plural}/status`),
  ])
  const edit = kinds.flatMap(({ plural }) =>
    rights(['create', 'update', 'patch', 'delete', 'deletecollection'], defaultApiGroup, plural),
  )
  const expected = { view: see, edit: [...see, ...edit], admin: [...see, ...edit] }
  for (const { role, user } of own) {
    const found = (await rightsOf(kube, user, namespace)).filter(right => right.includes(defaultApiGroup))
    assert.deepEqual(found, expected[role as keyof typeof expected].sort(), role)
  }
})

interface Release {
  namespace: string
  /** One that the release has nothing to do with. */
  elsewhere: string
  installed: InstalledChart
  /** The account's name as the server knows it. */
  user: string
  /** As the account, with the operator's own client. */
  api: KubeClient
}

function useRelease(values: ChartValues, watched: readonly string[] = []): Release {
  const use = {} as Release
  before(async () => {
    for (const name of watched) await kube.api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    use.namespace = await kube.makeNamespace('release')
    use.elsewhere = await kube.makeNamespace('elsewhere')
    for (const namespace of [use.namespace, use.elsewhere]) {
      await kube.api.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'login', namespace } })
    }
    use.installed = await installChart(kube, use.namespace, values)
    const { serviceAccount } = use.installed
    use.user = `system:serviceaccount:${use.namespace}:${serviceAccount}`
    const { url, ca, token = '' } = await kube.credentialsFor({ serviceAccount, namespace: use.namespace })
    use.api = openKubeClient({ server: url, ca: { text: ca }, token: { text: token } })
  })
  after(() => use.api?.close())
  return use
}

/** Any lease may be created, since it has no name before; its own may be read and renewed. */
function leaderRights({ installed }: Release): Right[] {
  const name = argument(installed, '--lease-name')
  const own = ['get', 'update'].map(verb => formatRight(verb, 'coordination.k8s.io', 'leases', name))
  return [...rights(['create'], 'coordination.k8s.io', 'leases'), ...own]
}

function rights(verbs: readonly string[], group: string, resource: string): Right[] {
  return verbs.map(verb => formatRight(verb, group, resource))
}

async function assertForbidden(call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, error => hasCode(error, 'KUBE_DENIED'))
}

/** Asks for a watch and takes its first event, or its end. */
async function watchOnce(api: KubeClient, kind: ResourceKind, namespace: string, version: string): Promise<void> {
  for await (const _ of api.watch(kind, { namespace }, { resourceVersion: version, timeoutMs: 1000 }, open)) return
}

function meta<T extends KubeObject>(
  { apiVersion, kind }: ResourceKind<T>,
  namespace: string,
  name: string,
): KubeObject {
  return { apiVersion, kind, metadata: { namespace, name } }
}

function argument({ args }: InstalledChart, name: string): string {
  return args.find(arg => arg.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
}
