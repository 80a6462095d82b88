import { readFile } from 'node:fs/promises'
import v8 from 'node:v8'
import type { Storage, StoredObject } from '../src/storage/storage.ts'
import { SEGMENT_BYTES, widePartitions, wideSegments } from './wide-names.ts'

/**
 * Plans a restore through the compiled library as one process: the state of the backup, what goes where, and whether every object is
 * there that will be read. The backup names segments that it does not have, so their listing is made up.
 */
// As bin/kafka-backup.js does.
v8.setFlagsFromString('--semi-space-growth-factor=1')
v8.setFlagsFromString('--heap-growing-percent=50')
const compiled = <T>(module: string): Promise<T> => import(`../dist/${module}.js` as string) as Promise<T>
const { openBackup } = await compiled<typeof import('../src/archive/catalog.ts')>('archive/catalog')
const { parseJob } = await compiled<typeof import('../src/config/load-job.ts')>('config/load-job')
const { restoreOptions } = await compiled<typeof import('../src/jobs/restore.ts')>('jobs/restore')
const { planRestore } = await compiled<typeof import('../src/restore/plan.ts')>('restore/plan')
const { examineArchive } = await compiled<typeof import('../src/restore/examine-archive.ts')>('restore/examine-archive')
const { openFilesystemStorage } =
  await compiled<typeof import('../src/storage/file/filesystem.ts')>('storage/file/filesystem')
const [path = '', partitions = '', config = ''] = process.argv.slice(2)
const { signal } = new AbortController()
const folder = openFilesystemStorage({ path })
const listFolder = folder.list.bind(folder)
const storage: Storage = Object.assign(folder, { list })
const job = parseJob(await readFile(config, 'utf8'), { source: config, env: {}, mode: 'restore' })
const options = restoreOptions(job)
const plan = planRestore(await openBackup(storage, 'b', signal), options)
const { findings, extents } = await examineArchive(storage, plan, { ...options, progress: undefined }, signal)
if (findings.length > 0) throw new Error(`the plan has findings: ${JSON.stringify(findings[0])}`)
process.stdout.write(`${extents.size}\n`)

async function* list(prefix: string): AsyncGenerator<StoredObject> {
  yield* listFolder(prefix, signal)
  if (prefix !== 'b/') return
  for (const { topic, partition } of widePartitions(Number(partitions))) {
    for (const { key } of wideSegments(topic, partition)) yield { key, size: SEGMENT_BYTES, modifiedMs: 0 }
  }
}
