import assert from 'node:assert/strict'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openLocation } from '../../src/wiring/parts.ts'
import { pruneAt } from '../../src/wiring/prune-jobs.ts'
import type { KafkaDriver } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { restoreByJob } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const silent = { onProgress: () => undefined }

describe('keys that were deleted at the source', () => {
  /** Its topics are compacted although nothing is set on them. */
  const source = useKafka({ properties: { 'log.cleanup.policy': 'compact' } })
  const target = useKafka()
  const specOf = (path: string, topic: string) => ({
    servers: source.server.bootstrapServers,
    path,
    include: [topic],
  })

  async function seed(topic: string, entries: Record<string, string | null>, driver = source.driver): Promise<void> {
    const records = Object.entries(entries).map(([key, value]) => ({
      partition: 0,
      key: Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
    }))
    await driver.produce(topic, records)
  }

  /** What a reader of the topic finds of each key, tombstones included. */
  async function stateOf(driver: KafkaDriver, topic: string): Promise<Record<string, string | null>> {
    const [records = []] = await driver.consume(topic, { isolation: 'read_committed' })
    return Object.fromEntries(records.map(({ key, value }) => [String(key), value === null ? null : String(value)]))
  }

  async function restoreTo(path: string, topic: string): Promise<{ warnings: string[] }> {
    const spec = { servers: target.server.bootstrapServers, path }
    return restoreByJob({ ...spec, restore: { topics: { include: [topic] }, retention: 'hold', verify: true } })
  }

  test('the policy of a topic that is compacted by default is in the backup, kept from a prune and restored', () =>
    withFolder(async path => {
      await source.driver.createTopic('by-default', { partitions: 1 })
      await seed('by-default', { alice: 'a1' })
      const { manifest } = await backUp(specOf(path, 'by-default'))
      assert.deepEqual(manifest.topics[0]?.configs, {})
      assert.equal(manifest.topics[0]?.effective_configs?.['cleanup.policy'], 'compact')
      const then = new Date(Date.now() - 40 * 86_400_000)
      for (const name of await readdir(path, { recursive: true })) {
        if (/\.(log|zst|json)$/.test(name)) await utimes(join(path, name), then, then)
      }
      await seed('by-default', { bob: 'b1' })
      await backUp(specOf(path, 'by-default'))
      const rules = { match: ['*'], olderThanMs: 30 * 86_400_000, graceMs: 0 }
      const { backups } = await pruneAt(openLocation(path), rules, silent, { isDryRun: false }, never)
      assert.deepEqual(
        [backups[0]?.trimmed.segments, backups[0]?.notes],
        [0, ['compacted, and so not cut: by-default']],
      )
      const { warnings } = await restoreTo(path, 'by-default')
      assert.match(warnings.join('\n'), /by-default: .*cleanup\.policy was compact, here delete/)
      assert.deepEqual(await stateOf(target.driver, 'by-default'), { alice: 'a1', bob: 'b1' })
      const cluster = await openCluster({ bootstrapServers: target.server.bootstrapServers })
      const own = (await cluster.topicConfigs(['by-default'], never)).get('by-default')
      cluster.close()
      assert.equal(own?.['cleanup.policy'], 'compact')
    }))
})
