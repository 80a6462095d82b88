import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { deleteGroupOffsets, fetchGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic, segmentsOf } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { restoreJobText } from './restore-job.ts'
import { runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('shards in separate processes', () => {
  const kafka = useKafka()
  /** Neighbours go to different shards: every one of the four has some of `plain`. */
  const topics = { wide: 10, plain: 8 }
  const recordsPerTopic = 3600

  before(async () => {
    for (const [name, partitions] of Object.entries(topics)) {
      await kafka.driver.createTopic(name, { partitions })
      const compression = name === 'wide' ? 'zstd' : 'none'
      await kafka.driver.seedBulk(name, { count: recordsPerTopic, partitions, valueBytes: 2700, compression })
    }
  })

  /** The plain bytes of every partition, whatever their segments and frames. */
  async function logsOf(path: string): Promise<Map<string, Buffer>> {
    const logs = new Map<string, Buffer>()
    for (const { name, partitions } of (await openBackup(openLocation(path), 'b1', never)).topics) {
      for (const partition of partitions) {
        const pieces: Buffer[] = []
        for (const segment of await segmentsOf(path, partition)) {
          for await (const bytes of readSegment(openLocation(path), segment, never)) pieces.push(Buffer.from(bytes))
        }
        logs.set(`${name}/${partition.partition}`, Buffer.concat(pieces))
      }
    }
    return logs
  }

  async function assertExact(path: string): Promise<void> {
    for (const name of Object.keys(topics)) {
      const digests = await kafka.driver.digest(name, { isolation: 'read_committed' })
      assert.deepEqual(
        (await readArchivedTopic(path, 'b1', name)).map(hashChain),
        digests.map(digest => digest.sha256),
      )
    }
  }

  const include = Object.keys(topics)

  async function writeJob(folder: string, backup: Record<string, unknown> = {}) {
    const path = join(folder, 'store')
    const config = join(folder, 'job.yaml')
    await writeFile(config, jobText({ servers: kafka.server.bootstrapServers, path, include, backup }))
    const shard = (index: number) => runCli(['backup', '--config', config, '--shard', `${index}/4`])
    const commit = () => callCli(['backup', '--config', config, '--commit'])
    return { path, config, shard, commit }
  }

  test('give partitions that are byte-identical to those of one process', () =>
    withFolder(folder =>
      withFolder(async single => {
        const { path, shard, commit } = await writeJob(folder)
        const shards = await Promise.all([0, 1, 2, 3].map(shard))
        for (const { code, stderr } of shards) assert.equal(code, 0, stderr)
        const committed = await commit()
        assert.equal(committed.code, 0, committed.stderr)
        await backUp({ servers: kafka.server.bootstrapServers, path: single, include })
        assert.deepEqual(await logsOf(path), await logsOf(single))
        await assertExact(path)
        const verified = await callCli(['verify', '--path', path, '--backup-id', 'b1', '--deep'])
        assert.equal(verified.code, 0, verified.stdout)
      }),
    ))

  test('a killed one is named by the commit, and resumes; then the backup is exact', () =>
    withFolder(async folder => {
      const { path, config, shard, commit } = await writeJob(folder, { rate_limit: '1MiB', commit_interval: '1s' })
      const killed = runCli(['backup', '--config', config, '--shard', '2/4', '-v'], {
        signal: 'SIGKILL',
        when: /wrote b1\/shards/,
      })
      const others = await Promise.all([0, 1, 3].map(shard))
      for (const { code, stderr } of others) assert.equal(code, 0, stderr)
      assert.equal((await killed).code, null)
      const early = await commit()
      assert.equal(early.code, 4)
      assert.match(early.stderr, /shards are missing for generation 1 of backup `b1`: 2 \(begun, not finished\) of 4/)
      const again = await callCli(['backup', '--config', config, '--shard', '2/4', '--format', 'json'])
      assert.equal(again.code, 0, again.stderr)
      assert.equal((await commit()).code, 0)
      await assertExact(path)
      const total = (await readArchivedTopic(path, 'b1', 'wide')).flat().length
      assert.ok(JSON.parse(again.stdout).copied.records < total, 'it did not begin anew')
    }))

  /** A restore of both topics under other names, with the group of the source under another name. */
  async function writeRestore(folder: string, suffix: string, restore: Record<string, unknown> = {}) {
    const config = join(folder, `restore${suffix}.yaml`)
    const mapping = Object.fromEntries(include.map(name => [name, `${name}${suffix}`]))
    const groups = { include: ['readers'], mapping: { readers: `readers${suffix}` } }
    const options = { topic_mapping: mapping, consumer_groups: groups, batch_bytes: '64KiB', ...restore }
    const path = join(folder, 'store')
    const servers = kafka.server.bootstrapServers
    await writeFile(config, restoreJobText({ servers, path, restore: options }))
    const act = (...args: string[]) => callCli(['restore', '--config', config, ...args])
    const actApart = (...args: string[]) => runCli(['restore', '--config', config, ...args])
    return { config, act, actApart }
  }

  const digestsOf = async (suffix: string) =>
    Promise.all(include.map(name => kafka.driver.digest(`${name}${suffix}`, { isolation: 'read_committed' })))

  async function groupOf(suffix: string) {
    const cluster = await openCluster(kafka.server)
    try {
      const found = await fetchGroupOffsets(cluster, `readers${suffix}`, 'all', never)
      return found
        .map(({ topic, partition, offset }) => [topic.slice(0, topic.length - suffix.length), partition, offset])
        .sort()
    } finally {
      cluster.close()
    }
  }

  test('restore what one process restores: records, groups and settings, although one of them is killed', () =>
    withFolder(async folder => {
      const servers = kafka.server.bootstrapServers
      await kafka.driver.readGroup({ group: 'readers', topics: include, take: 100 })
      await backUp({ servers, path: join(folder, 'store'), include })
      const one = await writeRestore(folder, '-one')
      assert.equal((await one.act()).code, 0)

      const four = await writeRestore(folder, '-four', { rate_limit: '2MiB', commit_interval: '1s' })
      const early = await four.act('--shard', '1/4')
      assert.equal(early.code, 1)
      assert.match(early.stderr, /cannot be shared: it is not prepared: the target has no record of it/)
      const killed = runCli(['restore', '--config', four.config, '--prepare', '--shard', '2/4', '-vv'], {
        signal: 'SIGKILL',
        when: /records, .* copied/,
      })
      const others = await Promise.all([0, 1, 3].map(index => four.actApart('--prepare', '--shard', `${index}/4`)))
      for (const { code, stderr } of others) assert.equal(code, 0, stderr)
      assert.equal((await killed).code, null)
      const missing = await four.act('--finish')
      assert.equal(missing.code, 4, missing.stderr)
      assert.match(missing.stderr, /records are missing for the restore \w+: shard 2 of 4 \(/)
      assert.deepEqual(await groupOf('-four'), [], 'nothing was changed')
      const again = await four.act('--shard', '2/4', '--format', 'json')
      assert.equal(again.code, 0, again.stderr)
      const finished = await four.act('--finish', '--set', 'restore.verify=true', '--format', 'json')
      assert.equal(finished.code, 0, finished.stderr)
      const { verification, totals } = JSON.parse(finished.stdout)
      assert.deepEqual([verification.ok, totals.already_there, totals.records], [true, 2 * recordsPerTopic, 0])

      const expected = (await digestsOf('')).map(some => some.map(({ count, sha256 }) => [count, sha256]))
      for (const suffix of ['-one', '-four']) {
        const found = (await digestsOf(suffix)).map(some => some.map(({ count, sha256 }) => [count, sha256]))
        assert.deepEqual(found, expected, suffix)
      }
      const group = await groupOf('-four')
      assert.deepEqual(
        group.map(([, , offset]) => offset),
        Array(18).fill(100n),
      )
      assert.deepEqual(group, await groupOf('-one'))
      assert.equal((await four.act('--finish')).code, 0)

      // As a broker deletes the progress of a shard that was done long ago, while others still work.
      const lost = { restore_id: 'lost', existing_topics: 'append', partitions: { wide: [0, 1], plain: [0, 1] } }
      const late = await writeRestore(folder, '-late', lost)
      assert.equal((await late.act('--prepare', '--shards', '2')).code, 0)
      assert.equal((await late.act('--shard', '0/2')).code, 0)
      const progressGroup = '__kafka-backup.restore.lost'
      const cluster = await openCluster(kafka.server)
      try {
        const noted = await fetchGroupOffsets(cluster, progressGroup, 'all', never)
        const filled = noted.filter(({ metadata }) => JSON.parse(metadata).f === 1)
        assert.ok(filled.length > 0)
        await deleteGroupOffsets(cluster, progressGroup, filled, never)
      } finally {
        cluster.close()
      }
      const unknown = await late.act('--shard', '0/2')
      assert.equal(unknown.code, 1)
      assert.match(unknown.stderr, /it is not prepared for /)
      const refused = await late.act('--prepare', '--shards', '2')
      assert.equal(refused.code, 1)
      assert.match(`${refused.stdout}${refused.stderr}`, /the target has lost the progress of this restore for it/)
      const before = await digestsOf('-late')
      assert.equal((await late.act('--finish')).code, 4)
      assert.deepEqual(await digestsOf('-late'), before)
    }))
})
