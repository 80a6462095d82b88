import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { fakeGroup, serveGroups } from '../fakes/fake-groups.ts'
import type { Place } from './commands.ts'
import { append, type HonestArchive, type Objects, OTHER, PLAIN, SEALED, sourceTopics } from './honest-archive.ts'

/** A folder with the hostile archive and the honest target, a cluster and a registry that watch who writes. */
export interface Stage extends AsyncDisposable {
  root: string
  registryUrl: string
  place(backupId: string, location: string): Place
  /** Writes an archive to a folder of its own. */
  lay(objects: Objects): string
  /** A copy of it, for a command that changes it. */
  copyOf(location: string): string
  /** Restores the honest target and returns its content. */
  layTarget(): { path: string; objects: Objects }
  /** Names of the writing requests that brokers and registry got since the last call. */
  takeWrites(): string[]
}

const writing = ['produce', 'offsetCommit', 'createTopics', 'deleteTopics', 'initProducerId', 'deleteGroups'] as const
const alsoWriting = ['incrementalAlterConfigs', 'offsetDelete'] as const

const mapped = {
  topic: 'orders',
  partition: 0,
  offset: 0,
  target_topic: 'orders',
  target_partition: 0,
  target_offset: 0,
  count: 5,
}

export async function openStage(honest: HonestArchive): Promise<Stage> {
  const root = mkdtempSync(join(tmpdir(), 'hostile-'))
  const topics = sourceTopics()
  append(topics)
  const cluster = await startFakeCluster([...topics, fakeTopic('payments', [[encodeRun(0n, 2)]])])
  serveGroups(cluster, { billing: fakeGroup({ 'orders/0': 1n }) })
  const { intercept } = cluster.state
  cluster.state.intercept = (request, broker) => {
    if (request.key === API.describeLogDirs) return noLogDirs()
    return isValidateOnly(request) ? validate(request) : intercept(request, broker)
  }
  const changes: string[] = []
  const registry = await openRegistryServer({
    store: new RegistryStore(),
    host: '127.0.0.1',
    port: 0,
    onRequest: ({ method, target }) => {
      if (method !== 'GET' && !isLookup(method, target)) changes.push(`${method} ${target}`)
    },
  })
  const bootstrap = cluster.brokers.map(({ address }) => address).join()
  const keyFile = join(root, 'key')
  writeFileSync(keyFile, honest.keyFile, { mode: 0o600 })
  const mapping = join(root, 'mapping.json')
  writeFileSync(mapping, JSON.stringify({ runs: [mapped] }))
  let folders = 0
  const lay = (objects: Objects): string => writeObjects(join(root, `archive-${folders++}`), objects)
  return {
    root,
    registryUrl: registry.url,
    lay,
    copyOf: location => {
      const copy = join(root, `copy-${folders++}`)
      cpSync(location, copy, { recursive: true })
      return copy
    },
    layTarget: () => {
      const objects = new Map([...honest.objects].filter(([key]) => isOfTarget(key)))
      return { path: lay(objects), objects }
    },
    takeWrites: () => {
      const keys = [...writing, ...alsoWriting].map(name => API[name])
      const sent = cluster.brokers
        .flatMap(({ requests }) => requests.splice(0))
        .filter(request => keys.includes(request.key) && !isValidateOnly(request))
      return [...sent.map(({ key }) => `request ${key} to a broker`), ...changes.splice(0)]
    },
    place: (backupId, location) => {
      const jobs = writeJobs(root, { backupId, location, bootstrap, keyFile, registryUrl: registry.url })
      return { location, target: '', backupId, keyFile, mapping, bootstrap, registryUrl: registry.url, ...jobs }
    },
    [Symbol.asyncDispose]: async () => {
      await registry.close()
      await cluster.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The broker creates nothing then. The flag comes last, before the tags. */
function isValidateOnly({ key, body: { buffer } }: BrokerRequest): boolean {
  return key === API.createTopics && buffer.at(-2) === 1
}

function noLogDirs(): Writer {
  return new Writer()
    .int32(0)
    .array([], () => undefined)
    .noTags()
}

/** All topics are welcome. */
function validate({ body }: BrokerRequest): Writer {
  const names = body.array(() => readNewTopic(body))
  const writer = new Writer().int32(0)
  writer.array(names, name => {
    writer.string(name).uuid('0'.repeat(32)).int16(0).string(null).int32(1).int16(1)
    writer.array([], () => undefined).noTags()
  })
  return writer.noTags()
}

function readNewTopic(body: BrokerRequest['body']): string {
  const name = body.string()
  body.position += 6
  body.array(() => {
    body.int32()
    body.array(() => body.int32())
    body.tags()
  })
  body.array(() => {
    body.string()
    body.nullableString()
    body.tags()
  })
  body.tags()
  return name
}

/** The first generation of the backup that is copied, and all of another. */
function isOfTarget(key: string): boolean {
  return key.startsWith(`${OTHER}/`) || (key.startsWith(`${PLAIN}/`) && !/00000002|-2\.|manifest\.json/.test(key))
}

/** Looking a schema up has the method of registering one. */
function isLookup(method: string, target: string): boolean {
  return method === 'POST' && /^\/subjects\/[^/]+(\?.*)?$/.test(target)
}

export function writeObjects(folder: string, objects: Objects): string {
  mkdirSync(folder, { recursive: true })
  for (const [key, bytes] of objects) {
    const path = join(folder, key)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
  return folder
}

interface JobParts extends Pick<Place, 'backupId' | 'location' | 'bootstrap' | 'keyFile' | 'registryUrl'> {}

function writeJobs(root: string, { backupId, location, bootstrap, keyFile, registryUrl }: JobParts) {
  const shared = {
    backup_id: backupId,
    storage: { backend: 'filesystem', path: location },
    enterprise: { schema_registry: { enabled: true, url: registryUrl } },
    ...(backupId === SEALED && { encryption: { recipients: [{ key_file: keyFile }] } }),
  }
  const bootstrap_servers = bootstrap.split(',')
  const backupJob = join(root, 'backup.yaml')
  const restoreJob = join(root, 'restore.yaml')
  const source = { bootstrap_servers, topics: { include: ['*'] } }
  const target = { bootstrap_servers }
  const restore = {
    retention: 'hold',
    consumer_groups: { include: ['*'] },
    topic_mapping: { orders: 'new-orders', audit: 'new-audit' },
  }
  writeFileSync(backupJob, JSON.stringify({ mode: 'backup', source, ...shared }))
  writeFileSync(restoreJob, JSON.stringify({ mode: 'restore', target, restore, ...shared }))
  return { backupJob, restoreJob }
}
