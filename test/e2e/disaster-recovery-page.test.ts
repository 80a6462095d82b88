import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import type { ConsumedRecord, GroupRead, SeedRecord } from '../servers/driver.ts'
import { startS3 } from '../servers/versitygw.ts'
import { withFolder } from './backup-job.ts'
import { root, run } from './run-cli.ts'
import { openRegistry, register, stockRegistry } from './schema-world.ts'
import { openKafka, useKafka } from './use-kafka.ts'

interface Order {
  id: number
  item: string
}

interface Lost {
  orders: Order[]
  records: ConsumedRecord[][]
  unread: GroupRead[]
}

const group = { group: 'billing', topics: ['orders'] }

describe('docs/disaster-recovery.md', () => {
  const target = useKafka()

  test(
    'restores a cluster with the same records, readable schemas and groups that continue',
    { timeout: 300_000 },
    () =>
      withFolder(async folder => {
        await using store = await startS3()
        await store.makeBucket('my-backups')
        await using registry = await openRegistry({ firstId: 500 })
        const page = await readPage()
        const shell = await openShell(folder, store.endpoint, store.credentials)

        const lost = await loseCluster(shell)
        const where = page.where
          .replace('kafka-new-0:9092', target.server.bootstrapServers.join(','))
          .replace('http://registry-new:8081', registry.server.url)
        const ran = await shell([where, ...page.steps].join('\n'))
        assert.equal(ran.code, 0, `${ran.stdout}\n${ran.stderr}`)

        const { driver } = target
        const restored = await driver.consume('orders', { isolation: 'read_committed' })
        assert.deepEqual(restored.map(withoutIds), lost.records.map(withoutIds))
        const stock = stockRegistry(registry.server.url, '.')
        const decoded = await Promise.all(restored.flat().map(({ value }) => stock.decode(value ?? Buffer.of())))
        assert.deepEqual(sorted(decoded as Order[]), sorted(lost.orders))
        const read = await driver.readGroup({ ...group, reset: 'none' })
        assert.deepEqual(read.map(placeOf).sort(), lost.unread.map(placeOf).sort())

        const topics = parseAllDocuments(await readFile(join(folder, 'topics.yaml'), 'utf8')).map(one => one.toJS())
        assert.deepEqual(
          topics.map(({ kind, metadata, spec }) => [kind, metadata.name, metadata.namespace, spec.partitions]),
          [['KafkaTopic', 'orders', 'kafka', 2]],
        )
        const { code, stdout } = await shell('kafka-backup list --path s3://my-backups/kafka --format json')
        assert.equal(code, 0)
        const ids = JSON.parse(stdout).backups.map(({ backup_id }: { backup_id: string }) => backup_id)
        assert.deepEqual(ids, ['orders', 'orders-new'])
      }),
  )
})

/** Backs up a cluster with its registry, and takes both away. */
async function loseCluster(shell: Shell): Promise<Lost> {
  await using source = await openKafka()
  const { driver } = source
  await using registry = await openRegistry()
  const { url } = registry.server
  const schema = {
    type: 'record',
    name: 'Order',
    fields: [
      { name: 'id', type: 'int' },
      { name: 'item', type: 'string' },
    ],
  }
  const id = await register(url, { subject: 'orders-value', type: 'AVRO', schema: JSON.stringify(schema) })
  const stock = stockRegistry(url, '.')
  const orders = Array.from({ length: 2000 }, (_, index) => ({ id: index, item: `item ${index % 7}` }))
  const seeds: SeedRecord[] = []
  for (const order of orders) {
    const key = Buffer.from(`${order.id}`)
    seeds.push({ partition: order.id % 2, key, value: await stock.encode(id, order), headers: [] })
  }
  await driver.createTopic('orders', { partitions: 2 })
  await driver.produce('orders', seeds)
  await driver.readGroup({ ...group, reset: 'earliest', take: 300 })
  const job = {
    mode: 'backup',
    backup_id: 'orders',
    source: { bootstrap_servers: source.server.bootstrapServers, topics: { include: ['*'] } },
    storage: { backend: 's3', bucket: 'my-backups', prefix: 'kafka' },
    enterprise: { schema_registry: { enabled: true, url } },
  }
  const made = await shell(`echo '${JSON.stringify(job)}' > old.yaml && kafka-backup backup --config old.yaml`)
  assert.equal(made.code, 0, made.stderr)
  const records = await driver.consume('orders', { isolation: 'read_committed' })
  return { orders, records, unread: await driver.readGroup({ ...group, reset: 'none' }) }
}

type Shell = (script: string) => ReturnType<typeof run>

/** Bash that stops at the first failure, with `kafka-backup` in its path and the credentials of the store. */
async function openShell(
  folder: string,
  endpoint: string,
  credentials: { accessKeyId: string; secretAccessKey: string },
): Promise<Shell> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const program = `#!/bin/sh\nexec ${process.execPath} ${join(root, 'bin/kafka-backup.js')} "$@"\n`
  await writeFile(join(bin, 'kafka-backup'), program, { mode: 0o755 })
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: 'us-east-1',
  }
  return script => run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env })
}

/** The blocks of the page; the first one says where things are. */
async function readPage(): Promise<{ where: string; steps: string[] }> {
  const text = await readFile(join(root, 'docs/disaster-recovery.md'), 'utf8')
  const [where = '', ...steps] = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  assert.ok(steps.length >= 7, `${steps.length} blocks`)
  return { where, steps }
}

/** The frame of a value has the ID of its schema, which is another one in the new registry. */
function withoutIds(records: ConsumedRecord[]) {
  return records.map(({ key, value, headers, timestamp }) => [
    key,
    value === null ? null : [value[0], value.subarray(5)],
    headers,
    timestamp,
  ])
}

function sorted(orders: Order[]): Order[] {
  return orders.map(({ id, item }) => ({ id, item })).sort((one, other) => one.id - other.id)
}

/** Values hold other IDs, and offsets are the same as long as the topics were never cut. */
function placeOf({ topic, partition, offset }: GroupRead): string {
  return `${topic}/${partition}/${offset}`
}
