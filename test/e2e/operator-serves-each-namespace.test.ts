import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { resourceKinds } from '../../src/operator/crd/resource.ts'
import type { ResourceStatus } from '../../src/operator/crd/status.ts'
import { type Kube, startKube } from '../servers/kube.ts'
import type { KubeObject } from '../servers/kube-object.ts'
import { type Kubelet, startKubelet } from '../servers/kubelet.ts'
import { type Operator, startOperator } from '../servers/operator.ts'
import { installOperatorAccess, type OperatorAccess, operatorDefinitions } from '../servers/operator-access.ts'
import { waitFor } from '../servers/use-kube.ts'

const { apiVersion, kind } = resourceKinds().backup
const { storage: storages } = resourceKinds()

describe('the operator serves each namespace independently', () => {
  let kube: Kube
  let kubelet: Kubelet
  let operator: Operator
  let [own, locked, doomed] = ['', '', '']

  before(async () => {
    // Its own: an operator for all namespaces would work for other tests, too. As after an upgrade without the new CRD.
    const isStorage = ({ metadata }: KubeObject) => metadata.name === `${storages.plural}.kafka-backup.dev`
    kube = await startKube({ manifests: operatorDefinitions().filter(one => !isStorage(one)) })
    // It knows no image, so pods only wait; but it ends those that are deleted.
    kubelet = await startKubelet(kube)
    own = await kube.makeNamespace('own')
    locked = await kube.makeNamespace('locked')
    doomed = await kube.makeNamespace('doomed')
    const { account, args } = await installOperatorAccess(kube, own, { watchNamespaces: [own, locked] })
    await kube.api.delete(binding(locked))
    await start(own, account, args)
  })
  after(async () => {
    await operator?.[Symbol.asyncDispose]()
    await kubelet?.stop()
    await kube?.stop()
  })

  const start = async (namespace: string, account: OperatorAccess['account'], args: readonly string[]) => {
    const credentials = await kube.credentialsFor(account)
    operator = await startOperator({ credentials, namespace, args: [...args, '--metrics-hold=0s'] })
  }

  const binding = (namespace: string) => ({
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
    ...{ namespace, name: 'kafka-backup-operator' },
  })

  const put = async (namespace: string, name: string, more: object = {}) => {
    const spec = {
      kafkaCluster: { bootstrapServers: ['127.0.0.1:1'] },
      topics: { include: ['*'] },
      storage: { backend: 's3', bucket: 'backups', region: 'eu-central-1' },
      ...more,
    }
    await kube.api.apply({ apiVersion, kind, metadata: { name, namespace }, spec })
    return { apiVersion, kind, namespace, name }
  }

  const untilStarted = (namespace: string, name: string) =>
    kube.api.wait<KubeObject & { status?: ResourceStatus }>(
      { apiVersion, kind, namespace, name },
      ({ status }) => (status?.active?.length ?? 0) > 0,
    )

  test('reports an unreadable namespace, and serves the others', async () => {
    await operator.waitReady()
    await put(own, 'orders')
    await put(locked, 'orders')
    await untilStarted(own, 'orders')
    const { status, body } = await operator.probe('/readyz')
    assert.equal(status, 200)
    assert.match(JSON.stringify(body), new RegExp(`"degraded":.*forbidden.*${locked}`))
    const readable = 'kafka_backup_operator_namespace_readable'
    assert.deepEqual(
      [await operator.sample(readable, { namespace: own }), await operator.sample(readable, { namespace: locked })],
      [1, 0],
    )
    assert.equal((await kube.api.list({ apiVersion: 'batch/v1', kind: 'Job', namespace: locked })).length, 0)
    const { name } = binding(locked)
    const given = await kube.api.get<KubeObject & { roleRef: unknown; subjects: unknown }>(binding(own))
    await kube.api.create({ ...given, metadata: { name, namespace: locked } })
    await untilStarted(locked, 'orders')
    await operator.untilSample(readable, { namespace: locked }, 1)
  })

  test('without the CRD of KafkaBackupStorage only resources that refer to one wait, and say why', async () => {
    const ref = await put(own, 'refers', { storage: undefined, storageRef: { name: 'minio' } })
    const { status } = await kube.api.wait<KubeObject & { status?: ResourceStatus }>(
      ref,
      one => one.status?.reason === 'StorageUnknown',
    )
    assert.match(
      status?.message ?? '',
      /KafkaBackupStorage resources cannot be read: .*Install the CustomResourceDefinition/,
    )
    assert.match(JSON.stringify((await operator.probe('/readyz')).body), new RegExp(`"degraded":.*${storages.plural}`))
    assert.match(
      await operator.log(),
      new RegExp(`does not know ${storages.plural}.*only resources without storageRef,`),
    )
  })

  test('a deleted namespace is not blocked by a resource with deletionPolicy Delete', async () => {
    await operator.stop()
    const central = await kube.makeNamespace('central')
    const { account, args } = await installOperatorAccess(kube, central, {
      clusterWide: true,
      fullnameOverride: 'central',
    })
    await start(central, account, args)
    const job = { terminationGracePeriodSeconds: 5 }
    const ref = await put(doomed, 'orders', { deletionPolicy: 'Delete', job })
    await untilStarted(doomed, 'orders')
    await kube.api.wait(ref, ({ metadata }) => (metadata.finalizers ?? []).length > 0)
    await kube.api.delete({ apiVersion: 'v1', kind: 'Namespace', name: doomed })
    await kube.api.waitGone({ apiVersion: 'v1', kind: 'Namespace', name: doomed }, 120_000)
    await waitFor('the log of it', async () =>
      /Its data stays in the storage.*kafka-backup delete --path s3:\/\/backups --backup-id orders/.test(
        await operator.log(),
      ),
    )
  })

  test('a deleted namespace is not blocked if the operator lost its Role there first', async () => {
    await operator.stop()
    const [home, lost] = [await kube.makeNamespace('home'), await kube.makeNamespace('lost')]
    const { account, args } = await installOperatorAccess(kube, home, {
      watchNamespaces: [home, lost],
      fullnameOverride: 'home',
      rbac: { aggregateRoles: false, releaseInDeletedNamespaces: true },
    })
    await start(home, account, args)
    const ref = await put(lost, 'orders', { deletionPolicy: 'Delete', job: { terminationGracePeriodSeconds: 5 } })
    await untilStarted(lost, 'orders')
    await kube.api.wait(ref, ({ metadata }) => (metadata.finalizers ?? []).length > 0)
    // Kubernetes deletes the objects of a namespace in any order; this is the worst.
    await kube.api.delete({ ...binding(lost), name: 'home' })
    await kube.api.delete({ apiVersion: 'v1', kind: 'Namespace', name: lost })
    await kube.api.waitGone({ apiVersion: 'v1', kind: 'Namespace', name: lost }, 120_000)
    await waitFor('the log of it', async () =>
      /Its data stays in the storage.*kafka-backup delete --path s3:\/\/backups --backup-id orders/.test(
        await operator.log(),
      ),
    )
  })
})
