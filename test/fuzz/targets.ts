import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { assertIndexKeys, assertManifestKeys } from '../../src/archive/assert-keys.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { groupsFileSchema } from '../../src/archive/groups-section.ts'
import { hashOf } from '../../src/archive/hash.ts'
import { listBackups } from '../../src/archive/list-backups.ts'
import { parseAs, parseManifest, parsePartitionIndex } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { convertOldMessages } from '../../src/batch/convert-old-messages.ts'
import { codecNames } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { decodeKeysFile } from '../../src/encryption/keys-file.ts'
import type { Api } from '../../src/kafka/wire/api.ts'
import { Reader } from '../../src/kafka/wire/reader.ts'
import { decodeSnapshot } from '../../src/offsets/snapshot.ts'
import { compress, encodeBatch, withCrc } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { encodeOldMessage } from '../fakes/old-messages.ts'
import { documentTargets } from './document-targets.ts'
import { mutateBytes, mutateJson } from './mutate.ts'
import { sealed } from './sealed.ts'
import { serverTargets } from './server-targets.ts'
import type { Target } from './target.ts'

type Random = () => number

const golden = join(import.meta.dirname, '../golden/v0.1.0')
const archive = new Map<string, Buffer>(
  readdirSync(golden, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => [path.slice(golden.length + 1), readFileSync(path)]),
)
const text = (key: string) => archive.get(key)?.toString('utf8') ?? ''
const never = new AbortController().signal
const damaged = ['ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW'] as const
const manifestAt = 'golden/manifests/00000002.json'
const indexAt = 'golden/kafka/golden/0/index-2.6f08b04d.json'
const segments = [...archive.keys()].filter(key => /\.log(\.zst)?$/.test(key))

const groups = {
  format: 'kafka-backup-groups',
  format_version: 1,
  groups: [
    {
      ...{ group: 'g', type: 'classic', state: 'Empty', members: 0, error: null },
      positions: [{ topic: 't', partition: 0, offset: 7, leader_epoch: -1, metadata: '', lag: 3 }],
    },
  ],
  left_out: [],
}
const snapshot = {
  ...{ format: 'kafka-backup-offset-snapshot', format_version: 1, tool_version: '1', snapshot_id: 's' },
  ...{
    created_at: '2026-01-01T00:00:00.000Z',
    reason: 'snapshot',
    cluster_id: null,
    topics: [{ topic: 't', id: 'x' }],
  },
  groups: [
    {
      ...{ group: 'g', type: 'classic', state: 'Empty', members: 0, absent: [] },
      positions: [{ topic: 't', partition: 0, offset: 7, leader_epoch: -1, metadata: '' }],
    },
  ],
}
const job = {
  ...{ mode: 'backup', backup_id: 'b', source: { bootstrap_servers: ['k:9092'], topics: { include: ['*'] } } },
  ...{ storage: { backend: 's3', bucket: 'bucket' }, backup: { segment_bytes: '1MiB' }, retention: { keep_last: 3 } },
  enterprise: {
    schema_registry: { enabled: true, url: 'http://r', auth: { type: 'basic', username: 'u', password: 'p' } },
  },
}
const yamlJob = `mode: restore
backup_id: b
target: { bootstrap_servers: [k:9092] }
storage:
  backend: filesystem
  path: &p /backups
restore:
  topic_mapping: { a: b, c: d }
  offset_ranges: { a: { 0: 5..9 } }
  time_window_start: 2026-01-01T00:00:00Z
`
const keysFile = readFileSync(join(golden, '../encryption-v1/golden/keys/00000001.json'), 'utf8')

/** The archive with one document changed, and with the hashes that vouch for it made right. */
function forgedArchive(random: Random): Map<string, Buffer> {
  const forged = new Map(archive)
  if (random() < 0.5) return forged.set(manifestAt, sealed(mutateJson(JSON.parse(text(manifestAt)), random)))
  const index = Buffer.from(mutateJson(JSON.parse(text(indexAt)), random))
  const manifest = text(manifestAt)
    .replaceAll(hashOf(archive.get(indexAt) ?? Buffer.alloc(0)), hashOf(index))
    .replace(`"size": ${archive.get(indexAt)?.length}`, `"size": ${index.length}`)
  return forged.set(indexAt, index).set(manifestAt, sealed(manifest))
}

async function readArchive(objects: Map<string, Buffer>): Promise<void> {
  const storage = openMemoryStorage()
  for (const [key, bytes] of objects) storage.objects.set(key, bytes)
  await listBackups(storage, never)
  await verifyBackup(storage, 'golden', { deep: true, onProgress: () => undefined }, never)
  await describeBackup(storage, 'golden', {}, never)
}

const batches = codecNames.map(codec =>
  encodeBatch({
    codec,
    records: Array.from({ length: 5 }, (_, i) => ({
      key: Buffer.from(`k${i}`),
      value: i === 3 ? null : Buffer.alloc(200, i),
      headers: [['h', i === 2 ? null : Buffer.from('x')]] as [string, Buffer | null][],
      offsetDelta: i,
    })),
  }),
)

function runBatch(random: Random): void {
  const seed = batches[Math.floor(random() * batches.length)] ?? Buffer.alloc(0)
  const bytes = mutateBytes(seed, random)
  if (bytes.length > 61 && random() < 0.5) bytes.writeInt32BE(bytes.length - 12, 8)
  const batch = bytes.length > 61 ? withCrc(bytes) : bytes
  for (const header of walkBatches(batch, 0, batch.length)) decodeRecords(batch, header)
}

const oldMessages = (['none', 'gzip', 'snappy', 'lz4'] as const).flatMap(codec =>
  ([0, 1] as const).map(magic => ({ codec, magic })),
)

/** Changes what a compressed message holds as well as the message itself, with right checksums half of the time. */
function runOldMessages(random: Random): void {
  const { codec, magic } = oldMessages[Math.floor(random() * oldMessages.length)] ?? { codec: 'none', magic: 1 }
  const inner = [0n, 1n, 5n].map(offset => encodeOldMessage({ magic, offset, value: Buffer.alloc(100, 'v') }))
  const plain = resealed(mutateBytes(Buffer.concat(inner), random), random)
  const outer = codec === 'none' ? plain : encodeOldMessage({ magic, codec, offset: 9n, value: compress(codec, plain) })
  const bytes = random() < 0.5 ? outer : resealed(mutateBytes(outer, random), random)
  const converted = convertOldMessages(bytes, 0, bytes.length)
  if (!converted) return
  for (const header of walkBatches(converted.bytes, 0, converted.bytes.length)) decodeRecords(converted.bytes, header)
}

function resealed(bytes: Buffer, random: Random): Buffer {
  for (let at = 0; at + 26 <= bytes.length && random() < 0.9; ) {
    const size = bytes.readInt32BE(at + 8) + 12
    if (size < 26 || at + size > bytes.length) break
    bytes.writeUInt32BE(crc32(bytes.subarray(at + 16, at + size)), at + 12)
    at += size
  }
  return bytes
}

async function loadApis(): Promise<Api<never, unknown>[]> {
  const folder = join(import.meta.dirname, '../../src/kafka/api')
  const modules = await Promise.all(readdirSync(folder).map(file => import(join(folder, file))))
  return modules
    .flatMap(module => Object.values(module) as Partial<Api<never, unknown>>[])
    .filter((value): value is Api<never, unknown> => typeof value === 'object' && typeof value?.decode === 'function')
}

/** Bytes that look like the protocol: small lengths, short texts, zeros. */
function protocolBytes(random: Random): Buffer {
  const length = Math.floor(random() * 400)
  const byte = () => (random() < 0.6 ? Math.floor(random() * 4) : Math.floor(random() * 256))
  return Buffer.from(Array.from({ length }, byte))
}

function decodeAny(api: Api<never, unknown> | undefined, random: Random): unknown {
  if (!api) return undefined
  const version = api.oldest + Math.floor(random() * (api.newest - api.oldest + 1))
  const reader = new Reader(protocolBytes(random), { isFlexible: version >= api.flexibleFrom })
  return api.decode(reader, version, { groups: [] } as never)
}

export async function loadTargets(): Promise<Target[]> {
  const apis = await loadApis()
  const manifest = JSON.parse(text(manifestAt))
  const index = JSON.parse(text(indexAt))
  return [
    {
      name: 'manifests',
      weight: 5,
      codes: damaged,
      run: random => assertManifestKeys(parseManifest(sealed(mutateJson(manifest, random)), manifestAt), manifestAt),
    },
    {
      name: 'indexes',
      codes: damaged,
      run: random => assertIndexKeys(parsePartitionIndex(mutateJson(index, random), indexAt), indexAt),
    },
    { name: 'groups', codes: damaged, run: random => parseAs(groupsFileSchema, mutateJson(groups, random), 'g') },
    { name: 'snapshots', codes: damaged, run: random => decodeSnapshot(sealed(mutateJson(snapshot, random)), 's') },
    {
      name: 'keys files',
      codes: [...damaged, 'ENCRYPTION_KEY'],
      run: random => decodeKeysFile(sealed(mutateJson(JSON.parse(keysFile), random)), 'golden/keys/00000001.json'),
    },
    { name: 'batches', codes: ['BATCH_INVALID', 'BATCH_OLD_FORMAT'], run: runBatch },
    { name: 'messages of old formats', codes: ['BATCH_INVALID'], run: runOldMessages },
    {
      name: 'answers of brokers',
      codes: ['KAFKA_PROTOCOL'],
      run: random => decodeAny(apis[Math.floor(random() * apis.length)], random),
    },
    {
      name: 'job files',
      weight: 1,
      codes: ['CONFIG_INVALID'],
      run: random => parseJob(mutateJson(job, random), { source: 'job.json', env: {}, mode: 'backup' }),
    },
    {
      name: 'job files as YAML',
      weight: 1,
      codes: ['CONFIG_INVALID'],
      run: random => {
        const text = mutateBytes(Buffer.from(yamlJob), random).toString('utf8')
        return parseJob(text, { source: 'job.yaml', env: {}, mode: 'restore' })
      },
    },
    ...documentTargets,
    ...serverTargets,
    {
      name: 'archives',
      weight: 1,
      codes: [...damaged, 'BACKUP_NOT_FOUND'],
      run: random => readArchive(forgedArchive(random)),
    },
    {
      name: 'segments',
      weight: 1,
      codes: damaged,
      run: random => {
        const key = segments[Math.floor(random() * segments.length)] ?? ''
        return readArchive(new Map(archive).set(key, mutateBytes(archive.get(key) ?? Buffer.alloc(0), random)))
      },
    },
  ]
}
