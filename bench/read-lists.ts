import { openBackup } from '../src/archive/catalog.ts'
import { listSegments } from '../src/archive/indexes.ts'
import { openFilesystemStorage } from '../src/storage/file/filesystem.ts'

/** Reads what a restore's plan needs of a backup: its state, and where the records of each partition are. */
const [path = ''] = process.argv.slice(2)
const { signal } = new AbortController()
const storage = openFilesystemStorage({ path })
const manifest = await openBackup(storage, 'b', signal)
let segments = 0
for (const topic of manifest.topics) {
  for (const partition of topic.partitions) {
    segments += (await listSegments(storage, topic, partition, signal)).length
  }
}
process.stdout.write(`${segments}\n`)
