import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { main } from '../../src/cli/main.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { FakeIo } from '../cli/fake-io.ts'
import { encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { fakeGroup, serveGroups } from '../fakes/fake-groups.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'

export const SHOP = 'shop'
export const SEALED = 'sealed'
export const LARGE_BYTES = 20 << 20
const START_MS = 1_790_000_000_000n

export interface SampleBackups {
  /** The location. */
  path: string
  keyFile: string
}

/**
 * Backups as the program writes them: `shop`, verified, with three types of schemas, groups, a gap, a replaced topic and hostile records, in
 * three generations; `sealed`, which is encrypted.
 */
export async function makeSampleBackups(folder: string): Promise<SampleBackups> {
  const [path, keyFile] = [join(folder, 'store'), join(folder, 'key')]
  mkdirSync(path)
  writeFileSync(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 })
  const topics = sourceTopics()
  const cluster = await startFakeCluster(topics)
  serveGroups(cluster, {
    billing: fakeGroup({ 'orders/0': 30n, 'orders/1': 10n }),
    'mail<b>': fakeGroup({ 'payments/0': 2n, 'customers/0': 20n }),
  })
  const registry = await openRegistryServer({ store: sourceRegistry(), host: '127.0.0.1', port: 0 })
  try {
    const job = (backup_id: string, more: object) => ({
      ...{ mode: 'backup', backup_id, storage: { backend: 'filesystem', path } },
      source: { bootstrap_servers: cluster.brokers.map(one => one.address), topics: { include: ['*'] } },
      enterprise: { schema_registry: { enabled: true, url: registry.url } },
      backup: { consumer_groups: { include: ['*'] } },
      ...more,
    })
    const run = (document: object) => runBackup(join(folder, 'job.yaml'), document)
    await run(job(SHOP, {}))
    await run(job(SEALED, { encryption: { recipients: [{ key_file: keyFile }] } }))
    change(topics)
    await run(job(SHOP, {}))
    await runCommand(['verify', '--path', path, '--backup-id', SHOP, '--deep'])
    return { path, keyFile }
  } finally {
    await registry.close()
    await cluster.close()
  }
}

export async function runBackup(file: string, job: object): Promise<void> {
  writeFileSync(file, JSON.stringify(job))
  await runCommand(['backup', '--config', file])
}

async function runCommand(argv: string[]): Promise<void> {
  const io = new FakeIo()
  const exitCode = await main(argv, io)
  if (exitCode !== 0) throw new Error(`${argv.join(' ')} ended with ${exitCode}: ${io.stderr.text}`)
}

/** Retention removes records before they are copied, and a topic is created again. */
function change(topics: FakeTopic[]): void {
  const [orders, , , events] = topics
  const log = orders?.partitions[0]
  if (!orders || !log || !events) throw new Error('the topics are not those that were made')
  const later = [
    batchOf(
      60n,
      Array.from({ length: 20 }, (_, at) => order(60 + at)),
    ),
  ]
  Object.assign(log, { batches: later, logStart: 60n, highWatermark: 80n, lastStable: 80n })
  events.id = 'e'.repeat(32)
  events.partitions = [fakePartition([batchOf(0n, [{ value: Buffer.from('again') }])])]
}

export function batchOf(baseOffset: bigint, records: RecordSpec[]): Buffer {
  const spread = records.map((one, at) => ({ timestampDelta: BigInt(at) * 60_000n, ...one }))
  return encodeBatch({ baseOffset, records: spread, codec: 'zstd', baseTimestamp: START_MS + baseOffset * 60_000n })
}

function sourceTopics(): FakeTopic[] {
  const many = (count: number, make: (at: number) => RecordSpec) => [
    batchOf(
      0n,
      Array.from({ length: count }, (_, at) => make(at)),
    ),
  ]
  return [
    fakeTopic('orders', [many(40, order), many(15, order)], { configs: { 'retention.ms': '604800000' } }),
    fakeTopic('customers', [many(25, customer)]),
    fakeTopic('payments', [many(12, payment)]),
    fakeTopic('events', [many(3, at => ({ value: Buffer.from(`event ${at}`) }))]),
    fakeTopic('hostile', [[batchOf(0n, hostile())]]),
  ]
}

export function frame(id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return Buffer.concat([head, payload])
}

function avroText(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length << 1]), Buffer.from(text)])
}

function order(at: number): RecordSpec {
  const value = frame(
    2,
    Buffer.concat([avroText(`order-${at}`), avroText(`customer-${at % 7}`), Buffer.from([(at % 50) << 1])]),
  )
  return {
    key: Buffer.from(`order-${at}`),
    value,
    headers: [
      ['trace', Buffer.from(`t-${at}`)],
      ['source', null],
    ],
  }
}

function customer(at: number): RecordSpec {
  const value = frame(3, Buffer.from(JSON.stringify({ id: `customer-${at}`, city: 'Zürich', vip: at % 5 === 0 })))
  return { key: Buffer.from(`customer-${at}`), value }
}

function payment(at: number): RecordSpec {
  const text = Buffer.from(`order-${at}`)
  const message = Buffer.concat([Buffer.from([0x0a, text.length]), text, Buffer.from([0x10, at + 1])])
  return { key: Buffer.from(`p${at}`), value: frame(4, Buffer.concat([Buffer.from([0]), message])) }
}

export const SCRIPT = '<script>window.hacked = true</script><img src=x onerror="window.hacked = true">'

/** Contents that must show as text. */
function hostile(): RecordSpec[] {
  return [
    { key: Buffer.from(SCRIPT), value: Buffer.from(SCRIPT), headers: [[SCRIPT, Buffer.from(SCRIPT)]] },
    { key: Buffer.from([0xff, 0xfe, 0xc3, 0x28]), value: Buffer.from([0xc3, 0x28, 0xa0, 0xa1, 0x3c, 0x73]) },
    { key: Buffer.from('large'), value: Buffer.alloc(LARGE_BYTES, '<b>large</b> ') },
    { key: Buffer.from('null'), value: null },
    { key: Buffer.from('frame'), value: frame(999, Buffer.from(SCRIPT)) },
    { key: Buffer.from('rtl'), value: Buffer.from('invoice\u202efdp.exe \u0000 \u001b[31m red') },
    { key: null, value: Buffer.from('{"a":"</pre><script>window.hacked = true</script>"}') },
    { key: Buffer.from('javascript:alert(1)'), value: Buffer.from('"><svg/onload=window.hacked=true>') },
  ]
}

const person = { type: 'record', name: 'Customer', fields: [{ name: 'id', type: 'string' }] }
const orderFields = [
  { name: 'id', type: 'string' },
  { name: 'customer', type: 'Customer' },
  { name: 'amount', type: 'int' },
]
const jsonSchema = {
  type: 'object',
  properties: { id: { type: 'string' }, city: { type: 'string' }, vip: { type: 'boolean' } },
}
const proto = `syntax = "proto3";\npackage shop;\n\n// A payment for an order.\nmessage Payment {\n  string order_id = 1;\n  int32 cents = 2;\n}\n`

function sourceRegistry(): RegistryStore {
  const refersTo = { references: [{ name: 'Customer', subject: 'customer', version: 1 }] }
  const orderSchema = (fields: object[]) => ({
    ...refersTo,
    schema: JSON.stringify({ type: 'record', name: 'Order', fields }),
  })
  const note = { name: 'note', type: ['null', 'string'], default: null }
  const versions = [
    versionOf('customer', 1, 1, { schema: JSON.stringify(person) }),
    versionOf('orders-value', 1, 2, orderSchema(orderFields)),
    versionOf('orders-value', 2, 5, orderSchema([...orderFields, note])),
    versionOf('customers-value', 1, 3, { schemaType: 'JSON', schema: JSON.stringify(jsonSchema) }),
    versionOf('payments-value', 1, 4, { schemaType: 'PROTOBUF', schema: proto }),
  ]
  return new RegistryStore({}, snapshotOf(versions))
}
