import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { readGroups } from '../../src/archive/groups.ts'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupReport } from '../../src/backup/run-backup.ts'
import { openLocation } from '../open-location.ts'
import type { KafkaServer } from '../servers/kafka.ts'
import { backUp, withFolder } from './backup-job.ts'
import type { UsedKafka } from './use-kafka.ts'

const never = new AbortController().signal
const names = Array.from({ length: 24 }, (_, i) => `group-${String(i).padStart(2, '0')}`)
const takes = (i: number) => i % 5

/** With a cluster of three brokers that other tests use, too: its start takes most of the CPU time. */
export function describeGroups(kafka: UsedKafka<KafkaServer>): void {
  describe('consumer groups in every backup', () => {
    before(async () => {
      await kafka.driver.createTopic('read', { partitions: 6, replicationFactor: 3 })
      await kafka.driver.createTopic('other', { partitions: 1, replicationFactor: 3 })
      await kafka.driver.seedBulk('read', { count: 60, partitions: 6, valueBytes: 10 })
      await kafka.driver.seedBulk('other', { count: 5, partitions: 1, valueBytes: 10 })
      for (const [i, group] of names.entries()) {
        const protocol = i % 2 === 0 ? ('classic' as const) : ('consumer' as const)
        const topics = i === 3 ? ['read', 'other'] : ['read']
        await kafka.driver.readGroup({ group, topics, protocol, take: takes(i) + 1, metadata: `of ${group}` })
      }
      await kafka.driver.readGroup({ group: 'elsewhere', topics: ['other'], take: 1 })
    })

    const spec = (path: string, backup: Record<string, unknown> = {}) => ({
      servers: kafka.server.bootstrapServers,
      path,
      include: ['read'],
      backup,
    })

    async function groupsOf(path: string, { manifest }: { manifest: Manifest }): Promise<StoredGroup[]> {
      const section = manifest.consumer_groups
      assert.ok(section?.state === 'taken', JSON.stringify(section))
      return (await readGroups(openLocation(path), section, never)).groups
    }

    function assertAll(groups: readonly StoredGroup[]): void {
      assert.deepEqual(
        groups.map(({ group }) => group),
        names,
      )
      for (const [i, { group, type, state, members, error, positions }] of groups.entries()) {
        assert.deepEqual([type, state, members, error], [i % 2 === 0 ? 'classic' : 'consumer', 'Empty', 0, null], group)
        const offset = BigInt(takes(i) + 1)
        const rest = { offset, metadata: `of ${group}`, lag: 10n - offset }
        assert.deepEqual(
          positions.map(({ leader_epoch: _, ...one }) => one),
          [0, 1, 2, 3, 4, 5].map(partition => ({ topic: 'read', partition, ...rest })),
        )
      }
    }

    test('are all 24, of both protocols on three coordinators, read with a few requests', () =>
      withFolder(async path => {
        const requests = new Map<string, number>()
        const coordinators = new Set<string>()
        const report = await backUp(spec(path), {
          onRequest: (name, broker) => {
            requests.set(name, (requests.get(name) ?? 0) + 1)
            if (name === 'OffsetFetch') coordinators.add(broker)
          },
        })
        assertAll(await groupsOf(path, report))
        assert.deepEqual(report.warnings, [])
        assert.equal(coordinators.size, 3)
        const counts = ['ListGroups', 'FindCoordinator', 'OffsetFetch', 'ConsumerGroupDescribe', 'DescribeGroups']
        assert.deepEqual(
          counts.map(name => requests.get(name)),
          [3, 2, 3, 3, 3],
        )
        const verified = await verifyBackup(
          openLocation(path),
          'b1',
          { deep: true, onProgress: () => undefined },
          never,
        )
        assert.deepEqual(verified.problems, [])
      }))

    test('include the last committed offset of a partition in an open transaction, without waiting', () =>
      withFolder(async path => {
        const position = { group: 'group-07', topic: 'read', partition: 2, offset: 9n }
        await kafka.driver.transactOffsets('undecided', position)
        let fetches = 0
        const onRequest = (name: string) => {
          if (name === 'OffsetFetch') fetches++
        }
        const report = await backUp(spec(path), { onRequest }).finally(() =>
          kafka.driver.finishTransaction('undecided', 'abort'),
        )
        assert.ok(fetches < 10, `no retries: ${fetches}`)
        const groups = await groupsOf(path, report)
        assertAll(groups)
        assert.deepEqual(
          groups.flatMap(({ group, undecided = [] }) => undecided.map(one => [group, one.topic, one.partition])),
          [['group-07', 'read', 2]],
        )
        assert.match(
          report.warnings.join(),
          /^consumer group group-07: an open transaction .* read\/2; .* last committed/,
        )
      }))

    test('are complete while their coordinators move', () =>
      withFolder(async path => {
        let moved: Promise<void> | undefined
        const move = async () => {
          for (let partition = 0; partition < 3; partition++) {
            const { partitions } = await kafka.driver.describeTopic('__consumer_offsets')
            const { leader, replicas } = partitions[partition] ?? {}
            const other = replicas?.find(id => id !== leader)
            if (other !== undefined) await kafka.driver.moveLeader('__consumer_offsets', partition, other)
          }
        }
        const report = await backUp(spec(path), {
          onRequest: name => {
            if (name === 'ListGroups') moved ??= move()
          },
        })
        assert.ok(moved)
        await moved
        assertAll(await groupsOf(path, report))
      }))

    test('are those that the job selects, also with members, or none, which the manifest records', () =>
      withFolder(async path => {
        await kafka.driver.holdGroup({ group: 'group-05', topics: ['read'], protocol: 'consumer' })
        const backup = { consumer_groups: { include: ['group-0*'], exclude: ['group-00', '*8'] } }
        const report = await backUp(spec(path, backup)).finally(() => kafka.driver.releaseGroup('group-05'))
        const groups = await groupsOf(path, report)
        assert.deepEqual(
          groups.map(({ group }) => group),
          ['01', '02', '03', '04', '05', '06', '07', '09'].map(number => `group-${number}`),
        )
        const { state, members } = groups[4] ?? {}
        assert.deepEqual([state, members], ['Stable', 1])
        const without: BackupReport = await backUp(spec(path, { consumer_groups: { include: [] } }))
        assert.deepEqual(without.manifest.consumer_groups, { state: 'off' })
        assert.match(without.warnings.join(), /no longer taken .*had 8/)
        const none = await backUp(spec(path, { consumer_groups: { include: ['nobody'] } }))
        assert.equal(none.manifest.consumer_groups?.state, 'taken')
      }))
  })
}
