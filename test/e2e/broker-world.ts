import assert from 'node:assert/strict'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { KafkaDriver } from '../servers/driver.ts'
import type { KafkaOptions } from '../servers/kafka.ts'
import { hasZooKeeper, oldestKafkaVersion } from '../servers/kafka-dist.ts'
import { anyTime, codecs, zoo } from './record-zoo.ts'
import { openRegistry, register, type WatchedRegistry } from './schema-world.ts'

/**
 * A little of all that a backup takes, on a broker of any version: records with every oddity in every codec, transactions,
 * a consumer group, an ACL, and records with schema IDs.
 */
interface BrokerWorld extends AsyncDisposable {
  registry: WatchedRegistry
}

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const committed = { isolation: 'read_committed' } as const
const topics = ['zoo', 'framed']

/** With an authorizer that lets everyone in. */
export function guardedBroker(version: string): KafkaOptions {
  return {
    version,
    properties: { 'authorizer.class.name': authorizerOf(version), 'super.users': 'User:ANONYMOUS' },
  }
}

function authorizerOf(version: string): string {
  if (version === oldestKafkaVersion) return 'kafka.security.auth.SimpleAclAuthorizer'
  if (hasZooKeeper(version)) return 'kafka.security.authorizer.AclAuthorizer'
  return 'org.apache.kafka.metadata.authorizer.StandardAuthorizer'
}

export interface BackedUpWorld {
  driver: KafkaDriver
  /** What the group `readers` had not read when the backup was made. */
  unread: string[]
}

/** Makes the world, and a backup of it before and after it has grown; the second holds what Kafka's own client reads. */
export async function backUpTwice(
  server: { bootstrapServers: readonly string[]; version: string },
  driver: KafkaDriver,
  path: string,
): Promise<BackedUpWorld> {
  await using world = await openWorld(driver, server.version)
  const place = { servers: server.bootstrapServers, path }
  await backUpWorld(place, world)
  const { checks } = await checkWorld(place, world)
  assert.deepEqual(
    checks.filter(({ allowed }) => !allowed),
    [],
  )
  await growWorld(driver)
  const { manifest, warnings } = await backUpWorld(place, world)
  assert.deepEqual(warnings, [])
  assert.equal(manifest.generation, 2)
  assertSameRecords(await driver.consume('zoo', committed), await readArchivedTopic(path, 'b1', 'zoo'))
  const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
  assert.deepEqual(verified.problems, [])
  const unread = await readUnread(driver, 'readers', 'zoo')
  assert.notEqual(unread.length, 0)
  return { driver, unread }
}

async function readUnread(driver: KafkaDriver, group: string, topic: string): Promise<string[]> {
  const read = await driver.readGroup({ group, topics: [topic], protocol: 'classic', reset: 'none' })
  return read.map(({ partition, value }) => `${partition} ${value}`).sort()
}

/** What the first run finds. */
async function openWorld(driver: KafkaDriver, version: string): Promise<BrokerWorld> {
  await using opening = new AsyncDisposableStack()
  const registry = opening.use(await openRegistry())
  const configs = { 'retention.ms': '-1', ...(version.startsWith('4.') && anyTime) }
  await driver.createTopic('zoo', { partitions: 3, replicationFactor: 1, configs })
  // The record with thousands of headers once, for the sake of time.
  const common = zoo.filter(({ headers = [] }) => headers.length < 100)
  for (const compression of codecs) {
    await driver.produce('zoo', compression === 'lz4' ? zoo : common, { compression, flushEvery: 7 })
  }
  const id = await register(registry.server.url, { subject: 'framed-value', type: 'AVRO', schema: '"string"' })
  await driver.createTopic('framed', { replicationFactor: 1, configs })
  await driver.produce(
    'framed',
    [1, 2, 3].map(n => ({ partition: 0, key: null, value: framed(id, `text ${n}`) })),
  )
  const opened = opening.move()
  return { registry, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** What the second run finds. */
async function growWorld(driver: KafkaDriver): Promise<void> {
  const few = zoo.slice(0, 6)
  await driver.transaction('zoo', few, { transactionalId: 't1', outcome: 'abort', compression: 'zstd' })
  await driver.transaction('zoo', few, { transactionalId: 't2', outcome: 'commit', compression: 'lz4' })
  await driver.readGroup({ group: 'readers', topics: ['zoo'], protocol: 'classic', take: 5, metadata: 'here' })
  const rule = { principal: 'User:alice', operation: 'READ', resourceType: 'TOPIC', resourceName: 'zoo' }
  await driver.createAcls([rule])
}

const framed = (id: number, text: string) => {
  const head = Buffer.alloc(6)
  head.writeInt32BE(id, 1)
  head.writeInt8(2 * text.length, 5)
  return Buffer.concat([head, Buffer.from(text)])
}

interface Place {
  servers: readonly string[]
  path: string
}

function backUpWorld(place: Place, world: BrokerWorld) {
  return runBackupJob(backupJob(place, world), quiet, never)
}

/** What `check` finds for the job of the backup. */
function checkWorld(place: Place, world: BrokerWorld) {
  return checkJob(backupJob(place, world), never)
}

function backupJob({ servers, path }: Place, { registry }: BrokerWorld) {
  const document = {
    mode: 'backup',
    backup_id: 'b1',
    source: { bootstrap_servers: servers, topics: { include: topics } },
    storage: { backend: 'filesystem', path },
    backup: { acls: true },
    enterprise: { schema_registry: { enabled: true, url: registry.server.url } },
  }
  return parseJob(JSON.stringify(document), { source: 'job', env: {}, mode: 'backup' })
}

/** To other names, into a registry that has given its first IDs already; then compared with the source. */
export async function restoreWorld(
  { servers, path }: Place,
  source: BackedUpWorld,
  target: KafkaDriver,
): Promise<BackupRestoreReport> {
  await using registry = await openRegistry({ firstId: 1001 })
  const { url } = registry.server
  const document = {
    mode: 'restore',
    backup_id: 'b1',
    target: { bootstrap_servers: servers },
    storage: { backend: 'filesystem', path },
    restore: {
      topic_mapping: { zoo: 'zoo-back', framed: 'framed-back' },
      consumer_groups: { include: ['*'], mapping: { readers: 'readers-back' } },
      acls: true,
      verify: true,
    },
    enterprise: { schema_registry: { enabled: true, url } },
  }
  const job = parseJob(JSON.stringify(document), { source: 'job', env: {}, mode: 'restore' })
  const report = await runRestoreJob(job, quiet, never)
  assert.equal((await runRestoreJob(job, quiet, never)).wasComplete, true)
  await assertRestored(source, target, 1001)
  return report
}

async function assertRestored(source: BackedUpWorld, target: KafkaDriver, firstId: number): Promise<void> {
  assertSameRecords(await source.driver.consume('zoo', committed), await target.consume('zoo-back', committed))
  const [original = []] = await source.driver.consume('framed', committed)
  const rewritten = original.map(({ value, ...record }) => {
    const copy = Buffer.from(value ?? assert.fail())
    copy.writeInt32BE(firstId, 1)
    return { ...record, value: copy }
  })
  assertSameRecords([rewritten], await target.consume('framed-back', committed))
  assert.deepEqual(await readUnread(target, 'readers-back', 'zoo-back'), source.unread)
  assert.match((await target.listAcls()).join('\n'), /name=zoo-back, .*principal=User:alice/)
}
