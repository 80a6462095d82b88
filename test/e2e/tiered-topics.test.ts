import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fetchLocalStarts } from '../../src/kafka/offsets.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { type KafkaDriver, openDriver } from '../servers/driver.ts'
import { type KafkaServer, startKafka } from '../servers/kafka.ts'
import { defaultKafkaVersion } from '../servers/kafka-dist.ts'
import { tieredProperties, tieredStorageClassPath } from '../servers/tiered-storage.ts'
import { waitFor } from '../wait-for.ts'
import { backUp, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { restore } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const committed = { isolation: 'read_committed' } as const

describe('topics whose old records are in remote storage', () => {
  const plain = useKafka()
  let folder = ''
  let server: KafkaServer
  let driver: KafkaDriver

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-tiers-'))
    const classPath = await tieredStorageClassPath(defaultKafkaVersion)
    server = await startKafka({ classPath, properties: tieredProperties(join(folder, 'remote')) })
    driver = await openDriver(server)
    await seed()
  })
  after(async () => {
    await driver?.close()
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Four segments, of which all but the last go to remote storage alone. */
  async function seed(): Promise<void> {
    const configs = { 'remote.storage.enable': 'true', 'local.retention.bytes': '1', 'segment.bytes': String(1 << 20) }
    await driver.createTopic('old', { configs })
    await driver.createTopic('plain')
    const value = Buffer.alloc(100_000, 'x')
    const records = Array.from({ length: 40 }, (_, i) => ({ partition: 0, key: Buffer.from(String(i)), value }))
    await driver.produce('old', records, { flushEvery: 5 })
    await driver.produce('plain', records.slice(0, 5))
    const cluster = await openCluster(server)
    try {
      const place = { topic: 'old', partition: 0 }
      const isMoved = async () => ((await fetchLocalStarts(cluster, [place], never)).get('old/0') ?? 0n) > 20n
      await waitFor('all but the last segment are in remote storage alone', isMoved)
    } finally {
      cluster.close()
    }
    assert.deepEqual(await driver.startOffsets('old'), [0n])
  }

  test('are backed up from their log start; a remote storage that fails is asked again, and no other topic waits for it', () =>
    withFolder(async path => {
      const remote = join(folder, 'remote')
      const away = join(folder, 'away')
      await moveFiles(remote, away)
      const seen: string[] = []
      let returned: Promise<void> | undefined
      const { manifest } = await backUp(
        { servers: server.bootstrapServers, path, include: ['old', 'plain'] },
        {
          onProgress: event => {
            if (event.type === 'copied' && event.topic === 'plain') seen.push('plain')
            if (event.type !== 'retry' || seen.includes('retry') || !seen.includes('plain')) return
            seen.push('retry')
            returned = moveFiles(away, remote)
            // It is awaited after the backup; until then a failure must not end the process.
            returned.catch(() => undefined)
          },
        },
      )
      await returned
      assert.deepEqual([...new Set(seen)], ['plain', 'retry'])
      assert.deepEqual(
        manifest.topics.map(({ name, partitions }) => [name, partitions.flatMap(({ gaps }) => gaps)]),
        [
          ['old', []],
          ['plain', []],
        ],
      )
      assertSameRecords(await driver.consume('old', committed), await readArchivedTopic(path, 'b1', 'old'))
      const { warnings } = await restore({ servers: plain.server.bootstrapServers, path, mapping: [['old', 'old']] })
      assert.match(warnings.join('\n'), /topic old: .*remote\.storage\.enable/)
      assertSameRecords(await driver.consume('old', committed), await plain.driver.consume('old', committed))
    }))
})

/** One by one, because the broker makes folders where it looks for files. */
async function moveFiles(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter(one => one.isFile())) {
    const path = join(entry.parentPath, entry.name)
    const moved = join(to, relative(from, path))
    await mkdir(dirname(moved), { recursive: true })
    await rename(path, moved)
  }
}
