import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeBackup } from '../../src/archive/describe.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { planRestore } from '../../src/restore/plan.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { encodeOldMessage, encodeWrapper } from '../fakes/old-messages.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { plainOptions } from '../restore/plain-options.ts'

const never = new AbortController().signal
const options = {
  backupId: 'b1',
  topics: { include: ['*'], exclude: [] },
  compression: 'auto' as const,
  segmentBytes: 1 << 20,
  continuous: false,
  commitIntervalMs: 2 ** 40,
  memoryBudgetBytes: 4 << 20,
  connectionsPerBroker: 1,
  missingTopics: 'fail' as const,
  onGap: 'warn' as const,
  onTruncation: 'fail' as const,
}

async function withTopic(
  topic: FakeTopic,
  work: (backUp: (run: string) => ReturnType<typeof runBackup>, storage: Storage) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster([topic])
  const storage = openMemoryStorage()
  try {
    const cluster = await fake.open()
    const parts = { cluster, storage, clock: new JumpingClock(), toolVersion: '0', onProgress: () => undefined }
    await work(run => runBackup(options, { ...parts, newRun: () => run }, never), storage)
  } finally {
    await fake.close()
  }
}

const gzipOfV1 = (offsets: readonly bigint[]) =>
  encodeWrapper(
    'gzip',
    offsets.map(offset => ({ offset, key: Buffer.from('k') })),
  )
const partitionOf = ({ manifest }: Awaited<ReturnType<typeof runBackup>>) =>
  manifest.topics[0]?.partitions[0] ?? assert.fail()

/** Replaces the log of the only partition. */
function grow(topic: FakeTopic, batches: Buffer[]): void {
  const [log] = topic.partitions
  Object.assign(log ?? assert.fail(), fakePartition(batches))
}

describe('a backup of a topic in an old message format', () => {
  const v0 = [encodeOldMessage({ magic: 0, offset: 0n }), encodeOldMessage({ magic: 0, offset: 1n, value: null })]
  const v1 = [gzipOfV1([2n, 3n, 4n])]

  test('holds every record as a batch of v2, and says so once', async () => {
    const topic = fakeTopic('old', [[...v0, ...v1, encodeRun(5n, 2)]])
    await withTopic(topic, async (backUp, storage) => {
      const first = await backUp('r1')
      const { converted, records, batches, last_epoch, first_timestamp } = partitionOf(first)
      assert.deepEqual(converted, { formats: ['v0', 'v1'], end_offset: 5n })
      assert.deepEqual([records, batches, last_epoch, first_timestamp], [7, 4, 0, -1n])
      assert.equal(first.warnings.length, 1)
      assert.match(
        first.warnings[0] ?? '',
        /^topic old: 1 partition holds .* v0 and v1\. .*format v2.*no timestamp.*no headers/,
      )
      const read = await readArchivedTopic(storage, 'b1', 'old')
      assert.deepEqual(
        read[0]?.map(({ offset, timestamp }) => [offset, timestamp]),
        [
          ...[0n, 1n].map(offset => [offset, -1n]),
          ...[2n, 3n, 4n].map(offset => [offset, 1_400_000_000_000n]),
          ...[5n, 6n].map(offset => [offset, 1_700_000_000_000n]),
        ],
      )
      const verified = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(verified.problems, [])
      const second = await backUp('r2')
      assert.deepEqual([second.warnings, partitionOf(second).converted], [[], converted])
    })
  })

  test('describe and a restore repeat what cannot be kept, and the setting of the old format is left out', async () => {
    const topic = fakeTopic('old', [v1.map((_, i) => gzipOfV1([BigInt(i)]))], {
      configs: { 'message.format.version': '0.10.2-IV0', 'segment.ms': '77' },
    })
    await withTopic(topic, async (backUp, storage) => {
      await backUp('r1')
      const { manifest } = await backUp('r2')
      const expected = /^topic old: 1 partition holds records that the source has in message format v1\. /
      assert.match((await describeBackup(storage, 'b1', {}, never)).warnings.join('\n'), expected)
      const plan = planRestore(manifest, plainOptions())
      assert.match(plan.warnings[0] ?? '', expected)
      assert.match(plan.warnings[1] ?? '', /message\.format\.version: 0\.10\.2-IV0 is left out/)
      assert.deepEqual(
        plan.topics.map(({ whileFilling }) => [whileFilling['message.format.version'], whileFilling['segment.ms']]),
        [[undefined, '77']],
      )
    })
  })

  test('continues behind them, and recognizes another log in their place', async () => {
    const topic = fakeTopic('old', [v1])
    await withTopic(topic, async backUp => {
      await backUp('r1')
      grow(topic, [...v1, gzipOfV1([5n, 6n])])
      const second = await backUp('r2')
      assert.deepEqual([second.copied.records, partitionOf(second).end_offset], [2, 7n])
      const other = encodeWrapper(
        'gzip',
        [5n, 6n].map(offset => ({ offset, key: Buffer.from('x') })),
      )
      grow(topic, [...v1, other, gzipOfV1([7n])])
      await assert.rejects(backUp('r3'), { code: 'SOURCE_TRUNCATED' })
    })
  })

  test('continues where compaction took the first record of the last message', async () => {
    const topic = fakeTopic('old', [v1])
    await withTopic(topic, async backUp => {
      await backUp('r1')
      grow(topic, [gzipOfV1([3n, 4n]), encodeOldMessage({ offset: 5n })])
      topic.partitions[0] = { ...(topic.partitions[0] ?? assert.fail()), logStart: 0n }
      const second = await backUp('r2')
      assert.deepEqual([second.copied.records, second.newGaps], [1, []])
    })
  })

  test('stops at a message with a wrong checksum, and names it', async () => {
    const bad = encodeOldMessage({ offset: 2n })
    const topic = fakeTopic('old', [[...v0, bad]])
    bad[bad.length - 1] = 99
    await withTopic(topic, async backUp => {
      await assert.rejects(backUp('r1'), { message: /old\/0: the message at offset 2 in format v1 .*wrong CRC-32/ })
    })
  })
})
