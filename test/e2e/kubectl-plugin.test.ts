import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { controllers, resourceKinds } from '../../src/operator/crd/resource.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { startKube } from '../servers/kube.ts'
import { operatorDefinitions } from '../servers/operator-access.ts'
import { findFreePorts } from '../servers/ports.ts'
import { useOperatorWorld } from './operator-world.ts'
import { root, run } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

/** What docs/kubectl.md says that the plugin needs, and nothing else. */
const rules = [
  {
    apiGroups: ['kafka-backup.dev'],
    resources: controllers.map(one => resourceKinds()[one].plural),
    verbs: ['get', 'list', 'patch'],
  },
  { apiGroups: ['kafka-backup.dev'], resources: [resourceKinds().storage.plural], verbs: ['list'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] },
]

describe('the kubectl plugin', () => {
  const kafka = useKafka()
  const world = useOperatorWorld(() => startKube({ manifests: operatorDefinitions() }))
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  let kubeconfig: string
  let logServer: Server

  before(async () => {
    const { stage } = world
    folder = await makeGuardedFolder('kubectl')
    await kafka.driver.createTopic('orders', { partitions: 1 })
    await kafka.driver.seedBulk('orders', { count: 10, partitions: 1, valueBytes: 10 })
    const { storage } = await stage.volume('backups')
    const spec = (bootstrapServers: string[]) => ({
      kafkaCluster: { bootstrapServers },
      topics: { include: ['orders'] },
      storage,
    })
    await stage.apply('storage', 'volume', { storage })
    const [port = 0] = await findFreePorts(1)
    await stage.apply('backup', 'nightly', {
      ...spec(kafka.server.bootstrapServers as unknown as string[]),
      schedule: '0 0 1 1 *',
    })
    await stage.apply('backup', 'broken', {
      ...spec([`127.0.0.1:${port}`]),
      schedule: '0 0 1 1 *',
      job: { backoffLimit: 0 },
    })
    await allowUser()
    logServer = await serveLogs()
  })
  after(async () => {
    logServer?.closeAllConnections()
    await new Promise(resolve => (logServer ? logServer.close(resolve) : resolve(undefined)))
    await folder?.remove()
  })

  /** A user with the rights of the docs, whose context is not the current one. */
  async function allowUser(): Promise<void> {
    const { kube, namespace } = world.stage
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'on-call' }
    await kube.api.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'on-call', namespace },
      rules,
    })
    await kube.api.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'on-call', namespace },
      roleRef: role,
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    })
    const config = JSON.parse(await readFile(await kube.kubeconfigFor({ user: 'jane' }), 'utf8'))
    config.contexts.push({ name: 'night', context: { ...config.contexts[0].context, namespace } })
    config['current-context'] = 'gone'
    kubeconfig = join(folder.path, 'config')
    await writeFile(kubeconfig, JSON.stringify(config))
  }

  /** The API server asks the node for logs; the runner of pods is not one, so this answers for it. */
  async function serveLogs(): Promise<Server> {
    const { kube, kubelet } = world.stage
    const { key, cert } = await makeIdentity(folder.path, 'node')
    const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, async (request, response) => {
      const [, , namespace = '', pod = '', container] = new URL(request.url ?? '', 'https://node').pathname.split('/')
      response.end(await kubelet.logs(namespace, pod, container).catch(error => `no log: ${error}`))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: kubelet.nodeName } }
    await kube.api.create(node)
    const { port: Port } = server.address() as AddressInfo
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    }
    await kube.api.patch(
      { apiVersion: 'v1', kind: 'Node', name: kubelet.nodeName },
      { status },
      { subresource: 'status' },
    )
    return server
  }

  /** The program that kubectl finds in the PATH. */
  const kubectl = (...args: string[]) =>
    run(process.execPath, [join(root, 'bin/kubectl-kafka_backup.js'), ...args, '--context', 'night'], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
    })

  test('starts a scheduled backup now, waits for its end, and shows it', async () => {
    const triggered = await kubectl('trigger', 'kafkabackup/nightly', '--wait', '--format', 'json')
    assert.deepEqual([triggered.code, triggered.stderr], [0, ''])
    const run = JSON.parse(triggered.stdout)
    assert.deepEqual([run.phase, run.records, run.kind], ['Completed', 10, 'KafkaBackup'])
    const { stdout } = await kubectl('status', 'nightly', '--format', 'json')
    const [{ ready, recoveryPoint, phase }] = JSON.parse(stdout).resources
    assert.deepEqual([ready, recoveryPoint, phase], ['True', 'True', 'Completed'])
  })

  test('shows a storage with its location, and refuses what only runs have', async () => {
    const ref = { ...resourceKinds().storage, namespace: world.stage.namespace, name: 'volume' }
    await world.stage.until(ref, 'available', ({ conditions = [] }) =>
      conditions.some(({ type, status }) => type === 'Available' && status === 'True'),
    )
    const listed = await kubectl('status')
    assert.match(listed.stdout, /KafkaBackupStorage +volume +True +Available /)
    const described = await kubectl('describe', 'storage/volume')
    assert.deepEqual([described.code, described.stderr], [0, ''])
    assert.match(described.stdout, /Used by: +0 resources\n {2}Location: +pvc backups\n/)
    const refused = await kubectl('trigger', 'storage/volume')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /a KafkaBackupStorage has no runs/)
  })

  test('fails with the run, and describes the cause, the runs, the pods and the events', async () => {
    const triggered = await kubectl('trigger', 'broken', '--wait')
    assert.equal(triggered.code, 1, triggered.stdout + triggered.stderr)
    assert.match(triggered.stdout, /KafkaBackup broken: run trigger-\w+ is Failed\..*KAFKA_UNREACHABLE/)
    const described = await kubectl('describe', 'backup/broken')
    assert.equal(described.code, 0, described.stderr)
    assert.match(described.stdout, /^KafkaBackup broken in namespace/)
    assert.match(described.stdout, /\nProblems\n {2}Succeeded \(KAFKA_UNREACHABLE\)/)
    assert.match(described.stdout, /RecoveryPoint \(NeverSucceeded\)/)
    assert.match(described.stdout, /\n {2}trigger-\w+ +main +Failed/)
    assert.match(described.stdout, /Failed +\S+ +Error, exit code 1/)
    assert.match(described.stdout, /Warning +BackupFailed/)
    assert.match(described.stdout, /kubectl kafka-backup logs kafkabackup\/broken -n /)
    const listed = await kubectl()
    assert.match(listed.stdout, /\n\nKafkaBackup broken: NeverSucceeded: /)
    assert.ok(listed.stdout.indexOf('broken') < listed.stdout.indexOf('nightly'), 'the one with trouble comes first')
  })

  test('prints the log of the newest pod, and follows a run from its trigger to its end', async () => {
    const logs = await kubectl('logs', 'broken')
    assert.equal(logs.code, 0, logs.stderr)
    assert.match(logs.stdout, /KAFKA_UNREACHABLE/)
    const started = await kubectl('trigger', 'nightly')
    assert.match(started.stdout, /run trigger-\w+ has started/)
    const followed = await kubectl('logs', 'nightly', '--follow')
    assert.deepEqual([followed.code, followed.stderr], [0, ''])
    const [, name] = /run (trigger-\w+) has started/.exec(started.stdout) ?? []
    const { stdout } = await kubectl('describe', 'nightly', '--format', 'json')
    assert.deepEqual([JSON.parse(stdout).runs[0].run, JSON.parse(stdout).runs[0].phase], [name, 'Completed'])
  })

  test('names what does not exist, what is ambiguous and what is denied', async () => {
    const missing = await kubectl('describe', 'backup/gone')
    assert.deepEqual([missing.code, missing.stdout], [1, ''])
    assert.match(missing.stderr, /there is no resource backup\/gone in namespace/)
    const type = await kubectl('describe', 'topic/orders')
    assert.equal(type.code, 2)
    assert.match(type.stderr, /"topic\/orders" is not a resource: use NAME or TYPE\/NAME/)
    const denied = await kubectl('status', '--all-namespaces')
    assert.equal(denied.code, 1)
    assert.match(denied.stderr, /cannot list kafka\w+\.kafka-backup\.dev in all namespaces/)
    const useless = await kubectl('status', '--follow')
    assert.equal(useless.code, 2)
    assert.match(useless.stderr, /--follow is an option of `kubectl logs`/)
  })
})
