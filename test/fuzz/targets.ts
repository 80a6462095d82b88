import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertIndexKeys, assertManifestKeys } from '../../src/archive/assert-keys.ts'
import { describeBackup, listBackups } from '../../src/archive/describe.ts'
import { groupsFileSchema } from '../../src/archive/groups-section.ts'
import { hashOf } from '../../src/archive/hash.ts'
import { parseAs, parseManifest, parsePartitionIndex } from '../../src/archive/manifest.ts'
import { sealJson } from '../../src/archive/seal.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { codecNames } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { decodeKeysFile } from '../../src/encryption/keys-file.ts'
import type { ErrorCode } from '../../src/errors.ts'
import type { Api } from '../../src/kafka/wire/api.ts'
import { Reader } from '../../src/kafka/wire/reader.ts'
import { decodeSnapshot } from '../../src/offsets/snapshot.ts'
import { parseVersion } from '../../src/registry/client/parse-version.ts'
import { encodeBatch, withCrc } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { mutateBytes, mutateJson } from './mutate.ts'

type Random = () => number

export interface Target {
  name: string
  /** The errors that hostile input may lead to; every other one is a bug. */
  codes: readonly ErrorCode[]
  /** Makes one input and gives it to the reader. */
  run(random: Random): unknown
}

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
  ...{ created_at: '2026-01-01T00:00:00.000Z', reason: 'snapshot', cluster_id: null },
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
const keysFile = readFileSync(join(golden, '../encryption-v1/golden/keys/00000001.json'), 'utf8')

const schemaVersion = {
  ...{ subject: 's', version: 1, id: 7, guid: 'g', schemaType: 'AVRO', schema: '"string"', deleted: false },
  ...{ references: [{ name: 'r', subject: 'q', version: 1 }], metadata: { properties: { a: 'b' } }, ruleSet: null },
}

function isJson(document: string): boolean {
  try {
    JSON.parse(document)
    return true
  } catch {
    return false
  }
}

/** With the right seal: a hostile writer can make one. */
function sealed(document: string): Buffer {
  try {
    const { checksum: _, ...rest } = JSON.parse(document)
    return sealJson(rest)
  } catch {
    return Buffer.from(document)
  }
}

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
  await describeBackup(storage, 'golden', never)
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

async function loadApis(): Promise<Api<never, unknown>[]> {
  const folder = join(import.meta.dirname, '../../src/kafka/api')
  const modules = await Promise.all(readdirSync(folder).map(file => import(join(folder, file))))
  return modules
    .flatMap(module => Object.values(module) as Partial<Api<never, unknown>>[])
    .filter((value): value is Api<never, unknown> => typeof value === 'object' && typeof value?.decode === 'function')
}

/** Bytes that look like the flexible encoding: small lengths, short texts, zeros. */
function protocolBytes(random: Random): Buffer {
  const length = Math.floor(random() * 400)
  const byte = () => (random() < 0.6 ? Math.floor(random() * 4) : Math.floor(random() * 256))
  return Buffer.from(Array.from({ length }, byte))
}

export async function loadTargets(): Promise<Target[]> {
  const apis = await loadApis()
  const manifest = JSON.parse(text(manifestAt))
  const index = JSON.parse(text(indexAt))
  return [
    {
      name: 'manifests',
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
    {
      name: 'answers of brokers',
      codes: ['KAFKA_PROTOCOL'],
      run: random => apis[Math.floor(random() * apis.length)]?.decode(new Reader(protocolBytes(random))),
    },
    {
      name: 'answers of registries',
      codes: ['REGISTRY_PROTOCOL', 'REGISTRY_REFUSED'],
      run: random => {
        const answer = mutateJson(schemaVersion, random)
        if (isJson(answer)) parseVersion(JSON.parse(answer), ':.ctx:')
      },
    },
    {
      name: 'job files',
      codes: ['CONFIG_INVALID'],
      run: random => parseJob(mutateJson(job, random), { source: 'job.json', env: {}, mode: 'backup' }),
    },
    { name: 'archives', codes: [...damaged, 'BACKUP_NOT_FOUND'], run: random => readArchive(forgedArchive(random)) },
    {
      name: 'segments',
      codes: damaged,
      run: random => {
        const key = segments[Math.floor(random() * segments.length)] ?? ''
        return readArchive(new Map(archive).set(key, mutateBytes(archive.get(key) ?? Buffer.alloc(0), random)))
      },
    },
  ]
}
