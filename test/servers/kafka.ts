import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { classArchiveFlags } from './class-archive.ts'
import { type GuardedProcess, makeGuardedFolder, spawnGuarded } from './guard.ts'
import { zooKeeperJar } from './java-jar.ts'
import { defaultKafkaVersion, hasZooKeeper, kafkaLibs, logFlags, quickStartFlags, steadyFlags } from './kafka-dist.ts'
import { probeCluster } from './kafka-probe.ts'
import {
  type BrokerPlan,
  formatProperties,
  type ProxiedPort,
  planBrokerProperties,
  planZooKeeperProperties,
  type SecureProtocol,
} from './kafka-properties.ts'
import { formatStorage, newId, UNSTABLE_FEATURES } from './kafka-storage.ts'
import { findFreePorts } from './ports.ts'

export interface KafkaOptions {
  version?: string
  brokers?: 1 | 3
  /** Broker settings that win over the ones for tests. */
  properties?: Record<string, string>
  /** A second client listener of this kind beside the plain one; its settings (keys, mechanisms) go to `properties`. */
  secureListener?: SecureProtocol
  /** Further client listeners by name in capitals, for settings such as `listener.name.<name>.ssl.client.auth`. */
  listeners?: Record<string, SecureProtocol>
  /** Further flags of the JVM. */
  jvmFlags?: string[]
  /** Further entries of the class path. */
  classPath?: string[]
  /** Further environment variables of the brokers. */
  env?: Record<string, string>
  /** One more plain listener, whose clients are told to come to the port of a proxy; see `proxiedPorts`. */
  behindProxy?: boolean
  heapMb?: number
  /** The folder to make the data folder in. */
  dataIn?: string
  /** `quick` starts fast with simple compilation and collection; `steady` is what one runs a measurement on. */
  jvm?: 'quick' | 'steady'
}

export interface KafkaServer {
  bootstrapServers: string[]
  /** Of the secure listener; empty where there is none. */
  secureBootstrapServers: string[]
  /** The address of broker 0 at each listener of `listeners`. */
  listenerServers: Record<string, string>
  /** Of each broker with `behindProxy`: its own port, and the one where a proxy must listen. */
  proxiedPorts: ProxiedPort[]
  version: string
  clusterId: string
  /** The folder of jars. */
  libs: string
  /** The log folder of each broker. Broker `index` has the node id `index + 1`. */
  dataDirs: string[]
  /** What each broker printed. */
  logFiles: string[]
  /** The process id of a running broker. */
  brokerPid(index: number): number | undefined
  /** SIGKILL; the cluster notices when the broker's session times out. */
  killBroker(index: number): Promise<void>
  /** SIGTERM, waits for the controlled shutdown. */
  stopBroker(index: number): Promise<void>
  /** Starts a stopped or killed broker on its old ports and data, and waits until it takes clients. */
  startBroker(index: number): Promise<void>
  /** Kills all brokers and removes their data. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const startTimeoutMs = 60_000

/** Starts a Kafka cluster on free ports of 127.0.0.1 and returns when all its brokers take clients. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  const version = options.version ?? defaultKafkaVersion
  return startCluster(version, options, await brokerArchiveFlags(version))
}

/** The flags of the archive of a broker's classes. */
export async function brokerArchiveFlags(version: string): Promise<string[]> {
  return classArchiveFlags(`kafka-${version}`, async flags => {
    const { trainBroker } = await import('./broker-training.ts')
    await trainBroker(options => startCluster(version, options, flags), { hasPemKeys: !hasZooKeeper(version) })
  })
}

async function startCluster(version: string, options: KafkaOptions, jvmFlags: readonly string[]): Promise<KafkaServer> {
  const libs = await kafkaLibs(version)
  const launcher = await planLauncher(version, libs)
  const folder = await makeGuardedFolder('kafka', options.dataIn)
  const plans = await planBrokers(folder.path, options)
  let clusterId = newId()
  const processes: (GuardedProcess | undefined)[] = []

  const running = () => processes.filter(broker => broker && !broker.hasExited()).length
  const end = async (index: number, signal: NodeJS.Signals) => processes[index]?.end(signal)
  const launch = (plan: BrokerPlan) => {
    processes[plan.nodeId - 1] = spawnBroker(plan, launcher, jvmFlags, options)
  }
  const ready = (plan: BrokerPlan) => waitUntilReady(plan, processes[plan.nodeId - 1], running(), version)
  const stop = async () => {
    await Promise.all(plans.map((_, index) => end(index, 'SIGKILL')))
    await folder.remove()
  }

  try {
    await Promise.all(plans.map(plan => writeSettings(plan, plans, options, version)))
    const isUnstable = options.properties?.[UNSTABLE_FEATURES] === 'true'
    const formatting = { version, clusterId, isUnstable }
    if (!hasZooKeeper(version)) {
      await Promise.all(plans.map(({ dataDir, nodeId }) => formatStorage(dataDir, { ...formatting, nodeId })))
    }
    plans.forEach(launch)
    const [seen] = await Promise.all(plans.map(ready))
    clusterId = seen ?? clusterId
  } catch (error) {
    await stop()
    throw error
  }
  return {
    ...describePlans(plans),
    version,
    clusterId,
    libs,
    brokerPid: index => (processes[index]?.hasExited() === false ? processes[index].pid : undefined),
    killBroker: index => end(index, 'SIGKILL'),
    stopBroker: index => end(index, 'SIGTERM'),
    startBroker: async index => {
      const plan = plans[index]
      if (plan === undefined || processes[index]?.hasExited() === false) throw new Error(`broker ${index} cannot start`)
      launch(plan)
      await ready(plan)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function describePlans(plans: readonly BrokerPlan[]) {
  return {
    bootstrapServers: plans.map(({ clientPort }) => `127.0.0.1:${clientPort}`),
    secureBootstrapServers: plans.flatMap(({ securePorts }) =>
      securePorts.SECURE === undefined ? [] : [`127.0.0.1:${securePorts.SECURE}`],
    ),
    listenerServers: Object.fromEntries(
      Object.entries(plans[0]?.securePorts ?? {}).map(([name, port]) => [name, `127.0.0.1:${port}`]),
    ),
    proxiedPorts: plans.flatMap(({ proxied }) => proxied ?? []),
    dataDirs: plans.map(({ dataDir }) => dataDir),
    logFiles: plans.map(logFile),
  }
}

function allListeners({ secureListener, listeners = {} }: KafkaOptions): Record<string, SecureProtocol> {
  return { ...(secureListener && { SECURE: secureListener }), ...listeners }
}

async function planBrokers(folder: string, options: KafkaOptions): Promise<BrokerPlan[]> {
  const { brokers: count = 1, behindProxy } = options
  const listeners = Object.keys(allListeners(options))
  const each = 4 + listeners.length
  const ports = await findFreePorts(count * each)
  const port = (at: number) => ports[at] as number
  return Array.from({ length: count }, (_, index) => ({
    nodeId: index + 1,
    clientPort: port(index * each),
    controllerPort: port(index * each + 1),
    ...(behindProxy && { proxied: { port: port(index * each + 2), advertisedPort: port(index * each + 3) } }),
    securePorts: Object.fromEntries(listeners.map((name, at) => [name, port(index * each + 4 + at)])),
    dataDir: join(folder, `broker-${index + 1}`, 'data'),
  }))
}

async function writeSettings(
  plan: BrokerPlan,
  cluster: readonly BrokerPlan[],
  options: KafkaOptions,
  version: string,
): Promise<void> {
  await mkdir(besideData(plan, 'tmp'), { recursive: true })
  const { properties: own = {} } = options
  const properties = hasZooKeeper(version)
    ? planZooKeeperProperties(plan, allListeners(options), own)
    : planBrokerProperties(plan, cluster, allListeners(options), own)
  await writeFile(besideData(plan, 'server.properties'), formatProperties(properties))
}

interface Launcher {
  classPath: string[]
  main(plan: BrokerPlan): string[]
}

/** The class to start, with its arguments before the settings. A broker with ZooKeeper has it in its own process, and is alone. */
async function planLauncher(version: string, libs: string): Promise<Launcher> {
  const classPath = [join(libs, '*')]
  if (!hasZooKeeper(version)) return { classPath, main: () => ['kafka.Kafka'] }
  const { jar } = await zooKeeperJar(libs, version)
  return {
    classPath: [...classPath, jar],
    main: plan => ['KafkaWithZooKeeper', String(plan.controllerPort), besideData(plan, 'zookeeper')],
  }
}

function spawnBroker(
  plan: BrokerPlan,
  launcher: Launcher,
  jvmFlags: readonly string[],
  options: KafkaOptions,
): GuardedProcess {
  const jvm = [...((options.jvm ?? 'quick') === 'quick' ? quickStartFlags : steadyFlags), ...jvmFlags]
  const heap = `-Xmx${options.heapMb ?? 512}m`
  // Native libraries are unpacked into the temporary folder; there they go away with the data.
  const temporary = `-Djava.io.tmpdir=${besideData(plan, 'tmp')}`
  const classPath = [...launcher.classPath, ...(options.classPath ?? [])].join(':')
  const main = ['-cp', classPath, ...launcher.main(plan), besideData(plan, 'server.properties')]
  return spawnGuarded('java', [...jvm, heap, temporary, ...logFlags, ...(options.jvmFlags ?? []), ...main], {
    logFile: logFile(plan),
    // Some libraries write files into the working directory, such as the logs that the jar of tiered storage configures.
    cwd: besideData(plan, '.'),
    ...(options.env && { env: { ...process.env, ...options.env } }),
  })
}

/** Answers with the ID of the cluster. */
async function waitUntilReady(
  plan: BrokerPlan,
  broker: GuardedProcess | undefined,
  brokers: number,
  version: string,
): Promise<string> {
  const deadline = performance.now() + startTimeoutMs
  for (;;) {
    const seen = await probeCluster(plan.clientPort, hasZooKeeper(version))
    if (seen && seen.brokers >= brokers) return seen.clusterId
    const problem =
      broker?.hasExited() !== false ? 'has exited' : performance.now() > deadline ? 'is not ready' : undefined
    if (problem !== undefined) {
      const log = await readFile(logFile(plan), 'utf8')
      throw new Error(`Kafka broker ${plan.nodeId} ${problem}:\n${log.slice(-4000)}`)
    }
    await sleep(50)
  }
}

function logFile(plan: BrokerPlan): string {
  return besideData(plan, 'broker.log')
}

function besideData(plan: BrokerPlan, name: string): string {
  return join(plan.dataDir, '..', name)
}
