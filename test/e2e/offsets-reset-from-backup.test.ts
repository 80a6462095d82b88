import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commitGroupOffsets, fetchGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { backUp, jobText, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('offsets of a backup', () => {
  const kafka = useKafka()
  test('can be set again on their own cluster', () =>
    withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await kafka.driver.createTopic('events', { partitions: 2 })
      await kafka.driver.seedBulk('events', { count: 200, partitions: 2, valueBytes: 50 })
      const cluster = await openCluster(kafka.server)
      const commit = (offset: bigint) =>
        commitGroupOffsets(
          cluster,
          'g',
          [0, 1].map(partition => ({ topic: 'events', partition, offset, leaderEpoch: -1, metadata: 'm' })),
          never,
        )
      await commit(7n)
      const spec = { servers, path: join(path, 'store'), include: ['events'] }
      await backUp(spec)
      await commit(50n)
      await writeFile(join(path, 'job.yaml'), jobText(spec))
      const args = [
        'offsets',
        'reset',
        '-c',
        join(path, 'job.yaml'),
        '-g',
        '*',
        '--strategy',
        'from_backup',
        '--backup-id',
        'b1',
        '--yes',
      ]
      const { code, stderr, stdout } = await callCli(args)
      assert.equal(code, 0, stdout + stderr)
      assert.deepEqual(
        (await fetchGroupOffsets(cluster, 'g', 'all', never)).map(({ offset, metadata }) => [offset, metadata]),
        [
          [7n, 'm'],
          [7n, 'm'],
        ],
      )
      cluster.close()
    }))
})
