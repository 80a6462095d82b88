import assert from 'node:assert/strict'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
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
export interface BrokerWorld extends AsyncDisposable {
  registry: WatchedRegistry
}

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
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

/** What the first run finds. */
export async function openWorld(driver: KafkaDriver, version: string): Promise<BrokerWorld> {
  const registry = await openRegistry()
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
  return { registry, [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose]() }
}

/** What the second run finds. */
export async function growWorld(driver: KafkaDriver): Promise<void> {
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

export function backUpWorld(place: Place, world: BrokerWorld) {
  return runBackupJob(backupJob(place, world), quiet, never)
}

/** What `check` finds for the job of the backup. */
export function checkWorld(place: Place, world: BrokerWorld) {
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
  source: KafkaDriver,
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

async function assertRestored(source: KafkaDriver, target: KafkaDriver, firstId: number): Promise<void> {
  const committed = { isolation: 'read_committed' } as const
  assertSameRecords(await source.consume('zoo', committed), await target.consume('zoo-back', committed))
  const [original = []] = await source.consume('framed', committed)
  const rewritten = original.map(({ value, ...record }) => {
    const copy = Buffer.from(value ?? assert.fail())
    copy.writeInt32BE(firstId, 1)
    return { ...record, value: copy }
  })
  assertSameRecords([rewritten], await target.consume('framed-back', committed))
  const unread = async (driver: KafkaDriver, group: string, topic: string) => {
    const read = await driver.readGroup({ group, topics: [topic], protocol: 'classic', reset: 'none' })
    return read.map(({ partition, value }) => `${partition} ${value}`).sort()
  }
  assert.deepEqual(await unread(target, 'readers-back', 'zoo-back'), await unread(source, 'readers', 'zoo'))
  assert.match((await target.listAcls()).join('\n'), /name=zoo-back, .*principal=User:alice/)
}
