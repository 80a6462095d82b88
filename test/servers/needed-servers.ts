import { apicurioArchiveFlags } from './apicurio.ts'
import { apicurioJar, defaultApicurioVersion } from './apicurio-dist.ts'
import { azuriteScript, azuriteVersion } from './azurite-package.ts'
import { chromiumBinary } from './chromium-binary.ts'
import { craneBinary, craneVersion } from './crane-binary.ts'
import { driverFlags } from './driver.ts'
import { etcdBinary } from './etcd-binary.ts'
import { fakeGcsBinary, fakeGcsVersion } from './fake-gcs-binary.ts'
import { gitopsBinary, kstatusVersion } from './gitops-binary.ts'
import { grafanaSchemaModules, grafanaSchemaVersion } from './grafana-schema.ts'
import { helmBinary, helmVersion } from './helm-binary.ts'
import { driverJar, zooKeeperJar } from './java-jar.ts'
import { brokerArchiveFlags } from './kafka.ts'
import {
  defaultKafkaVersion,
  hasZooKeeper,
  kafkaLibs,
  newestKafkaVersion,
  olderKafkaVersion,
  oldestKafkaVersion,
  oldestKraftVersion,
  zooKeeperKafkaVersion,
} from './kafka-dist.ts'
import { formattedStorage } from './kafka-storage.ts'
import { kfakeBinary, kfakeVersion } from './kfake-binary.ts'
import { kubeBinaries, kubeVersion, nodeBinaries } from './kube-binaries.ts'
import { mskIamClassPath } from './msk-iam.ts'
import { nginxBinary } from './nginx-binary.ts'
import { baseImageStore } from './node/base-images.ts'
import { findNodeObstacle } from './node/obstacle.ts'
import { nodeImages } from './node/product-image.ts'
import { nodePrograms } from './node/programs.ts'
import { npmCache } from './npm-cache.ts'
import { prometheusBinaries, prometheusVersion } from './prometheus-binary.ts'
import { prometheusOperatorCrds, prometheusOperatorVersion } from './prometheus-operator-crds.ts'
import { systemProgram } from './system-program.ts'
import { tieredStorageClassPath } from './tiered-storage.ts'
import { versitygwBinary, versitygwVersion } from './versitygw-binary.ts'

/** The targets of the Makefile that need servers. */
export const serverUsers = ['test', 'demo', 'bench', 'soak', 'release'] as const
export type ServerUser = (typeof serverUsers)[number]

export interface NeededServer {
  name: string
  /** What is done where it is missing. */
  action: string
  /** Programs that somebody has to install. */
  tools: readonly Tool[]
  users: readonly ServerUser[]
  /** Why this machine cannot run it; it is then not provided. */
  obstacle?(): string | undefined
  /** Finds it; where that is permitted, provides it. */
  provide(): Promise<unknown>
}

export type Tool = keyof typeof tools

/** What nothing here installs, with its usual name. */
export const tools = {
  java: 'Java 17 or later',
  javac: 'a JDK of Java 17 or later',
  mvn: 'Maven',
  go: 'Go 1.26 or later',
  npm: 'npm',
} as const

const everyone = ['test', 'demo', 'bench', 'soak'] as const
const testOnly = ['test'] as const
const testAndSoak = ['test', 'soak'] as const

/** Quick ones first; each after those that it is made of. */
export const neededServers: readonly NeededServer[] = [
  ...planDebianPrograms(),
  ...planKafka(defaultKafkaVersion, everyone),
  {
    name: `Kafka ${defaultKafkaVersion} driver class archive`,
    action: 'run the driver once and archive its classes',
    tools: ['java'],
    users: everyone,
    provide: driverFlags,
  },
  {
    name: `Apicurio Registry ${defaultApicurioVersion}`,
    action: 'download with Maven',
    tools: ['java', 'mvn'],
    users: ['test', 'demo'],
    provide: () => apicurioJar(defaultApicurioVersion),
  },
  {
    name: `Apicurio Registry ${defaultApicurioVersion} class archive`,
    action: 'start it once and archive its classes',
    tools: ['java'],
    users: ['test', 'demo'],
    provide: () => apicurioArchiveFlags(defaultApicurioVersion),
  },
  ...planKafka(newestKafkaVersion, testOnly),
  ...planKafka(olderKafkaVersion, testOnly),
  ...planKafka(oldestKraftVersion, testOnly),
  ...planKafka(zooKeeperKafkaVersion, testOnly),
  ...planKafka(oldestKafkaVersion, testOnly),
  {
    name: 'MSK IAM library',
    action: 'download with Maven and compile',
    tools: ['javac', 'mvn'],
    users: testOnly,
    provide: async () => mskIamClassPath(await kafkaLibs(defaultKafkaVersion)),
  },
  {
    name: 'npm packages',
    action: 'download for installations inside tests',
    tools: ['npm'],
    users: testOnly,
    provide: npmCache,
  },
  {
    name: `Grafana schema ${grafanaSchemaVersion}`,
    action: 'install with npm',
    tools: ['npm'],
    users: testOnly,
    provide: grafanaSchemaModules,
  },
  {
    name: `Azurite ${azuriteVersion}`,
    action: 'install with npm',
    tools: ['npm'],
    users: testAndSoak,
    provide: azuriteScript,
  },
  ...planGoPrograms(),
  ...planNode(),
]

function planDebianPrograms(): NeededServer[] {
  const plan = (name: string, users: readonly ServerUser[], provide: () => Promise<string>): NeededServer => ({
    name,
    action: 'install with apt-get',
    tools: [],
    users,
    provide,
  })
  return [
    plan('openssl', everyone, () => systemProgram('openssl', 'openssl')),
    plan('nginx', testOnly, nginxBinary),
    plan('Chromium', testOnly, chromiumBinary),
    plan('etcd', ['test', 'bench', 'soak'], etcdBinary),
    plan('kcat', ['bench'], () => systemProgram('kcat', 'kcat')),
    plan('groff', testOnly, () => systemProgram('groff', 'groff-base')),
    // For pods and images: programs of Debian that a minimal system can lack.
    plan('unshare', testAndSoak, () => systemProgram('unshare', 'util-linux')),
    plan('setpriv', testAndSoak, () => systemProgram('setpriv', 'util-linux')),
    plan('mount', testAndSoak, () => systemProgram('mount', 'mount')),
    plan('ps', testAndSoak, () => systemProgram('ps', 'procps')),
  ]
}

function planKafka(version: string, users: readonly ServerUser[]): NeededServer[] {
  return [
    {
      name: `Kafka ${version}`,
      action: 'download with Maven',
      tools: ['java', 'mvn'],
      users,
      provide: () => kafkaLibs(version),
    },
    ...(hasZooKeeper(version) ? [planLauncher(version, users)] : [planStorage(version, users)]),
    ...(version === defaultKafkaVersion ? planDriver(version, users) : []),
    {
      name: `Kafka ${version} class archive`,
      action: 'start a broker once and archive its classes',
      tools: ['java'],
      users,
      provide: () => brokerArchiveFlags(version),
    },
  ]
}

function planStorage(version: string, users: readonly ServerUser[]): NeededServer {
  return {
    name: `Kafka ${version} storage`,
    action: 'format once with its own tool',
    tools: ['java'],
    users,
    provide: () => formattedStorage(version),
  }
}

/** What starts it together with ZooKeeper. */
function planLauncher(version: string, users: readonly ServerUser[]): NeededServer {
  return {
    name: `Kafka ${version} with ZooKeeper`,
    action: 'compile',
    tools: ['javac'],
    users,
    provide: async () => zooKeeperJar(await kafkaLibs(version), version),
  }
}

/** The driver of all versions, and the storage for the group protocols that are early access. */
function planDriver(version: string, users: readonly ServerUser[]): NeededServer[] {
  return [
    {
      name: `Kafka ${version} driver`,
      action: 'compile',
      tools: ['javac'],
      users,
      provide: async () => driverJar(await kafkaLibs(version), version),
    },
    {
      name: `Kafka ${version} storage, unstable features`,
      action: 'format once with its own tool',
      tools: ['java'],
      users: users.filter(user => user === 'test'),
      provide: () => formattedStorage(version, true),
    },
    {
      name: `Kafka ${version} tiered storage`,
      action: 'download with Maven',
      tools: ['mvn'],
      users: users.filter(user => user === 'test'),
      provide: () => tieredStorageClassPath(version),
    },
  ]
}

function planGoPrograms(): NeededServer[] {
  const plan = (
    name: string,
    users: readonly ServerUser[],
    provide: () => Promise<unknown>,
    action = 'build with Go',
  ): NeededServer => ({ name, action, tools: ['go'], users, provide })
  return [
    plan(
      `Prometheus operator ${prometheusOperatorVersion} definitions`,
      testOnly,
      prometheusOperatorCrds,
      'download with Go',
    ),
    plan(`versitygw ${versitygwVersion}`, ['test', 'bench', 'soak'], versitygwBinary),
    plan(`kfake ${kfakeVersion}`, testOnly, kfakeBinary),
    plan(`fake-gcs-server ${fakeGcsVersion}`, testAndSoak, fakeGcsBinary),
    plan(`kstatus ${kstatusVersion}`, testOnly, gitopsBinary),
    plan(`Helm ${helmVersion}`, ['test', 'bench', 'release'], helmBinary),
    plan(`crane ${craneVersion}`, testOnly, craneBinary),
    plan(`Kubernetes ${kubeVersion}`, ['test', 'bench', 'soak'], kubeBinaries),
    plan(`Prometheus ${prometheusVersion}`, testOnly, prometheusBinaries),
  ]
}

/** What runs pods in containers, and the images of them; each product image is built once. */
function planNode(): NeededServer[] {
  const plan = (
    name: string,
    action: string,
    tools: readonly Tool[],
    provide: () => Promise<unknown>,
  ): NeededServer => ({
    name,
    action,
    tools,
    users: testOnly,
    obstacle: findNodeObstacle,
    provide,
  })
  return [
    plan('containerd, runc, buildah and network plugins', 'install with apt-get', [], nodePrograms),
    plan(`Kubernetes ${kubeVersion} kubelet and scheduler`, 'build with Go', ['go'], nodeBinaries),
    plan('base images', 'download with apt-get and build with buildah', ['npm'], baseImageStore),
    plan('image of kafka-backup', 'build deploy/Dockerfile with buildah', ['npm'], nodeImages),
  ]
}
