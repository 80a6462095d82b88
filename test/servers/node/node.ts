import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeGuardedFolder, spawnGuarded } from '../guard.ts'
import { type Kube, startKube } from '../kube.ts'
import { nodeBinaries } from '../kube-binaries.ts'
import { apiServiceAddress } from '../kube-flags.ts'
import { formatKubeconfig } from '../kube-identities.ts'
import { trueCondition } from '../kube-object.ts'
import { operatorDefinitions } from '../operator-access.ts'
import { findFreePorts } from '../ports.ts'
import { writeNodeConfig } from './config.ts'
import { findNodeObstacle } from './obstacle.ts'
import { nodeImages } from './product-image.ts'
import { findTraces, readMachineState } from './traces.ts'

/** A control plane with a scheduler and a node that runs its pods in containers. */
export interface KubeNode {
  kube: Kube
  /** Of the Node object. */
  name: string
  /** A folder of this machine, for local volumes. */
  folder: string
  /** Ends or stops the kubelet; containers continue. */
  signalKubelet(signal: NodeJS.Signals): Promise<void>
  /** What the kubelet and containerd have logged. */
  log(): Promise<string>
  /** Ends everything and removes it. */
  stop(): Promise<void>
  /** What is left on this machine of a node that was stopped. */
  findTraces(): Promise<string[]>
  /** Of its bridge and cgroups, and of its folder: what `findTraces` looks for. */
  names: string[]
}

/** The kubelet uses a name that is an address as the node's address; any other would have to be one of a network card. */
const nodeName = '127.0.0.1'
const startTimeoutMs = 60_000
const nodeControllers = [
  'endpointslice-controller',
  'node-lifecycle-controller',
  'persistentvolume-binder-controller',
  'pod-garbage-collector-controller',
  'taint-eviction-controller',
]
/** A node counts as lost after 20 s without a sign, instead of after 50 s. */
const monitoring = ['--node-monitor-period=1s', '--node-monitor-grace-period=20s']

/** Starts all of it with the images of the project. It needs root, and a machine without `findNodeObstacle()`. */
export async function startNode(): Promise<KubeNode> {
  const obstacle = findNodeObstacle()
  if (obstacle !== undefined) throw new Error(`this machine cannot run a Kubernetes node: ${obstacle}`)
  const [binaries, images] = [await nodeBinaries(), await nodeImages()]
  const before = await readMachineState()
  const parts: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const end of parts.reverse().splice(0)) await end()
  }
  try {
    const folder = await makeGuardedFolder('node')
    parts.push(() => folder.remove())
    const kube = await startKube({
      manifests: operatorDefinitions(),
      controllers: nodeControllers,
      controllerFlags: monitoring,
    })
    parts.push(() => kube.stop())
    const kubeconfig = join(folder.path, 'kubeconfig')
    await writeFile(kubeconfig, formatKubeconfig(kube.admin), { mode: 0o600 })
    const scheduler = await startScheduler(binaries.scheduler, folder.path, kubeconfig)
    parts.push(() => scheduler.end('SIGKILL'))
    const name = `kb${randomBytes(4).toString('hex')}`
    const host = await startHost(folder.path, name, kube, binaries.kubelet, Object.values(images))
    parts.push(() => host.stop())
    await waitUntilReady(kube, host)
    return {
      kube,
      name: nodeName,
      folder: folder.path,
      signalKubelet: signal => signalKubelet(host, signal),
      log: host.log,
      stop,
      findTraces: () => findTraces([name, folder.path], before),
      names: [name, folder.path],
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startScheduler(program: string, folder: string, kubeconfig: string) {
  const [port = 0] = await findFreePorts(1)
  const address = ['--bind-address=127.0.0.1', `--secure-port=${port}`, `--cert-dir=${join(folder, 'scheduler')}`]
  const quick = ['--leader-elect=false', '--kube-api-qps=500', '--kube-api-burst=1000', '--profiling=false']
  const flags = [`--kubeconfig=${kubeconfig}`, ...address, ...quick, '--feature-gates=WatchListClient=false']
  return spawnGuarded(program, flags, { cwd: folder, logFile: join(folder, 'scheduler.log') })
}

interface Host {
  process: ChildProcess
  folder: string
  log(): Promise<string>
  stop(): Promise<void>
}

async function startHost(
  folder: string,
  name: string,
  kube: Kube,
  kubelet: string,
  images: readonly string[],
): Promise<Host> {
  const gateway = findFreeGateway()
  const [kubeletPort = 0] = await findFreePorts(1)
  await writeNodeConfig({ folder, name, gateway, kubeletPort })
  const logs = ['host.log', 'containerd.log', 'kubelet.log'].map(file => join(folder, file))
  const env = {
    PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`,
    NODE_NAME: name,
    NODE_FOLDER: folder,
    NODE_ADDRESS: nodeName,
    GATEWAY: gateway,
    API_ADDRESS: apiServiceAddress,
    API_PORT: String(kube.port),
    KUBELET: kubelet,
    IMAGE_ARCHIVES: images.join(' '),
  }
  const script = `exec bash "$1" >> "$2" 2>&1`
  const args = ['-c', script, 'sh', join(import.meta.dirname, 'host.sh'), logs[0] ?? '']
  const child = spawn('sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  const exited = once(child, 'exit')
  return {
    process: child,
    folder,
    log: async () => (await Promise.all(logs.map(file => readFile(file, 'utf8').catch(() => '')))).join('\n'),
    stop: async () => {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}

/** The first address of a network of 256 that this machine has no other address in. */
function findFreeGateway(): string {
  const used = Object.values(networkInterfaces()).flatMap(list => list?.map(({ address }) => address) ?? [])
  const networks = Array.from({ length: 256 }, (_, at) => `10.${77 + Math.floor(at / 64)}.${at % 64}`)
  const network = networks.find(each => !used.some(address => address.startsWith(`${each}.`)))
  if (network === undefined) throw new Error('this machine has no free network for pods')
  return `${network}.1`
}

async function waitUntilReady({ api }: Kube, host: Host): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  for (;;) {
    const node = await api.find({ apiVersion: 'v1', kind: 'Node', name: nodeName })
    if (node !== undefined && trueCondition(node, 'Ready') && !isTainted(node.spec)) return
    if (host.process.exitCode !== null || Date.now() > deadline) {
      throw new Error(`the node is not ready: ${JSON.stringify(node?.status)}\n${(await host.log()).slice(-6000)}`)
    }
    await sleep(100)
  }
}

/** The controllers remove the taint of a new node a moment after it is ready. */
function isTainted(spec: unknown): boolean {
  return ((spec ?? {}) as { taints?: unknown[] }).taints !== undefined
}

/** The process that the shell of the namespace has started: its number in there is another one. */
async function signalKubelet({ process: { pid } }: Host, signal: NodeJS.Signals): Promise<void> {
  const children = (parent: number) =>
    readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').then(text => text.trim().split(' ').map(Number))
  const find = async (parent: number): Promise<number | undefined> => {
    for (const child of await children(parent).catch(() => [])) {
      if (child === 0) continue
      if ((await readFile(`/proc/${child}/comm`, 'utf8')).trim() === 'kubelet') return child
      const deeper = await find(child)
      if (deeper !== undefined) return deeper
    }
    return undefined
  }
  const kubelet = await find(pid ?? 0)
  if (kubelet === undefined) throw new Error('the kubelet does not run')
  process.kill(kubelet, signal)
}
