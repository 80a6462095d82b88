import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kube, startKube } from './kube.ts'
import { openKubeApi } from './kube-api.ts'
import { kubeVersion } from './kube-binaries.ts'
import type { KubeObject } from './kube-object.ts'
import { runCommand } from './run-command.ts'

const group = 'test.kafka-backup.dev'

/** The only thing about a window is that it ends after it starts. */
const windowDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `windows.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Window', plural: 'windows' },
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
              spec: {
                type: 'object',
                required: ['start', 'end'],
                properties: { start: { type: 'integer' }, end: { type: 'integer' } },
                'x-kubernetes-validations': [
                  { rule: 'self.start < self.end', message: 'the window must end after it starts' },
                ],
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

let kube: Kube
before(async () => {
  kube = await startKube({ manifests: [windowDefinition] })
})
after(() => kube?.stop())

test('the API server is the version that was asked for', async () => {
  const version = (await kube.api.request('GET', '/version')) as { gitVersion: string }
  assert.equal(version.gitVersion, `v${kubeVersion}`)
})

test('a CEL rule of a custom resource refuses a bad object with its sentence', async () => {
  const namespace = await kube.makeNamespace('cel')
  const good = newWindow(namespace, 'good', 1, 2)
  assert.equal((await kube.api.create(good)).metadata.generation, 1)
  await assert.rejects(kube.api.create(newWindow(namespace, 'bad', 2, 1)), {
    status: 422,
    reason: 'Invalid',
    message: /the window must end after it starts/,
  })
})

test('a service account may do what its role says and nothing else', async () => {
  const namespace = await kube.makeNamespace('rbac')
  await kube.api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader', namespace } })
  const credentials = await kube.credentialsFor({ serviceAccount: 'reader', namespace })
  const reader = openKubeApi(credentials)
  const maps = { apiVersion: 'v1', kind: 'ConfigMap', namespace }
  await assert.rejects(reader.list(maps), { status: 403, reason: 'Forbidden' })

  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
  const subjects = [{ kind: 'ServiceAccount', name: 'reader', namespace }]
  await kube.api.create(newRole(namespace, rules))
  await kube.api.create(newBinding(namespace, subjects))
  await untilAllowed(() => reader.list(maps))
  assert.deepEqual(
    (await reader.list(maps)).map(({ metadata }) => metadata.name),
    ['kube-root-ca.crt'],
  )
  await assert.rejects(reader.list({ ...maps, kind: 'Secret' }), { status: 403 })
  reader.close()
})

test('a kubeconfig names a user and the groups of its certificate', async () => {
  const file = await kube.kubeconfigFor({ user: 'jane', groups: ['auditors'] })
  const config = JSON.parse(await readFile(file, 'utf8'))
  const decode = (text: string) => Buffer.from(text, 'base64').toString('utf8')
  const jane = openKubeApi({
    url: config.clusters[0].cluster.server,
    ca: decode(config.clusters[0].cluster['certificate-authority-data']),
    cert: decode(config.users[0].user['client-certificate-data']),
    key: decode(config.users[0].user['client-key-data']),
  })
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} }
  const { userInfo } = (await jane.create(review)).status as { userInfo: { username: string; groups: string[] } }
  assert.equal(userInfo.username, 'jane')
  assert.ok(userInfo.groups.includes('auditors'))
  jane.close()
})

test('a token that nobody signed is refused', async () => {
  const stranger = openKubeApi({ url: kube.url, ca: kube.ca, token: 'made-up' })
  await assert.rejects(stranger.request('GET', '/api/v1/namespaces'), { status: 401 })
  stranger.close()
})

test('server-side apply leaves what another manager owns', async () => {
  const namespace = await kube.makeNamespace('apply')
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'map', namespace } }
  await kube.api.apply({ ...map, data: { one: '1' } }, 'first')
  const both = await kube.api.apply({ ...map, data: { two: '2' } }, 'second')
  assert.deepEqual(both.data, { one: '1', two: '2' })
  assert.deepEqual((await kube.api.apply({ ...map, data: {} }, 'first')).data, { two: '2' })
})

test('what a deleted custom resource owns is collected', async () => {
  const namespace = await kube.makeNamespace('garbage')
  const owner = await kube.api.create(newWindow(namespace, 'owner', 1, 2))
  const { apiVersion, kind } = owner
  const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: owner.metadata.uid ?? '' }]
  const owned = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned', namespace, ownerReferences } }
  const free = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'free', namespace } }
  await kube.api.create(owned)
  await kube.api.create(free)
  await kube.api.delete({ apiVersion, kind, namespace, name: 'owner' })
  await kube.api.waitGone({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'owned' })
  assert.ok(await kube.api.find({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'free' }))
})

test('a deleted namespace takes all with it', async () => {
  const namespace = await kube.makeNamespace('gone')
  await kube.api.create(newWindow(namespace, 'window', 1, 2))
  await kube.api.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace })
  await kube.api.waitGone({ apiVersion: 'v1', kind: 'Namespace', name: namespace })
})

test('a namespace with the restricted level refuses a privileged pod', async () => {
  const namespace = await kube.makeNamespace('strict', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  const container = { name: 'main', image: 'machine', securityContext: { privileged: true } }
  const metadata = { name: 'pod', namespace }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container] } }
  await assert.rejects(kube.api.create(pod), { status: 403, message: /violates PodSecurity "restricted:latest"/ })
})

test('a control plane and its pods are gone within seconds after their test process is killed', async () => {
  const seconds = String(100_000 + process.pid)
  const path = join(import.meta.dirname, 'fixtures', 'hold-kube.ts')
  const owner = spawn(process.execPath, [path, seconds], { stdio: ['ignore', 'pipe', 'inherit'] })
  const held = await readLine(owner.stdout)
  assert.equal(held.pids.length, 3)
  assert.ok((await findRunning(held.pids, seconds)).length >= 4)
  owner.kill('SIGKILL')
  const deadline = performance.now() + 5000
  while ((await findRunning(held.pids, seconds)).length > 0) {
    assert.ok(performance.now() < deadline, 'they still run after 5 seconds')
    await sleep(50)
  }
})

function newWindow(namespace: string, name: string, start: number, end: number): KubeObject {
  return { apiVersion: `${group}/v1`, kind: 'Window', metadata: { name, namespace }, spec: { start, end } }
}

const rbacVersion = 'rbac.authorization.k8s.io/v1'

function newRole(namespace: string, rules: unknown[]): KubeObject {
  return { apiVersion: rbacVersion, kind: 'Role', metadata: { name: 'role', namespace }, rules }
}

function newBinding(namespace: string, subjects: unknown[]): KubeObject {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'role' }
  return { apiVersion: rbacVersion, kind: 'RoleBinding', metadata: { name: 'binding', namespace }, roleRef, subjects }
}

/** The authorizer learns of a new binding by a watch. */
async function untilAllowed(act: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 5000
  for (;;) {
    const refusal = await act().then(
      () => undefined,
      (error: Error) => error,
    )
    if (refusal === undefined) return
    if (performance.now() > deadline) throw refusal
    await sleep(20)
  }
}

async function readLine(stream: NodeJS.ReadableStream): Promise<{ pids: number[] }> {
  for await (const line of createInterface(stream)) return JSON.parse(line)
  throw new Error('the fixture printed nothing')
}

/** Processes of those numbers, and those that sleep for so long. */
async function findRunning(pids: readonly number[], seconds: string): Promise<string[]> {
  const { stdout } = await runCommand('ps', ['-eo', 'pid=,stat=,args='])
  const lines = stdout.split('\n').map(line => line.trim().split(/\s+/))
  const isHeld = ([pid, stat, command, argument]: string[]) =>
    !stat?.startsWith('Z') && (pids.includes(Number(pid)) || (command === 'sleep' && argument === seconds))
  return lines.filter(isHeld).map(words => words.join(' '))
}
