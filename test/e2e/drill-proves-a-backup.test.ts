import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseJob } from '../../src/config/load-job.ts'
import { runBackupJob } from '../../src/jobs/backup.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { runCli } from './run-cli.ts'
import { openRegistry } from './schema-world.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const PREFIX = 'kafka-backup-drill.'

/** A value of the Confluent wire format: the ID of a schema, and an Avro string. */
function framed(id: number, text: string): Buffer {
  const frame = Buffer.alloc(5)
  frame.writeInt32BE(id, 1)
  return Buffer.concat([frame, Buffer.from([text.length * 2]), Buffer.from(text)])
}

describe('drill', () => {
  const kafka = useKafka()

  async function topicsOfTarget(): Promise<{ name: string; id: string }[]> {
    const cluster = await openCluster({ bootstrapServers: kafka.server.bootstrapServers })
    try {
      const { topics } = await cluster.metadata({ topics: null }, never)
      return topics
        .filter(({ name }) => !name.startsWith('__'))
        .map(({ name, id }) => ({ name, id }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    } finally {
      cluster.close()
    }
  }

  /** A topic with schema IDs in its records, and a plain one, in a backup `b1` with schemas. */
  async function backUpBoth(path: string): Promise<void> {
    await using registry = await openRegistry({ firstId: 40 })
    const body = JSON.stringify({ schema: '"string"' })
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
    const registered = await fetch(`${registry.server.url}/subjects/orders-value/versions`, {
      method: 'POST',
      body,
      headers,
    })
    const { id } = (await registered.json()) as { id: number }
    assert.equal(id, 40)
    const seeds = (make: (i: number) => Buffer): SeedRecord[] =>
      Array.from({ length: 300 }, (_, i) => ({ partition: i % 2, key: Buffer.from(`k${i}`), value: make(i) }))
    await kafka.driver.createTopic('orders', { partitions: 2 })
    await kafka.driver.produce(
      'orders',
      seeds(i => framed(id, `order ${i}`)),
    )
    await kafka.driver.createTopic('audit', { partitions: 2, configs: { 'cleanup.policy': 'compact' } })
    await kafka.driver.produce(
      'audit',
      seeds(i => Buffer.from(`line ${i}`)),
    )
    const job = {
      ...{ mode: 'backup', backup_id: 'b1', storage: { backend: 'filesystem', path } },
      source: { bootstrap_servers: kafka.server.bootstrapServers, topics: { include: ['orders', 'audit'] } },
      enterprise: { schema_registry: { enabled: true, url: registry.server.url } },
    }
    await runBackupJob(
      parseJob(JSON.stringify(job), { source: 'test job', env: {}, mode: 'backup' }),
      { onProgress: () => undefined },
      never,
    )
  }

  async function writeKeys(folder: string): Promise<{ signing: string; verifying: string }> {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const [signing, verifying] = [join(folder, 'drill.key'), join(folder, 'drill.pub')]
    await writeFile(signing, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(verifying, publicKey.export({ type: 'spki', format: 'pem' }))
    return { signing, verifying }
  }

  async function leaveJournal(folder: string, run: string, topics: { name: string; id: null }[]): Promise<void> {
    const cluster = await openCluster({ bootstrapServers: kafka.server.bootstrapServers })
    const { clusterId } = await cluster.metadata({ topics: [] }, never).finally(() => cluster.close())
    const journal = {
      ...{ format: 'kafka-backup-drill-journal', format_version: 1, run, backup_id: 'b1', cluster_id: clusterId },
      ...{ started_at: '2026-01-01T00:00:00.000Z', host: 'h', tool_version: '0', topics },
    }
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'unfinished.json'), JSON.stringify(journal))
  }

  async function flipByte(folder: string): Promise<void> {
    const names = await readdir(folder)
    const file = join(folder, names.find(name => /\.log(\.zst)?$/.test(name)) ?? assert.fail('no segment'))
    const bytes = await readFile(file)
    const at = bytes.length >> 1
    bytes[at] = (bytes[at] ?? 0) ^ 0xff
    await writeFile(file, bytes)
  }

  test('restores, compares, signs, and removes only what it created, also after a kill, an interruption and damage', () =>
    withFolder(async folder => {
      const [path, evidence] = [join(folder, 'backups'), join(folder, 'drills')]
      await backUpBoth(path)
      const { signing, verifying } = await writeKeys(folder)
      // Not created by a drill, although its name says so.
      await kafka.driver.createTopic(`${PREFIX}0123456789abcdef.orders`, { partitions: 1 })
      const before = await topicsOfTarget()
      const at = ['--path', path, '--backup-id', 'b1', '--target', kafka.server.bootstrapServers.join(',')]
      const drill = (args: string[], options = {}) => runCli(['drill', ...at, '--evidence', evidence, ...args], options)

      // As a drill leaves it whose creation of topics got no answer: one topic is there, and one is not.
      const half = 'feedfacefeedface'
      const halfTopics = ['orders', 'audit'].map(name => ({ name: `${PREFIX}${half}.${name}`, id: null }))
      await kafka.driver.createTopic(`${PREFIX}${half}.orders`, { partitions: 1 })
      await leaveJournal(join(evidence, `b1/drills/20260101t000000000z-${half}`), half, halfTopics)

      const killed = await drill([], { signal: 'SIGKILL', when: /^drill: .*records/m })
      assert.equal(killed.code, null)
      assert.match(killed.stderr, new RegExp(`removed topic ${PREFIX}${half}\\.orders \\(\\S+\\) of drill ${half}`))
      const left = (await topicsOfTarget()).filter(({ id }) => !before.some(one => one.id === id))
      assert.equal(left.length, 2, killed.stderr)

      const interrupted = await drill([], { signal: 'SIGINT', when: /^drill: .*records/m })
      assert.equal(interrupted.code, 130, interrupted.stderr)
      for (const { name, id } of left) assert.ok(interrupted.stderr.includes(`removed topic ${name} (${id})`))
      assert.deepEqual(await topicsOfTarget(), before)

      const proven = await drill(['--signing-key', signing, '--format', 'json'])
      assert.equal(proven.code, 0, proven.stderr)
      const report = JSON.parse(proven.stdout)
      const { result, totals, schemas, clean_up, recovery, topics } = report.evidence
      assert.deepEqual([result, totals.records, totals.compared, totals.differences], ['proven', 600, 600, 0])
      assert.deepEqual(
        [schemas, clean_up.removed.length, clean_up.left],
        [{ registry: 'embedded', versions: 1 }, 2, []],
      )
      assert.ok(recovery.total > 0 && recovery.bytes_per_second > 0)
      assert.deepEqual(
        clean_up.removed.map(({ id }: { id: string }) => id).sort(),
        topics.map(({ id }: { id: string }) => id).sort(),
      )
      assert.deepEqual(await topicsOfTarget(), before)

      const check = () => callCli(['drill', 'verify', '--evidence', report.location, '--public-key', verifying])
      const verified = await check()
      assert.equal(verified.code, 0, verified.stderr)
      assert.match(
        verified.stdout,
        /^Authentic: signed with key [0-9a-f]{16}, unchanged\n {2}drill of backup b1, generation 1: proven, all topics/,
      )
      const document = join(report.location, 'evidence.json')
      const openssl = ['pkeyutl', '-verify', '-pubin', '-inkey', verifying, '-rawin', '-in', document]
      assert.match(String(execFileSync('openssl', [...openssl, '-sigfile', `${document}.sig`])), /Success/)
      await writeFile(document, String(await readFile(document)).replace('"differences": 0', '"differences": 1'))
      assert.equal((await check()).code, 3)

      const inside = ['--sample', '10', '--topic', 'aud*', '--no-schemas', '--signing-key', signing]
      const sampled = await callCli(['drill', ...at, ...inside, '--format', 'json'])
      assert.equal(sampled.code, 0, sampled.stderr)
      const { evidence: part, location } = JSON.parse(sampled.stdout)
      assert.ok(location.startsWith(join(path, 'b1/reports/evidence/drills/')), location)
      const newest = ['drill', 'verify', '--path', path, '-b', 'b1', '--public-key', verifying]
      assert.match((await callCli(newest)).stdout, /^Authentic: .*\n.*: proven, 10% of every partition of topics aud\*/)
      assert.deepEqual([part.totals.records, part.totals.topics, part.schemas], [30, 1, null])
      assert.equal(part.scope, '10% of every partition of topics aud*')

      const described = await callCli(['describe', '--path', path, '--backup-id', 'b1'])
      assert.match(
        described.stdout,
        /^Drilled +\S.*generation 1, proven: 10% of every partition of topics aud\*, 30 records/m,
      )

      await flipByte(join(path, 'b1/kafka/audit/0'))
      const damaged = await drill(['--topic', 'audit'])
      assert.equal(damaged.code, 3, damaged.stdout + damaged.stderr)
      assert.match(damaged.stdout, /^NOT PROVEN: /m)
      assert.deepEqual(await topicsOfTarget(), before)
      const listed = await callCli(['list', '--path', path])
      assert.match(listed.stdout, /b1: a drill did not prove the backup \(.*FAILED.*; before that .*proven/)
    }))
})
