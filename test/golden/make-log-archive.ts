import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackup } from '../../src/archive/catalog.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { backUp } from '../e2e/backup-job.ts'
import { openLocation } from '../open-location.ts'
import { segmentsOf } from '../oracle/archive.ts'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { goldenRecords } from './golden-records.ts'

/**
 * Writes an archive of format version 2 to keep: `node test/golden/make-log-archive.ts`, once. A single run begins it with version 1, and a
 * continuous run continues it until it has merged pieces and rolled up commits.
 */
const never = new AbortController().signal
const path = join(import.meta.dirname, 'format-2')
await rm(path, { recursive: true, force: true })
await using server = await startKafka()
await using driver = await openDriver(server)
const job = { servers: server.bootstrapServers, path, backupId: 'golden', include: ['golden'] }
await driver.createTopic('golden', { partitions: 2, configs: { 'segment.bytes': '16777216' } })
await driver.produce('golden', goldenRecords('none'), { compression: 'none' })
await backUp(job)

const stop = new AbortController()
const stopped = new Error('the archive is made')
let rounds = 0
const onProgress = (event: ProgressEvent) => {
  if (event.type === 'round' && event.ok) rounds++
}
const running = backUp({ ...job, backup: { continuous: true, commit_interval: '1s' } }, { onProgress }, stop.signal)
for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
  await driver.produce('golden', goldenRecords(compression), { compression })
  await untilNext()
}
await driver.transaction('golden', goldenRecords('kept'), { transactionalId: 'a', outcome: 'commit' })
await untilNext()
await driver.transaction('golden', goldenRecords('dropped'), { transactionalId: 'b', outcome: 'abort' })
do {
  await untilNext()
  await driver.produce('golden', goldenRecords(`round ${rounds}`), { compression: 'none' })
} while (!(await isMerged()))
await untilNext()
stop.abort(stopped)
await running.catch(error => {
  if (error !== stopped) throw error
})

/** Two rounds: the one that is under way may have read the ends before. */
async function untilNext(): Promise<void> {
  const wanted = rounds + 2
  while (rounds < wanted) await new Promise(resolve => setTimeout(resolve, 50))
}

async function isMerged(): Promise<boolean> {
  const { topics, generation } = await openBackup(openLocation(path), 'golden', never)
  const lists = await Promise.all((topics[0]?.partitions ?? []).map(one => segmentsOf(path, one)))
  return generation > 20 && lists.flat().some(({ piece }) => piece && piece.level > 0)
}

// For the list in golden.test.ts: what the official consumer reads of the source.
for (const { sha256 } of await driver.digest('golden', { isolation: 'read_committed' }))
  process.stdout.write(`${sha256}\n`)
