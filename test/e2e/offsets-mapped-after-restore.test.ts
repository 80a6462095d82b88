import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets } from '../../src/kafka/group-offsets.ts'
import type { ConsumedRecord, SeedRecord } from '../servers/driver.ts'
import { backUp } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { restoreByJob, restoreJobText } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const SOURCES = 3
const START = Date.now() - 3_600_000
/** Where a group stands at the source: at the beginning, on a record or a marker in the middle, and at the end. */
const groups = new Map([
  ['fresh', [0n, 0n, 0n]],
  ['middle', [17n, 60n, 103n]],
  ['single', [41n]],
  ['through', [-1n, -1n, -1n]],
])

const seeds = (tag: string, at: number): SeedRecord[] =>
  Array.from({ length: 90 }, (_, i) => ({
    partition: i % SOURCES,
    key: Buffer.from(`k${i}`),
    value: Buffer.from(`${tag} ${i}`),
    timestamp: START + at + i,
  }))

describe('offsets of groups after a restore', () => {
  const kafka = useKafka()
  let cluster: Cluster
  let folder: string
  let path: string
  let snapshotId: string

  before(async () => {
    cluster = await openCluster(kafka.server)
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    path = join(folder, 'store')
    await kafka.driver.createTopic('orders', { partitions: SOURCES })
    for (const round of [0, 1, 2, 3]) {
      await kafka.driver.produce('orders', seeds(`kept ${round}`, 1000 * round), { flushEvery: 20 })
      const outcome = round % 2 === 0 ? 'abort' : 'commit'
      await kafka.driver.transaction('orders', seeds(outcome, 1000 * round + 500), { transactionalId: 't', outcome })
    }
    const ends = await kafka.driver.endOffsets('orders')
    for (const [group, positions] of groups) {
      const offsets = positions.map((offset, partition) => ({
        ...{ topic: 'orders', partition, offset: offset < 0n ? (ends[partition] ?? 0n) : offset },
        ...{ leaderEpoch: -1, metadata: '' },
      }))
      await commitGroupOffsets(cluster, group, offsets, never)
    }
    const at = ['--bootstrap-server', kafka.server.bootstrapServers.join(), '--path', path, '--format', 'json']
    const taken = await callCli(['offsets', 'snapshot', ...at])
    snapshotId = JSON.parse(taken.stdout).snapshot_id
    await backUp({ servers: kafka.server.bootstrapServers, path, include: ['orders'] })
  })
  after(async () => {
    cluster?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const job = (target: string, restore: Record<string, unknown> = {}) => ({
    servers: kafka.server.bootstrapServers,
    path,
    restore: { topic_mapping: { orders: target }, offset_headers: true, ...restore },
  })
  const positionsAt = async (group: string, topic: string) =>
    new Map(
      (await fetchGroupOffsets(cluster, group, 'all', never))
        .filter(one => one.topic === topic)
        .map(({ partition, offset }) => [partition, offset]),
    )
  const originOf = ({ headers }: ConsumedRecord) => {
    const text = (name: string) => headers.find(([one]) => one === name)?.[1]?.toString() ?? ''
    return { partition: Number(text('x-original-partition')), offset: BigInt(text('x-original-offset')) }
  }
  /** The records that the group has not read at the source, by `partition/offset`. */
  const unreadOf = async (group: string, records: readonly ConsumedRecord[]) => {
    const read = await positionsAt(group, 'orders')
    const isUnread = (one: ConsumedRecord) => {
      const { partition, offset } = originOf(one)
      return offset >= (read.get(partition) ?? 2n ** 62n)
    }
    return records.filter(isUnread)
  }
  const reset = async (strategy: string, ...args: string[]) => {
    const place = ['--bootstrap-server', kafka.server.bootstrapServers.join(), '--path', path]
    const asked = ['--group', '*', '--strategy', strategy, '--from-snapshot', snapshotId, ...args]
    const { code, stdout, stderr } = await callCli([
      'offsets',
      'reset',
      ...place,
      ...asked,
      '--yes',
      '--format',
      'json',
    ])
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }

  test('are mapped exactly by headers and by the offset map', async () => {
    await restoreByJob(job('copy'))
    const restored = await kafka.driver.consume('copy', { isolation: 'read_committed' })
    assert.ok(
      (restored[0]?.at(-1)?.offset ?? 0n) + 1n < ((await kafka.driver.endOffsets('orders'))[0] ?? 0n),
      'offsets differ',
    )
    const check = async () => {
      for (const group of groups.keys()) {
        const positions = await positionsAt(group, 'copy')
        assert.equal(positions.size, groups.get(group)?.length, group)
        for (const [partition, position] of positions) {
          const records = restored[partition] ?? []
          const next = records.filter(({ offset }) => offset >= position)
          assert.deepEqual(next, await unreadOf(group, records), `${group} on ${partition}`)
        }
      }
    }
    await reset('header_based', '--topic-mapping', 'orders=copy')
    await check()
    const map = join(folder, 'map.json')
    const config = join(folder, 'restore.yaml')
    await writeFile(config, restoreJobText(job('copy')))
    const mapped = await callCli(['offset-map', '--config', config, '--format', 'json'])
    await writeFile(map, mapped.stdout)
    const { groups: same } = await reset('from_mapping', '--mapping', map)
    for (const { group, outcome } of same) assert.equal(outcome, 'unchanged', `${group}: both ways lead to the same`)
    await check()
  })

  test('are the same with a search from a given time', async () => {
    const since = String(START + 2000)
    const search = async (...args: string[]) => {
      const place = ['--bootstrap-server', kafka.server.bootstrapServers.join(), '--path', path]
      const asked = ['--group', 'through', '--strategy', 'header_based', '--from-snapshot', snapshotId]
      const all = ['offsets', 'plan', ...place, ...asked, '--topic-mapping', 'orders=copy', ...args, '--format', 'json']
      const { code, stdout, stderr } = await callCli(all)
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout).groups[0].positions.map((one: { to: number }) => one.to)
    }
    assert.deepEqual(await search('--since', since), await search())
  })

  test('are refused after a repartition by key, for each partition that mixes several of the source', async () => {
    await restoreByJob(job('spread', { repartition: 'by_key', partition_count: { orders: 5 } }))
    const restored = await kafka.driver.consume('spread', { isolation: 'read_committed' })
    const isMixed = restored.map(records => new Set(records.map(one => originOf(one).partition)).size > 1)
    assert.ok(isMixed.includes(true))
    const place = [
      '--bootstrap-server',
      kafka.server.bootstrapServers.join(),
      '--path',
      path,
      '--yes',
      '--format',
      'json',
    ]
    const asked = ['--group', '*', '--strategy', 'header_based', '--from-snapshot', snapshotId]
    const { code, stdout } = await callCli(['offsets', 'reset', ...place, ...asked, '--topic-mapping', 'orders=spread'])
    assert.ok(code === 1 || code === 4, `exit code ${code}`)
    for (const { group, positions } of JSON.parse(stdout).groups) {
      for (const { partition, problem } of positions) {
        if (isMixed[partition])
          assert.match(problem, /^records of several partitions of the source are mixed here/, group)
      }
      for (const partition of (await positionsAt(group, 'spread')).keys())
        assert.equal(isMixed[partition], false, group)
    }
  })
})
