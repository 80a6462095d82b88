import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { backUp, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { restoreJobText } from './restore-job.ts'
import { assertConfig } from './topic-settings.ts'
import { useKafka } from './use-kafka.ts'

const DAY_MS = 86_400_000
/** Until the records are older than their retention; preparing and one shard take a few seconds. */
const LEFT_MS = 20_000

describe('a restore in parts, whose records expire meanwhile', () => {
  const kafka = useKafka()
  let expiresAt = 0

  before(async () => {
    await kafka.driver.createTopic('aging', { partitions: 2, configs: { 'retention.ms': '-1' } })
    expiresAt = Date.now() + LEFT_MS
    // The driver gives each record a time of its own, a millisecond after the one before.
    const bulk = { count: 200, partitions: 2, valueBytes: 100, startTimestamp: expiresAt - DAY_MS - 200 }
    await kafka.driver.seedBulk('aging', bulk)
  })

  const digestsOf = async (topic: string) =>
    (await kafka.driver.digest(topic, { isolation: 'read_committed' })).map(({ count, sha256 }) => [count, sha256])

  test('stops before the broker deletes what it has written, and completes as its message says', () =>
    withFolder(async folder => {
      const [servers, path, config] = [kafka.server.bootstrapServers, join(folder, 'store'), join(folder, 'job.yaml')]
      await backUp({ servers, path, include: ['aging'] })
      const options = { topic_mapping: { aging: 'aging-back' }, topic_config: { 'retention.ms': String(DAY_MS) } }
      await writeFile(config, restoreJobText({ servers, path, restore: { ...options, retention: 'fail' } }))
      const act = (...args: string[]) => callCli(['restore', '--config', config, ...args])

      for (const args of [
        ['--prepare', '--shards', '2'],
        ['--shard', '0/2'],
      ]) {
        const { code, stderr } = await act(...args)
        assert.equal(code, 0, stderr)
      }
      await sleep(Math.max(0, expiresAt + 1000 - Date.now()))
      const assertExpired = async (...args: string[]) => {
        const { code, stderr } = await act(...args)
        assert.equal(code, 1, args.join(' '))
        assert.match(
          stderr,
          /aging-back\b.* its newest record is 24h 00m old; its retention of 86400000 ms would delete all/,
        )
        assert.match(stderr, /set restore\.retention: hold/)
      }
      const holds = async (...args: string[]) => {
        const { code, stderr } = await act(...args, '--set', 'restore.retention=hold')
        assert.equal(code, 0, stderr)
      }
      await assertExpired('--shard', '1/2')
      const early = await act('--finish')
      assert.equal(early.code, 4)
      assert.match(early.stderr, /records are missing for the restore \w+: shard 1 of 2 \(not begun: aging-back\/\d\)/)
      await holds('--shard', '1/2')
      await assertExpired('--finish')
      await assertConfig(kafka.server, 'aging-back', 'retention.ms', '-1')
      await holds('--finish')
      await assertConfig(kafka.server, 'aging-back', 'retention.ms', '-1')
      assert.deepEqual(await digestsOf('aging-back'), await digestsOf('aging'))
    }))
})
