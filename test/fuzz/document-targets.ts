import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessFileSchema } from '../../src/archive/access-section.ts'
import { hashOf } from '../../src/archive/hash.ts'
import { readLiveLeases } from '../../src/archive/lease.ts'
import { parseAs, parseSealed } from '../../src/archive/manifest.ts'
import { readRegistry } from '../../src/archive/read-registry.ts'
import { registryCopiesSchema } from '../../src/archive/registry-section.ts'
import { readShards } from '../../src/archive/shard.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { parseMapping } from '../../src/offsets/mapping.ts'
import { JournalBook } from '../../src/registry/restore/journal.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { goldenKey } from '../golden/make-encrypted.ts'
import { mutateBytes, mutateJson } from './mutate.ts'
import { sealed } from './sealed.ts'
import type { Random, Target } from './target.ts'

const never = new AbortController().signal
const damaged = ['ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW'] as const

const lease = {
  ...{ format: 'kafka-backup-lease', format_version: 1, role: 'writer', kind: 'backup', run: 'r', host: 'h', pid: 1 },
  ...{ tool_version: '1', started_at: '', renewed_at: '', ttl_ms: 1000, machine: 'm', process_start: 5 },
}
const journal = {
  ...{ format: 'kafka-backup-registry-journal', format_version: 1, created_at: '' },
  settings: [{ scope: { kind: 'subject', subject: 's' }, compatibility: 'FULL', mode: null, config: { a: 1 } }],
  ...{ emptyContexts: ['.a'], createdSubjects: ['s'], registered: ['s/1'], fillers: [], imported: ['s/1'] },
}
const partition = {
  ...{ partition: 0, start_offset: 0, end_offset: 5, high_watermark: 5, last_stable_offset: 5, last_epoch: 0 },
  ...{ records: 5, aborted_records: 0, batches: 1, bytes: 100, stored_bytes: 100, segments: 1 },
  ...{ first_timestamp: 1, last_timestamp: 1, gaps: [], open_aborted: [], indexes: [] },
}
const segment = {
  ...{ key: 'b/kafka/t/0/0.r.log', size: 100, blake3: '0'.repeat(64), compression: 'none', plain_size: 100 },
  ...{ start_offset: 0, end_offset: 5, batches: 1, records: 5, aborted_records: 0 },
  ...{ first_timestamp: 1, last_timestamp: 1 },
}
const topic = { name: 't', id: 'i', state: 'current', internal: false, replication_factor: 1, configs: {} }
const shard = {
  ...{ format: 'kafka-backup-shard', format_version: 1, tool_version: '1', backup_id: 'b', generation: 1, shard: 0 },
  ...{ shards: 1, run: 'r', complete: true, created_at: '', cluster: { id: null, brokers: 1 } },
  ...{ selection: { include: ['*'], exclude: [] }, topics: [{ ...topic, partitions: [partition] }] },
  ...{ segments: { 'i/0': [segment] }, warnings: [] },
}
const access = {
  ...{ format: 'kafka-backup-access', format_version: 1 },
  acls: [
    {
      ...{ resource_type: 'TOPIC', resource_name: 't', pattern_type: 'LITERAL', principal: 'User:u', host: '*' },
      ...{ operation: 'READ', permission: 'ALLOW' },
    },
  ],
  quotas: [{ entity: [{ type: 'user', name: null }], key: 'producer_byte_rate', value: '1024' }],
  users: [{ user: 'u', mechanism: 'SCRAM-SHA-256', iterations: 4096 }],
}
const copies = { format: 'kafka-backup-registry-copies', format_version: 1, files: { '_schemas.json': '0'.repeat(64) } }
const mapping = {
  runs: [
    {
      ...{ topic: 'a', partition: 0, offset: 0, target_topic: 'b', target_partition: 0, target_offset: 5 },
      count: 10,
    },
  ],
}
const settings = {
  ...{ format: 'kafka-backup-registry', format_version: 1, flavour: 'confluent', registry_version: null },
  ...{ schema_types: ['AVRO'], mode: null, contexts: ['.', '.a'], max_ids: { '.': 5 }, skipped_deleted: 0 },
  ...{ context_settings: [{ context: '.a', compatibility: 'NONE', mode: null, config: { a: 1 } }], warnings: [] },
}
const global = { compatibility: 'FULL', config: null }
const versions = [{ version: 1, id: 1, deleted: false }]
const metadata = {
  ...{ subject: 's', compatibility: null, mode: null, config: { alias: 'x' } },
  versions: [
    {
      ...{ version: 1, id: 1, schema_type: 'AVRO', references: [{ name: 'r', subject: 's', version: 1 }] },
      ...{ metadata: { properties: { a: 'b' } }, rule_set: null, guid: null, deleted: false, pulled_in: false },
    },
  ],
}

/** One of the files of a registry changed, and served as `registry serve` does. */
async function runRegistryFiles(random: Random): Promise<void> {
  const storage = openMemoryStorage()
  const changed = Math.floor(random() * 4)
  const put = (file: string, at: number, document: unknown) => {
    const text = typeof document === 'string' ? document : JSON.stringify(document)
    const bytes = Buffer.from(at === changed ? mutateJson(document, random) : text)
    storage.objects.set(`b/schema-registry/${file}`, bytes)
    return { file, size: bytes.length, blake3: hashOf(bytes) }
  }
  const { file: schema_file, size, blake3 } = put('v1.avsc', 3, '"string"')
  const named = {
    name: 's',
    schema_type: 'AVRO' as const,
    compatibility: null,
    compatibility_source: 'default' as const,
  }
  const subject = {
    ...named,
    metadata: put('m', 2, metadata),
    versions: versions.map(one => ({ ...one, schema_file, size, blake3 })),
  }
  const section = {
    ...{
      schema_registry_version: '1',
      backup_timestamp: '',
      settings: put('s', 0, settings),
      global: put('g', 1, global),
    },
    ...{ subjects: [subject], id_mapping: {} },
  }
  const snapshot = await readRegistry(storage, { backup_id: 'b', schema_registry: section }, never)
  if (snapshot) new RegistryStore({ isReadOnly: true }, snapshot)
}

async function runStored(
  key: string,
  bytes: Buffer,
  read: (storage: ReturnType<typeof openMemoryStorage>) => Promise<unknown>,
) {
  const storage = openMemoryStorage()
  storage.objects.set(key, bytes)
  storage.modified.set(key, 1000)
  await read(storage)
}

const golden = join(import.meta.dirname, '../golden/encryption-v1/golden')
const encrypted = ['small', 'empty', 'two-frames'].map(name => readFileSync(join(golden, name)))
const goldenKeys = readFileSync(join(golden, 'keys/00000001.json'))

/** An encrypted object with changed bytes, read as a whole and in part. */
async function runEncrypted(random: Random): Promise<void> {
  const storage = openMemoryStorage()
  const at = Math.floor(random() * encrypted.length)
  const name = ['small', 'empty', 'two-frames'][at] ?? ''
  storage.objects.set('golden/keys/00000001.json', goldenKeys)
  storage.objects.set(`golden/${name}`, mutateBytes(encrypted[at] ?? Buffer.alloc(0), random))
  const options = {
    loadCredentials: async () => [goldenKey],
    hasCredentials: true,
    mayAskKms: false,
    clock: systemClock,
  }
  const opened = withEncryption(storage, options)
  await opened.readRange(`golden/${name}`, 0, 10, never).catch(ignoreShort)
  await opened.read(`golden/${name}`, never)
}

function ignoreShort(error: { code?: string }): void {
  if (error.code !== 'STORAGE_SHORT' && error.code !== 'ARCHIVE_DAMAGED' && error.code !== 'ARCHIVE_TOO_NEW')
    throw error
}

/** The other documents of an archive, and files that people hand over. */
export const documentTargets: readonly Target[] = [
  {
    name: 'leases',
    codes: [],
    run: random =>
      runStored('b/leases/r.json', Buffer.from(mutateJson(lease, random)), storage =>
        readLiveLeases(storage, 'b', { storeMs: 1500, machineMs: 1500 }, never),
      ),
  },
  {
    name: 'journals of schema restores',
    codes: damaged,
    run: random => {
      const storage = openMemoryStorage()
      const book = new JournalBook({ storage, clock: systemClock, newRun: () => 'r' }, { backupId: 'b', registry: 'x' })
      storage.objects.set('b/restores/registry-2d711642b726/1.json', sealed(mutateJson(journal, random)))
      return book.read(never)
    },
  },
  {
    name: 'commits of shards',
    codes: damaged,
    run: random =>
      runStored('b/shards/00000001/shard-0-of-1.r-1.json', sealed(mutateJson(shard, random)), storage =>
        readShards(storage, { backupId: 'b', generation: 1 }, never),
      ),
  },
  { name: 'access rules', codes: damaged, run: random => parseAs(accessFileSchema, mutateJson(access, random), 'a') },
  {
    name: 'lists of registry copies',
    codes: damaged,
    run: random => parseSealed(registryCopiesSchema, sealed(mutateJson(copies, random)), 'c'),
  },
  { name: 'registry files', weight: 5, codes: damaged, run: runRegistryFiles },
  {
    name: 'offset mappings',
    codes: ['CONFIG_INVALID'],
    run: random => parseMapping(mutateJson(mapping, random), 'm.json'),
  },
  { name: 'encrypted objects', weight: 2, codes: [...damaged, 'ENCRYPTION_KEY'], run: runEncrypted },
]
