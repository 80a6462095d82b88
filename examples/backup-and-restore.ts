/**
 * Backs a topic up, checks the copy, restores it under another name, and proves that both hold the same records.
 *
 *   node backup-and-restore.ts localhost:9092 orders ./backups
 */
import {
  type BackupJobDocument,
  backup,
  compare,
  KafkaBackupError,
  type ProgressEvent,
  type RestoreJobDocument,
  restore,
  verify,
} from 'kafka-backup'

const [server = 'localhost:9092', topic = 'orders', location = './backups'] = process.argv.slice(2)

// The keys and values of a job file. The path of a file does as well: backup('job.yaml').
const backupJob: BackupJobDocument = {
  mode: 'backup',
  backup_id: topic,
  source: { bootstrap_servers: [server], topics: { include: [topic] } },
  storage: { backend: 'filesystem', path: location },
}
const restoreJob: RestoreJobDocument = {
  mode: 'restore',
  backup_id: topic,
  target: { bootstrap_servers: [server] },
  storage: { backend: 'filesystem', path: location },
  restore: { topic_mapping: { [topic]: `${topic}-restored` } },
}

// Ctrl-C stops the work gracefully. Completed work is kept, and the next run continues from there.
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const { signal } = stop

try {
  const { generation, copied } = await backup(backupJob, { signal, onProgress })
  console.log(`backed up: ${copied.records} new records, generation ${generation}`)

  const { ok, problems } = await verify({ location, backupId: topic, deep: true, signal })
  console.log(ok ? 'verified: every byte is as it was' : `damaged: ${problems.map(({ key }) => key).join(', ')}`)

  const { topics, wasComplete } = await restore(restoreJob, { signal, onProgress })
  const written = topics.reduce((sum, { records }) => sum + records, 0)
  console.log(wasComplete ? 'restored: by an earlier run' : `restored: ${written} records`)

  const { totals } = await compare(restoreJob, { signal })
  console.log(`compared: ${totals.records} records are the same, ${totals.differences} differ`)
} catch (error) {
  if (!(error instanceof KafkaBackupError)) throw error
  console.error(`${error.code}: ${error.message}\n${error.help}`)
  process.exitCode = error.exitCode
}

function onProgress(event: ProgressEvent): void {
  switch (event.type) {
    case 'planned':
      console.log(`  ${event.offsets} ${event.unit ?? 'offsets'} in ${event.partitions} partitions to go`)
      break
    case 'retry':
      console.log(`  again in ${event.delayMs} ms: ${event.what}`)
      break
    case 'warning':
      console.log(`  ${event.message}`)
      break
  }
}
