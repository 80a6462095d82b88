import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Identity } from './certificates.ts'
import { type Etcd, startEtcd } from './etcd.ts'
import { type GuardedProcess, makeGuardedFolder, spawnGuarded } from './guard.ts'
import { type KubeApi, openKubeApi } from './kube-api.ts'
import { type KubeBinaries, kubeBinaries } from './kube-binaries.ts'
import type { KubeCredentials } from './kube-connection.ts'
import { formatApiServerFlags, formatControllerFlags, usualControllers } from './kube-flags.ts'
import {
  credentialsFor,
  formatKubeconfig,
  type Identities,
  type KubeSubject,
  makeCredentials,
  makeIdentities,
} from './kube-identities.ts'
import { type KubeObject, refOf, trueCondition } from './kube-object.ts'
import { findFreePorts } from './ports.ts'

export interface KubeOptions {
  /**
   * Applied before the controllers start. Custom resource definitions belong here where a test deletes owners of their
   * kinds: the garbage collector looks for new kinds only every 30 s.
   */
  manifests?: readonly KubeObject[]
  /** Further controllers than those that do not need a node, and flags of them. */
  controllers?: readonly string[]
  controllerFlags?: readonly string[]
}

/** What one needs to know of a running control plane, as JSON has it. */
export interface KubeServers {
  url: string
  port: number
  /** Of etcd, for what only it can do: compact its history. */
  etcdUrl: string
  /** The certificate authority's PEM. */
  ca: string
  /** Signs certificates of users. */
  authority: Identity
  /** Of a user in `system:masters`. */
  admin: KubeCredentials
  pids: { etcd: number; apiServer: number; controllerManager: number }
}

export interface Kube extends KubeServers {
  /** As the admin. */
  api: KubeApi
  /** A user by a client certificate, a service account by a token of an hour. */
  credentialsFor(subject: KubeSubject): Promise<KubeCredentials>
  /** The same as the path of a kubeconfig file. */
  kubeconfigFor(subject: KubeSubject): Promise<string>
  /** Makes a namespace with a name of its own, and gives the name once pods can be made in it. */
  makeNamespace(prefix: string, labels?: Record<string, string>): Promise<string>
  /** Whether pods of the namespace are for runners of this test file; others may use the control plane as well. */
  isOwn(namespace: string): boolean
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const startTimeoutMs = 60_000

/**
 * A real control plane on free ports of 127.0.0.1: etcd, API server with RBAC and Pod Security, controllers for jobs,
 * deployments, garbage, namespaces and service accounts. Nothing runs its pods but `startKubelet`. It starts in
 * seconds and takes half a gigabyte, so tests share one and take a namespace each.
 */
export async function startKube(options: KubeOptions = {}): Promise<Kube> {
  const binaries = await kubeBinaries()
  const folder = await makeGuardedFolder('kube')
  const parts: { stop(): Promise<void> }[] = []
  const stop = async () => {
    for (const part of parts.reverse().splice(0)) await part.stop()
    await folder.remove()
  }
  try {
    const [identities, etcd] = await Promise.all([makeIdentities(folder.path), startEtcd(folder.path)])
    parts.push(etcd)
    const started = await startServers(binaries, folder.path, identities, etcd, parts, options)
    return { ...started, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startServers(
  binaries: KubeBinaries,
  folder: string,
  identities: Identities,
  etcd: Etcd,
  parts: { stop(): Promise<void> }[],
  { manifests = [], controllers: further = [], controllerFlags: flags = [] }: KubeOptions,
): Promise<Omit<Kube, 'stop' | typeof Symbol.asyncDispose>> {
  const [port = 0, controllerPort = 0] = await findFreePorts(2)
  const url = `https://127.0.0.1:${port}`
  const start = (program: string, name: string, flags: string[]) => {
    const logFile = join(folder, `${name}.log`)
    const server = spawnGuarded(program, flags, { cwd: folder, logFile })
    parts.push({ stop: () => server.end('SIGKILL') })
    return { server, logFile }
  }
  const apiServerFlags = formatApiServerFlags(identities, etcd.url, port, folder)
  const apiServer = start(binaries.apiServer, 'kube-apiserver', apiServerFlags)
  const ca = await readFile(identities.authority.cert, 'utf8')
  const admin = await makeCredentials(identities.admin, url, ca)
  const api = openKubeApi(admin)
  parts.push({ stop: async () => api.close() })
  await waitUntilReady('kube-apiserver', apiServer, () => api.request('GET', '/readyz'))
  await applyAll(api, manifests)

  const kubeconfig = join(folder, 'admin.kubeconfig')
  await writeFile(kubeconfig, formatKubeconfig(admin), { mode: 0o600 })
  const names = [...usualControllers, ...further]
  const controllerFlags = [...formatControllerFlags(identities, kubeconfig, controllerPort, folder, names), ...flags]
  const controllers = start(binaries.controllerManager, 'kube-controller-manager', controllerFlags)
  await waitUntilReady('kube-controller-manager', controllers, () => waitForAccount(api, 'default'))

  const pids = { etcd: etcd.pid, apiServer: apiServer.server.pid, controllerManager: controllers.server.pid }
  const servers = { url, port, etcdUrl: etcd.url, ca, admin, authority: identities.authority, pids }
  return { ...describeKube(servers, api, folder), isOwn: () => true }
}

/** What a control plane offers to everyone who uses it; files that are made for that go to the folder. */
export function describeKube(
  servers: KubeServers,
  api: KubeApi,
  folder: string,
): Omit<Kube, 'isOwn' | 'stop' | typeof Symbol.asyncDispose> {
  const { url, ca, authority } = servers
  const access = openAccess(folder, subject => credentialsFor(subject, { folder, authority, api, url, ca }))
  return { ...servers, api, ...access, makeNamespace: (prefix, labels = {}) => makeNamespace(api, prefix, labels) }
}

function openAccess(
  folder: string,
  credentialsFor: Kube['credentialsFor'],
): Pick<Kube, 'credentialsFor' | 'kubeconfigFor'> {
  let files = 0
  return {
    credentialsFor,
    kubeconfigFor: async subject => {
      const file = join(folder, `user-${files++}.kubeconfig`)
      await writeFile(file, formatKubeconfig(await credentialsFor(subject)), { mode: 0o600 })
      return file
    },
  }
}

/** Applies them, and waits for definitions to be served. */
export async function applyAll(api: KubeApi, manifests: readonly KubeObject[]): Promise<void> {
  for (const manifest of manifests) await api.apply(manifest)
  const definitions = manifests.filter(({ kind }) => kind === 'CustomResourceDefinition')
  for (const each of definitions) await api.wait(refOf(each), made => trueCondition(made, 'Established') !== undefined)
}

async function makeNamespace(api: KubeApi, prefix: string, labels: Record<string, string>): Promise<string> {
  const metadata = { generateName: `${prefix}-`, labels }
  const made = await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata })
  const namespace = made.metadata.name ?? ''
  await api.wait({ apiVersion: 'v1', kind: 'ServiceAccount', namespace, name: 'default' }, () => true)
  await api.wait({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'kube-root-ca.crt' }, () => true)
  return namespace
}

/** The service account controller is among the first to work, and pods need what it makes. */
function waitForAccount(api: KubeApi, namespace: string): Promise<unknown> {
  return api.get({ apiVersion: 'v1', kind: 'ServiceAccount', namespace, name: 'default' })
}

async function waitUntilReady(
  name: string,
  { server, logFile }: { server: GuardedProcess; logFile: string },
  ask: () => Promise<unknown>,
): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      if (server.hasExited() || Date.now() > deadline) {
        throw new Error(`${name} does not start (${error}): ${(await readFile(logFile, 'utf8')).slice(-4000)}`)
      }
      await sleep(50)
    }
  }
}
