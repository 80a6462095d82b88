import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { listGenerations } from '../../src/archive/catalog.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { copyBackup } from '../../src/index.ts'
import { dryRunJob } from '../../src/jobs/backup.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { pruneAt } from '../../src/jobs/prune.ts'
import { fetchPartitionSizes } from '../../src/kafka/partition-sizes.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords, hashChain, type OracleRecord } from '../oracle/records.ts'
import type { KafkaDriver } from '../servers/driver.ts'
import { backUp, jobText, makeJob, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { restoreByJob } from './restore-job.ts'
import { runCli } from './run-cli.ts'
import { useKafka, useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const silent = { onProgress: () => undefined }
const DELETE_RETENTION_MS = 1500

const hashOfOne = (record: OracleRecord) => hashChain([record])

/** Cleaned as soon as possible; tombstones go after `DELETE_RETENTION_MS`. */
const quicklyCleaned = {
  'segment.ms': '200',
  'min.cleanable.dirty.ratio': '0.001',
  'delete.retention.ms': String(DELETE_RETENTION_MS),
}

describe('keys that were deleted at the source', () => {
  /** Its topics are compacted although nothing is set on them. */
  const source = useOwnKafka({ properties: { 'log.cleanup.policy': 'compact' } })
  const target = useKafka()
  const specOf = (path: string, topic: string, backup = {}) => ({
    servers: source.server.bootstrapServers,
    path,
    include: [topic],
    backup,
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

  /** Waits until the cleaner has removed every record of the key; new segments make it look again. */
  async function untilGone(topic: string, key: string): Promise<void> {
    for (let left = 200; key in (await stateOf(source.driver, topic)); left--) {
      assert.ok(left > 0, `${key} is still on ${topic}`)
      await seed(topic, { clock: String(left) })
      await systemClock.sleep(250, never)
    }
  }

  async function restoreTo(path: string, topic: string, name = topic): Promise<{ warnings: string[] }> {
    const spec = { servers: target.server.bootstrapServers, path }
    const restore = { topics: { include: [topic] }, topic_mapping: { [topic]: name }, retention: 'hold', verify: true }
    return restoreByJob({ ...spec, restore })
  }

  async function assertIntact(path: string): Promise<void> {
    const { problems } = await verifyBackup(openLocation(path), 'b1', { deep: true, ...silent }, never)
    assert.deepEqual(problems, [])
  }

  test('stores and restores the policy of a topic that is compacted by broker default, and prune respects it', () =>
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

  test('stay deleted if a backup or an older copy of it missed their tombstones', () =>
    withFolder(async folder => {
      const [path, copied] = [join(folder, 'here'), join(folder, 'copied')]
      const copy = () => copyBackup({ from: { location: path }, to: { location: copied }, backupId: 'b1' })
      await source.driver.createTopic('users', { partitions: 1, configs: quicklyCleaned })
      await seed('users', { alice: 'a1', bob: 'b1' })
      await backUp(specOf(path, 'users'))
      assert.deepEqual((await copy()).generations, [1])
      await seed('users', { alice: null })
      await untilGone('users', 'alice')

      const dry = await dryRunJob(makeJob(specOf(path, 'users')), never)
      assert.deepEqual([dry.rereads[0]?.topic, dry.rereads[0]?.reason], ['users', 'late'])
      const { warnings: checked } = await checkJob(makeJob(specOf(path, 'users')), never)
      assert.match(checked.join('\n'), /topic users: reads 1 partition again from the log start/)

      await backUp(specOf(path, 'users', { compacted_reread: 'never' }))
      const kept = await describeBackup(openLocation(path), 'b1', {}, never)
      assert.equal(kept.topics[0]?.partitions[0]?.compaction?.may_hold_deleted_keys, true)
      assert.match(kept.warnings.join('\n'), /topic users: 1 partition may hold keys that were deleted at the source/)
      const early = await restoreTo(path, 'users', 'users-early')
      assert.match(early.warnings.join('\n'), /topic users: 1 partition may hold keys that were deleted/)
      assert.equal((await stateOf(target.driver, 'users-early')).alice, 'a1')

      await seed('users', { carol: 'c1' })
      const { reread, manifest } = await backUp(specOf(path, 'users'))
      assert.ok((reread?.records ?? 0) > 0)
      assert.equal(manifest.topics[0]?.partitions[0]?.compaction?.may_hold_deleted_keys, false)
      await assertIntact(path)
      const { warnings } = await restoreTo(path, 'users')
      assert.doesNotMatch(warnings.join('\n'), /deleted at the source/)
      const restored = await stateOf(target.driver, 'users')
      assert.equal('alice' in restored, false, 'alice was deleted at the source')
      assert.deepEqual([restored.bob, restored.carol], ['b1', 'c1'])

      const rules = { match: ['*'], keepLast: 1, graceMs: 0 }
      await pruneAt(openLocation(path), rules, silent, { isDryRun: false }, never)
      await assertIntact(path)
      const logs = (await readdir(path, { recursive: true })).filter(name => name.includes('.log'))
      assert.deepEqual([logs.length, logs.every(name => name.includes('-reread.'))], [1, true])

      // The copy has neither a generation nor a segment in common with the backup now, only its lineage.
      const remaining = await listGenerations(openLocation(path), 'b1', never)
      assert.ok(!remaining.includes(1))
      assert.deepEqual((await copy()).generations, remaining)
      await assertIntact(copied)
      await restoreTo(copied, 'users', 'users-copied')
      const found = await target.driver.consume('users-copied', { isolation: 'read_committed' })
      const archived = await readArchivedTopic(path, 'b1', 'users')
      // The cleaner of the target may have removed those that a later one of their key replaces.
      const left = new Set(found.flat().map(hashOfOne))
      assertSameRecords(
        archived.map(records => records.filter(one => left.has(hashOfOne(one)))),
        found,
      )
      assert.deepEqual(await stateOf(target.driver, 'users-copied'), await stateOf(source.driver, 'users'))
    }))

  test('do not let the backup of a compacted topic grow to more than twice what the source holds', () =>
    withFolder(async path => {
      // Tombstones stay for a day, so that only the size is a reason to read the topic again.
      const configs = { ...quicklyCleaned, 'delete.retention.ms': '86400000' }
      await source.driver.createTopic('counters', { partitions: 1, configs })
      const spec = specOf(path, 'counters')
      const textOf = (run: number) => `${run}`.padEnd(20_000, '.')
      const sizeAt = async () => {
        const cluster = await openCluster({ bootstrapServers: source.server.bootstrapServers })
        const sizes = await fetchPartitionSizes(cluster, ['counters'], never)
        cluster.close()
        return sizes?.get('counters/0') ?? assert.fail('the broker does not tell the size')
      }
      const heldBytes: number[] = []
      for (let run = 1; run <= 3; run++) {
        await seed('counters', { a: textOf(run), b: textOf(run) })
        const { manifest } = await backUp(specOf(path, 'counters', { compacted_reread: 'never' }))
        heldBytes.push(manifest.topics[0]?.partitions[0]?.bytes ?? 0)
      }
      const held = heldBytes.at(-1) ?? 0
      assert.ok(held > 6 * 20_000, `the backup holds ${held} bytes`)
      // New segments make the cleaner look again.
      for (let left = 200; (await sizeAt()) * 2 >= held; left--) {
        assert.ok(left > 0, 'the topic was not cleaned')
        await seed('counters', { clock: String(left) })
        await systemClock.sleep(250, never)
      }

      const { rereads, manifest } = await backUp(spec)
      assert.deepEqual(
        rereads?.map(({ topic, reason }) => [topic, reason]),
        [['counters', 'size']],
      )
      const [partition] = manifest.topics[0]?.partitions ?? []
      assert.ok(partition && partition.bytes * 2 < held, `the backup still holds ${partition?.bytes} of ${held} bytes`)
      assert.equal(partition.compaction?.may_hold_deleted_keys, false)
      await assertIntact(path)
      assert.equal((await backUp(spec)).rereads, undefined)
      await restoreTo(path, 'counters')
      assert.deepEqual(await stateOf(target.driver, 'counters'), await stateOf(source.driver, 'counters'))

      const older = await verifyBackup(openLocation(path), 'b1', { deep: true, generation: 3, ...silent }, never)
      assert.deepEqual([older.problems, older.records], [[], 6])
    }))

  test('lose nothing by a SIGKILL while the topic is re-read, and the next run finishes it', () =>
    withFolder(async path => {
      await source.driver.createTopic('reread', { partitions: 1 })
      const bulk = { count: 9000, partitions: 1, valueBytes: 700, keySpace: 6000, batchSize: 16_000 }
      await source.driver.seedBulk('reread', { ...bulk, startTimestamp: Date.now() - 10_000 })
      await backUp(specOf(path, 'reread'))
      await seed('reread', { alice: 'a1', bob: null })
      const slow = { compacted_reread: 'always', segment_bytes: '1MiB', commit_interval: '1s', rate_limit: '1MiB' }
      const file = join(path, 'job.yaml')
      await writeFile(file, jobText(specOf(path, 'reread', slow)))
      const kill = new AbortController()
      const running = runCli(['backup', '--config', file], { killOn: kill.signal })
      let isOver = false
      void running.then(() => {
        isOver = true
      })
      const reread = async () => (await readdir(path, { recursive: true })).filter(name => name.includes('-reread.'))
      while (!isOver && (await reread()).length < 2) await systemClock.sleep(20, never)
      kill.abort()
      const { code, stderr } = await running
      assert.equal(code, null, `it ended before it was killed: ${stderr}`)
      await assertIntact(path)
      const { reread: again, manifest } = await backUp(specOf(path, 'reread', { compacted_reread: 'always' }))
      assert.ok((again?.records ?? 0) > 0)
      const [partition] = manifest.topics[0]?.partitions ?? []
      assert.deepEqual([partition?.reread, partition?.compaction?.may_hold_deleted_keys], [undefined, false])
      await assertIntact(path)
      await restoreTo(path, 'reread')
      assert.deepEqual(await stateOf(target.driver, 'reread'), await stateOf(source.driver, 'reread'))
    }))
})
