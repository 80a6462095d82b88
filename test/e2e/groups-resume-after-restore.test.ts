import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readGroups } from '../../src/archive/groups.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { dryRunRestoreJob, runRestoreJob } from '../../src/jobs/restore.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets, fetchOffsetsOfGroups } from '../../src/kafka/group-offsets.ts'
import { describeGroupStates, type GroupState } from '../../src/kafka/groups.ts'
import { alterShareOffsets, fetchShareOffsets } from '../../src/kafka/share-offsets.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { kafkaOffsets } from '../../src/offsets/kafka-port.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { planRollback } from '../../src/offsets/plan-rollback.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { memoryBook } from '../offsets/fake-offsets.ts'
import { openLocation } from '../open-location.ts'
import type { GroupRead, KafkaDriver } from '../servers/driver.ts'
import { newestKafkaVersion } from '../servers/kafka-dist.ts'
import { backUp } from './backup-job.ts'
import { earlyAccess, joinStreamsGroup, quickShareGroups, visitShareGroup } from './group-members.ts'
import { holdBack } from './hold-back.ts'
import { openCluster } from './raw-produce.ts'
import { restoreJobText } from './restore-job.ts'
import { killRestore } from './run-cli.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const names = Array.from({ length: 24 }, (_, i) => `group-${String(i).padStart(2, '0')}`)
const protocolOf = (i: number) => (i % 2 === 0 ? ('classic' as const) : ('consumer' as const))
const topics = ['tx', 'latest', 'cut']
const text = (value: string) => Buffer.from(value)

describe('consumer groups resume after a restore', () => {
  const source = useOwnKafka({ properties: earlyAccess })
  const target = useOwnKafka({ version: newestKafkaVersion, properties: quickShareGroups })
  let path = ''
  let cluster: Cluster

  before(async () => {
    path = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    cluster = await openCluster(target.server)
    await seedTransactions(source.driver)
    await seedLatest(source.driver)
    await seedCut(source.driver)
    await readParts()
    await backUp({ servers: source.server.bootstrapServers, path, include: topics })
  })
  after(async () => {
    cluster?.close()
    await rm(path, { recursive: true, force: true })
  })

  /** Each group reads another part: nothing, all, so many of each partition, up to the middle of rolled back records. */
  async function readParts(): Promise<void> {
    const positions = [0, 1, 2].map(partition => ({
      topic: 'tx',
      partition,
      offset: 0n,
      leaderEpoch: -1,
      metadata: '',
    }))
    const direct = await openCluster(source.server)
    await commitGroupOffsets(direct, names[0] ?? '', positions, never)
    direct.close()
    await source.driver.readGroup({ group: names[1] ?? '', topics, protocol: 'consumer' })
    for (const [i, group] of names.entries()) {
      if (i < 2) continue
      const isolation = i % 3 === 0 ? ('read_uncommitted' as const) : ('read_committed' as const)
      const metadata = `of ${group}`
      await source.driver.readGroup({ group, topics, protocol: protocolOf(i), take: 2 * i, isolation, metadata })
    }
  }

  const textOf = (restore: Record<string, unknown>) =>
    restoreJobText({ servers: target.server.bootstrapServers, path, restore: { retention: 'hold', ...restore } })
  const parse = (job: string) => parseJob(job, { source: 'test job', env: process.env, mode: 'restore' })
  const jobOf = (restore: Record<string, unknown>) => parse(textOf(restore))
  const restore = (options: Record<string, unknown> = {}): Promise<BackupRestoreReport> =>
    runRestoreJob(jobOf(options), { onProgress: () => undefined }, never)

  test('each of 24 groups reads on another cluster exactly what it had not read', async () => {
    const planned = await dryRunRestoreJob(jobOf({}), never)
    assert.deepEqual(
      planned.consumerGroups.groups.map(({ group }) => group),
      names,
    )
    const report = await restore()
    assert.deepEqual(report.consumerGroups.totals, { groups: 24, committed: 24, kept: 0, failed: 0 })
    const carried = report.consumerGroups.groups.flatMap(({ committed }) => committed)
    const hows = new Set(carried.map(({ how }) => how))
    assert.deepEqual([...hows].sort(), ['at_end', 'exact', 'next'])
    assert.ok(carried.some(({ sourceOffset, targetOffset }) => sourceOffset !== targetOffset))
    const [first] = (await fetchOffsetsOfGroups(cluster, ['group-07'], never)).values()
    assert.ok(Array.isArray(first) && first.every(one => one.metadata === 'of group-07' && one.leaderEpoch === -1))
    let total = 0
    for (const [i, group] of names.entries()) {
      const member = { group, topics: i === 0 ? ['tx'] : topics, protocol: protocolOf(i) }
      const [unread, read] = await Promise.all([
        source.driver.readGroup(member),
        target.driver.readGroup({ ...member, reset: 'none' }),
      ])
      assert.deepEqual(byPartition(read), byPartition(unread), group)
      total += read.length
    }
    assert.ok(total > 1000, `${total} records`)
  })

  test('a second run leaves advanced offsets alone', async () => {
    const before = await fetchOffsetsOfGroups(cluster, names, never)
    const again = await restore()
    assert.deepEqual(again.consumerGroups.totals, { groups: 24, committed: 0, kept: 24, failed: 0 })
    assert.deepEqual(await fetchOffsetsOfGroups(cluster, names, never), before)
  })

  const elsewhere = (prefix: string) => ({
    topics: { include: ['tx'] },
    topic_mapping: { tx: `${prefix}tx` },
  })

  test('refuses a group with members by name before anything is written, unless it is mapped to another name', async () => {
    await target.driver.holdGroup({ group: 'group-05', topics: ['tx'], protocol: 'consumer' })
    try {
      const consumer_groups = { include: ['group-05', 'group-06'] }
      await assert.rejects(restore({ ...elsewhere('a-'), consumer_groups }), {
        code: 'RESTORE_REFUSED',
        message: /^group group-05: it has 1 active member on the target/,
      })
      const { topics: there } = await cluster.metadata({ topics: null }, never)
      assert.ok(!there.some(({ name }) => name === 'a-tx'))
      const mapping = { 'group-05': 'five' }
      const report = await restore({ ...elsewhere('a-'), consumer_groups: { ...consumer_groups, mapping } })
      assert.deepEqual(
        report.consumerGroups.groups.map(({ target: name, outcome }) => [name, outcome]),
        [
          ['five', 'committed'],
          ['group-06', 'committed'],
        ],
      )
    } finally {
      await target.driver.releaseGroup('group-05')
    }
  })

  test('resumes a run that ended between two groups: each offset is committed once', async () => {
    const mapping = Object.fromEntries(names.map(name => [name, `k-${name}`]))
    const job = jobOf({ ...elsewhere('k-'), consumer_groups: { include: ['*'], mapping } })
    const stop = new AbortController()
    const onProgress = (event: ProgressEvent) => {
      if (event.type === 'groups' && event.done === 5) stop.abort(new KafkaBackupError('INTERRUPTED', 'stopped'))
    }
    await assert.rejects(runRestoreJob(job, { onProgress }, stop.signal))
    const targets = Object.values(mapping)
    const halfway = await fetchOffsetsOfGroups(cluster, targets, never)
    const { consumerGroups } = await runRestoreJob(job, { onProgress: () => undefined }, never)
    const { committed, kept, failed } = consumerGroups.totals
    assert.ok(kept >= 5 && committed >= 1, `${kept} kept, ${committed} committed`)
    assert.deepEqual([committed + kept, failed], [24, 0])
    const end = await fetchOffsetsOfGroups(cluster, targets, never)
    for (const [group, positions] of halfway) {
      if (Array.isArray(positions) && positions.length > 0) assert.deepEqual(end.get(group), positions, group)
    }
  })

  test('releases a group when its topics are restored and compared, and resumes a run that SIGKILL ended after that', async () => {
    const chosen = ['group-00', 'group-01', 'group-08']
    const earlyText = (prefix: string, release: string) => {
      const mapping = Object.fromEntries(chosen.map(name => [name, `${prefix}${name}`]))
      const topic_mapping = { tx: `${prefix}tx`, latest: `${prefix}latest` }
      const consumer_groups = { include: chosen, mapping, release }
      return textOf({ topics: { include: ['tx', 'latest'] }, topic_mapping, consumer_groups, verify: true })
    }
    const early = (prefix: string, release: string) => parse(earlyText(prefix, release))
    await killRestore({ job: earlyText('p-', 'per_topic'), at: 'released', heldBack: '/kafka/latest/' })
    const offsetsOf = async (prefix: string) => {
      const found = await fetchOffsetsOfGroups(
        cluster,
        chosen.map(name => `${prefix}${name}`),
        never,
      )
      return [...found.values()].map(some =>
        (Array.isArray(some) ? some : [])
          .map(({ topic, partition, offset }) => [topic.slice(prefix.length), partition, offset])
          .sort(),
      )
    }
    const [released = [], ...waiting] = await offsetsOf('p-')
    assert.deepEqual([released.length, waiting], [3, [[], []]], 'group-00 has read tx only')
    // Its consumers continue while the restore is not complete, and the next run does not set them back.
    const read = await target.driver.readGroup({ group: 'p-group-00', topics: ['p-tx'], reset: 'none' })
    const advanced = (await offsetsOf('p-'))[0]
    assert.ok(read.length > 0 && !advanced?.every(([, , offset]) => offset === 0n))

    const finished: string[] = []
    const resumed = holdBack('/kafka/latest/', event => {
      if (event.type === 'released') finished.push(event.group)
      return event.type === 'released' && event.group === 'p-group-00'
    })
    const { consumerGroups, verification } = await runRestoreJob(early('p-', 'per_topic'), resumed, never)
    assert.equal(finished[0], 'p-group-00', 'although no record of latest was restored')
    assert.deepEqual(consumerGroups.totals, { groups: 3, committed: 2, kept: 1, failed: 0 })
    assert.ok(consumerGroups.groups.every(({ isEarly }) => isEarly))
    assert.deepEqual([verification?.ok, verification?.totals.topics], [true, 2])
    await runRestoreJob(early('q-', 'end'), { onProgress: () => undefined }, never)
    const [, ...others] = await offsetsOf('p-')
    const [first, ...same] = await offsetsOf('q-')
    assert.deepEqual([released, others], [first, same], 'as at the end')
    assert.deepEqual((await offsetsOf('p-'))[0], advanced)
  })

  test('backs up and restores a Streams group', async () => {
    const direct = await openCluster(source.server)
    const member = await joinStreamsGroup(direct, 'app', 'tx')
    await member.commit('tx', 1, 20n)
    const streams = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    try {
      const taken = await backUp({
        ...{ servers: source.server.bootstrapServers, path: streams, include: ['tx'] },
        backup: { consumer_groups: { include: ['app'] } },
      })
      assert.deepEqual(taken.warnings, [])
      assert.ok(taken.manifest.consumer_groups?.state === 'taken')
      const { groups } = await readGroups(openLocation(streams), taken.manifest.consumer_groups, never)
      const [app] = groups
      const [position] = app?.positions ?? []
      assert.deepEqual([app?.type, app?.members, position?.partition, position?.offset], ['streams', 1, 1, 20n])
      await restoreStreams(streams)
    } finally {
      await member.leave()
      direct.close()
      await rm(streams, { recursive: true, force: true })
    }
  })

  /** To two groups: one that the application has made on the target, and one that is not there yet. */
  async function restoreStreams(from: string): Promise<void> {
    const spec = (prefix: string, group: string) => ({
      ...{ servers: target.server.bootstrapServers, path: from },
      restore: {
        retention: 'hold',
        ...elsewhere(prefix),
        consumer_groups: { include: ['app'], mapping: { app: group } },
      },
    })
    const job = (prefix: string, group: string) =>
      parseJob(restoreJobText(spec(prefix, group)), { source: 'test job', env: process.env, mode: 'restore' })
    await (await joinStreamsGroup(cluster, 'known-app', 's-tx')).leave()
    const known = await runRestoreJob(job('s-', 'known-app'), { onProgress: () => undefined }, never)
    const [committed] = known.consumerGroups.groups[0]?.committed ?? []
    assert.equal(known.warnings.filter(text => text.includes('Streams protocol')).length, 0)
    const again = await joinStreamsGroup(cluster, 'known-app', 's-tx')
    const [found] = (await fetchOffsetsOfGroups(cluster, ['known-app'], never)).values()
    await again.leave()
    assert.ok(Array.isArray(found) && committed)
    assert.deepEqual(
      found.map(one => [one.topic, one.partition, one.offset]),
      [['s-tx', 1, committed.targetOffset]],
    )
    const fresh = await runRestoreJob(job('u-', 'new-app'), { onProgress: () => undefined }, never)
    assert.deepEqual(fresh.consumerGroups.totals, { groups: 1, committed: 1, kept: 0, failed: 0 })
    assert.match(
      fresh.warnings.join(),
      /group new-app: it used the Streams protocol .* Kafka 4\.1 does not and refuses/,
    )
    // Kafka 4.2 and later convert the group.
    const joined = await joinStreamsGroup(cluster, 'new-app', 'u-tx')
    const [kept] = (await fetchOffsetsOfGroups(cluster, ['new-app'], never)).values()
    await joined.leave()
    const { type } = (await describeGroupStates(cluster, ['new-app'], never)).get('new-app') as GroupState
    assert.deepEqual([type, Array.isArray(kept) && kept.length], ['streams', 1])
  }

  test('a share group reads a restored topic from its start offset on; what it acknowledged behind it is delivered again', async () => {
    const { driver, server } = target
    const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    const values = (rows: readonly GroupRead[]) => rows.map(({ value }) => value)
    try {
      await driver.createTopic('queue')
      await driver.createTopic('spare', { partitions: 3 })
      await driver.produce(
        'queue',
        Array.from({ length: 8 }, (_, i) => ({ partition: 0, key: null, value: text(`q${i}`) })),
      )
      // A log that was cut has other offsets after a restore.
      await driver.deleteRecords('queue', 0, 2n)
      await alterShareOffsets(cluster, 'workers', [{ topic: 'queue', partition: 0, offset: 2n }], never)
      await driver.readShare({ group: 'workers', topic: 'queue', count: 6, accept: [2, 3, 6] })
      // A broker writes a start offset down with the acknowledgments that follow.
      await driver.readShare({ group: 'workers', topic: 'queue', count: 3, accept: [5] })
      await visitShareGroup(cluster, 'idle', 'queue')
      const taken = await backUp({
        ...{ servers: server.bootstrapServers, path: folder, include: ['queue'] },
        backup: { consumer_groups: { include: ['workers', 'idle'] } },
      })
      assert.match(taken.warnings.join('\n'), /^share group idle has no start offset on queue\/0: [^\n]*$/)
      await restoreShare(folder)
      const unread = await driver.readShare({ group: 'workers', topic: 'queue', count: 2, accept: [] })
      const read = await driver.readShare({ group: 'workers-2', topic: 'copy-queue', count: 4, accept: [] })
      assert.deepEqual(
        [values(unread), values(read)],
        [
          ['q4', 'q7'],
          ['q4', 'q5', 'q6', 'q7'],
        ],
      )
      await resetShare()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  async function restoreShare(from: string): Promise<void> {
    const consumer_groups = { include: ['workers'], mapping: { workers: 'workers-2' } }
    const restore = { retention: 'hold', topic_mapping: { queue: 'copy-queue' }, consumer_groups }
    const text = restoreJobText({ servers: target.server.bootstrapServers, path: from, restore })
    const job = parseJob(text, { source: 'test job', env: process.env, mode: 'restore' })
    const { consumerGroups, warnings } = await runRestoreJob(job, { onProgress: () => undefined }, never)
    assert.deepEqual(consumerGroups.totals, { groups: 1, committed: 1, kept: 0, failed: 0 })
    assert.match(warnings.join('\n'), /group workers-2: it is a share group, .* delivered again/)
  }

  /** To the end of a topic and to first start offsets on another one, and back. */
  async function resetShare(): Promise<void> {
    const port = kafkaOffsets(cluster)
    const { book } = memoryBook()
    const [before] = (await fetchShareOffsets(cluster, ['workers-2'], never)).values()
    assert.ok(before && !(before instanceof KafkaBackupError))
    const selection = { groups: ['workers-2'], topics: ['copy-queue', 'spare'], partitions: [] }
    const plan = await planOffsets({ strategy: 'latest', selection }, port, never)
    const reset = await runPlan(plan, { port, book }, never)
    assert.deepEqual([reset.groups[0]?.outcome, reset.groups[0]?.planned.positions.length], ['done', 4])
    const snapshot = await book.read(reset.snapshotId ?? '', never)
    const rollback = await runPlan(await planRollback(snapshot, [], port, never), { port, book }, never)
    assert.deepEqual(
      rollback.groups.map(({ outcome, error }) => [outcome, error?.message]),
      [['done', undefined]],
    )
    const [after] = (await fetchShareOffsets(cluster, ['workers-2'], never)).values()
    assert.ok(after && !(after instanceof KafkaBackupError))
    assert.deepEqual([after.offsets, after.unset?.length], [before.offsets, 3])
  }

  test('sets groups before a time window to its first record, and those beyond it to its end', async () => {
    const offset_ranges = { 'tx/0': { start: 30, end: 60 } }
    const consumer_groups = { include: ['group-00', 'group-01'], mapping: { 'group-00': 'zero', 'group-01': 'one' } }
    const report = await restore({ ...elsewhere('b-'), offset_ranges, partitions: { tx: [0] }, consumer_groups })
    const rows = report.consumerGroups.groups.map(({ target: name, leftOut, committed: [one] }) => [
      name,
      leftOut,
      one?.how,
      one?.targetOffset,
    ])
    const restored = BigInt(report.totals.records)
    assert.deepEqual(rows, [
      ['zero', 2, 'before_start', 0n],
      ['one', 6, 'at_end', restored],
    ])
  })

  test('a group skips nothing after a repartition: it resumes at its lowest unread record', async () => {
    const consumer_groups = { include: ['group-08', 'group-01'], mapping: { 'group-08': 'eight', 'group-01': 'uno' } }
    const by_key = { repartition: 'by_key', partition_count: { tx: 5 } }
    const report = await restore({ ...elsewhere('c-'), ...by_key, consumer_groups })
    const [all, some] = report.consumerGroups.groups
    assert.deepEqual([all?.target, some?.target], ['uno', 'eight'])
    assert.ok(all?.committed.every(({ how, rereads }) => how === 'lowest_unread' && rereads === 0n))
    const rereads = some?.committed.reduce((sum, one) => sum + one.rereads, 0n) ?? 0n
    const read = await target.driver.readGroup({ group: 'eight', topics: ['c-tx'], reset: 'none' })
    const values = new Set(read.map(({ value }) => value))
    assert.equal(values.size, read.length)
    const everything = (await source.driver.consume('tx', { isolation: 'read_committed' })).flat()
    // Sixteen of each of three partitions were read; of them so many are read again.
    assert.equal(read.length, everything.length - 3 * 16 + Number(rereads))
    assert.deepEqual(await target.driver.readGroup({ group: 'uno', topics: ['c-tx'], reset: 'none' }), [])
  })
})

function byPartition(records: readonly GroupRead[]): Record<string, (string | null)[]> {
  const groups = Map.groupBy(records, ({ topic, partition }) => `${topic}/${partition}`)
  const entries = [...groups].map(([key, some]) => [key, some.map(({ value }) => value)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Short transactions, every third of them rolled back. */
async function seedTransactions(driver: KafkaDriver): Promise<void> {
  await driver.createTopic('tx', { partitions: 3 })
  for (let round = 0; round < 30; round++) {
    const records = [0, 1, 2].flatMap(partition =>
      [0, 1, 2].map(i => ({ partition, key: text(`k${round}-${i}`), value: text(`tx ${partition} ${round} ${i}`) })),
    )
    const outcome = round % 3 === 1 ? ('abort' as const) : ('commit' as const)
    await driver.transaction('tx', records, { transactionalId: 'writer', outcome })
  }
}

/** Compacted, with holes, and not at work any more. */
async function seedLatest(driver: KafkaDriver): Promise<void> {
  const quick = { 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.01', 'min.compaction.lag.ms': '0' }
  await driver.createTopic('latest', { partitions: 2, configs: { 'cleanup.policy': 'compact', ...quick } })
  const write = (round: number) =>
    driver.produce(
      'latest',
      [0, 1].flatMap(partition =>
        Array.from({ length: 40 }, (_, i) => ({
          partition,
          key: text(`k${i % 3 === 0 ? `${round}-${i}` : i}`),
          value: text(`latest ${partition} ${round} ${i}`),
        })),
      ),
      { flushEvery: 10 },
    )
  for (let round = 0; round < 4; round++) await write(round)
  for (let round = 4; round < 150; round++) {
    const [records = []] = await driver.consume('latest', { isolation: 'read_committed' })
    const end = (await driver.endOffsets('latest'))[0] ?? 0n
    if (BigInt(records.length) < (end * 3n) / 4n) break
    await new Promise(resolve => setTimeout(resolve, 200))
    await driver.produce(
      'latest',
      [0, 1].map(partition => ({ partition, key: text('k'), value: text(`k ${round}`) })),
    )
  }
  await driver.alterTopicConfig('latest', { 'min.compaction.lag.ms': '86400000' })
}

/** A log that begins inside a batch, far from 0. */
async function seedCut(driver: KafkaDriver): Promise<void> {
  await driver.createTopic('cut', { partitions: 2 })
  const records = Array.from({ length: 200 }, (_, i) => ({ partition: i % 2, key: null, value: text(`cut ${i}`) }))
  await driver.produce('cut', records, { lingerMs: 100 })
  await driver.deleteRecords('cut', 0, 33n)
}
