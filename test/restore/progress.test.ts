import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { readProgress, type StreamProgress, writeProgress } from '../../src/restore/progress.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, startFakeCluster } from '../fakes/fake-cluster.ts'
import { identity } from './samples.ts'

const never = new AbortController().signal

interface Committed {
  topic: string
  partition: number
  offset: bigint
  metadata: string
}

/** A broker that keeps what a group commits. */
async function withGroup(work: (fake: FakeCluster, committed: Committed[]) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster([])
  const committed: Committed[] = []
  fake.state.intercept = request => {
    if (request.key === API.findCoordinator) return encodeCoordinator()
    if (request.key === API.offsetCommit) return commit(request, committed)
    return request.key === API.offsetFetch ? encodeCommitted(request, committed) : undefined
  }
  try {
    await work(fake, committed)
  } finally {
    await fake.close()
  }
}

function encodeCoordinator(): Writer {
  const writer = new Writer().int32(0)
  return writer
    .array([0], () => writer.string('g').int32(0).string('h').int32(1).int16(0).string(null).noTags())
    .noTags()
}

function commit({ body }: BrokerRequest, committed: Committed[]): Writer {
  assert.equal(body.string(), '__kafka-backup.restore.r1')
  body.int32()
  body.string()
  body.nullableString()
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const one = { topic, partition: body.int32(), offset: body.int64(), epoch: body.int32(), metadata: body.string() }
      body.tags()
      committed.push(one)
      return one.partition
    })
    body.tags()
    return { topic, partitions }
  })
  const writer = new Writer().int32(0)
  return writer
    .array(topics, ({ topic, partitions }) =>
      writer
        .string(topic)
        .array(partitions, partition => writer.int32(partition).int16(0).noTags())
        .noTags(),
    )
    .noTags()
}

function encodeCommitted({ body }: BrokerRequest, committed: readonly Committed[]): Writer {
  const [group = ''] = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const topics = [...Map.groupBy(committed, one => one.topic)]
  return writer
    .array([group], () => {
      writer.string(group).array(topics, ([topic, each]) => {
        writer.string(topic).array(each, ({ partition, offset, metadata }) => {
          writer.int32(partition).int64(offset).int32(-1).string(metadata).int16(0).noTags()
        })
        writer.noTags()
      })
      writer.int16(0).noTags()
    })
    .noTags()
}

describe('the notes of a restore', () => {
  const mark = { identity, generation: 9, fingerprint: 'abc' }
  const noted = (partition: number, isFilled: boolean, isDone: boolean): StreamProgress => ({
    topic: 'a',
    partition,
    targetOffset: 12n,
    sourcePartition: 99_999,
    sourceOffset: 2n ** 62n,
    sequence: 2_147_483_647,
    isFilled,
    isDone,
  })

  test('come back as they were written', () =>
    withGroup(async (fake, committed) => {
      const cluster = await fake.open()
      const streams = [noted(0, false, false), noted(1, true, false), { ...noted(2, true, true), isMade: true }]
      await writeProgress(cluster, 'r1', { ...mark, streams }, never)
      for (const { metadata } of committed) assert.ok(metadata.length < 1024, 'a broker takes 4096')
      const found = await readProgress(cluster, 'r1', never)
      assert.deepEqual(found, { ...mark, streams: new Map(streams.map(one => [`a/${one.partition}`, one])) })
    }))

  test('are there only when they are ours', () =>
    withGroup(async (fake, committed) => {
      const cluster = await fake.open()
      assert.equal(await readProgress(cluster, 'r1', never), undefined)
      for (const metadata of [
        '',
        'x',
        'null',
        '{"v":2}',
        '{"v":1,"s":0,"o":"-5","p":"7","e":0,"q":0,"g":1,"h":"","d":0}',
        '{"v":1,"o":"5","p":"7","e":0,"q":0,"g":1,"h":"","d":0}',
        '{"v":1,"o":"5","p":"7"}',
      ]) {
        committed.push({ topic: 'a', partition: committed.length, offset: 3n, metadata })
      }
      assert.equal(await readProgress(cluster, 'r1', never), undefined)
    }))
})
