import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { describeExpected, osoTopics, seedOso } from './oso-records.ts'

/**
 * Lets OSO kafka-backup itself write the archive that golden.test.ts imports:
 * `node test/golden/make-oso.ts <its program> <version>`. README.md next to the archive says how the program was built.
 */
const [program = '', version = ''] = process.argv.slice(2)
const folder = join(import.meta.dirname, `oso-${version}`)
await rm(join(folder, 'archives'), { recursive: true, force: true })
await using server = await startKafka()
await using driver = await openDriver(server)
await seedOso(driver)
for (const compression of ['none', 'zstd', 'lz4']) {
  const job = join(folder, 'job.yaml')
  await writeFile(
    job,
    stringify({
      ...{ mode: 'backup', backup_id: compression, storage: { backend: 'filesystem', path: join(folder, 'archives') } },
      source: { bootstrap_servers: server.bootstrapServers, topics: { include: osoTopics } },
      backup: {
        ...{ compression, stop_at_current_offsets: true, consumer_group_snapshot: true },
        include_offset_headers: compression === 'zstd',
      },
    }),
  )
  const { stderr } = await promisify(execFile)(program, [job], { cwd: folder, env: { RUST_LOG: 'warn' } })
  process.stderr.write(stderr)
  await rm(job)
}
await writeFile(join(folder, 'expected.json'), `${JSON.stringify(await describeExpected(driver), null, 2)}\n`)
