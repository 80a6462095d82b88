import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../../src/version.ts'
import { backUp } from '../e2e/backup-job.ts'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { goldenRecords } from './golden-records.ts'

/**
 * Writes an archive of today's format to keep: `node test/golden/make-archive.ts`, once a released version. What is there
 * is never rewritten, since every later version must read it.
 */
const path = join(import.meta.dirname, `v${version}`)
await rm(path, { recursive: true, force: true })
await using server = await startKafka()
await using driver = await openDriver(server)
const job = { servers: server.bootstrapServers, path, backupId: 'golden', include: ['golden'] }
await driver.createTopic('golden', { partitions: 2, configs: { 'segment.bytes': '16777216' } })
for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
  await driver.produce('golden', goldenRecords(compression), { compression })
}
await backUp({ ...job, backup: { compression: 'none' } })
await driver.transaction('golden', goldenRecords('kept'), { transactionalId: 'a', outcome: 'commit' })
await driver.transaction('golden', goldenRecords('dropped'), { transactionalId: 'b', outcome: 'abort' })
await backUp({ ...job, backup: { compression: 'zstd' } })

// For the list in golden.test.ts: what the official consumer reads of the source.
for (const { sha256 } of await driver.digest('golden', { isolation: 'read_committed' }))
  process.stdout.write(`${sha256}\n`)
