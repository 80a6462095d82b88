import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const SEVEN_RECORDS = encodeRun(0n, 7)
const REQUEST_TIMED_OUT = 7
const FENCED_LEADER_EPOCH = 74
const OFFSET_NOT_AVAILABLE = 78

/** Holds the first notes of two runs until both are under way: each has seen that there are none. */
function holdFirstNotes(target: FakeTarget, onFirst: () => void = () => undefined): void {
  let commits = 0
  const both = Promise.withResolvers<undefined>()
  target.before = ({ key }) => {
    if (key !== API.offsetCommit || commits === 2) return undefined
    commits++
    if (commits === 1) onFirst()
    if (commits === 2) both.resolve(undefined)
    return both.promise
  }
}

async function endsOf(runs: Promise<{ isDone: boolean }>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(runs)
  return settled.map(run => (run.status === 'fulfilled' ? run.value.isDone : run.reason.code)).toSorted()
}

describe('two first runs of a restore that note their progress at the same time', () => {
  for (const existingTopics of ['append', 'fail'] as const) {
    test(`write the records once (existing_topics: ${existingTopics})`, () =>
      withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        holdFirstNotes(target)
        const ends = await endsOf([target.restore({ existingTopics }), target.restore({ existingTopics })])
        assert.deepEqual(ends, ['RESTORE_CONFLICT', true])
        assert.deepEqual(target.log('orders'), [[0, 7]])
        const { wasComplete } = await target.restore({ existingTopics })
        assert.equal(wasComplete, true)
      }))
  }

  test('write them once where one has created the topic and the other appends to it', () =>
    withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
      const begun = Promise.withResolvers<undefined>()
      holdFirstNotes(target, () => begun.resolve(undefined))
      const first = target.restore({ existingTopics: 'append' })
      await begun.promise
      const ends = await endsOf([first, target.restore({ existingTopics: 'append' })])
      assert.deepEqual(ends, ['RESTORE_CONFLICT', true])
      assert.deepEqual(target.log('orders'), [[0, 7]])
    }))

  test('write them once next to notes of a topic that was deleted', () =>
    withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
      target.fake.state.topics.push(fakeTopic('orders', [[]]))
      await target.restore({ existingTopics: 'append' })
      for (const [key, noted] of [...target.notes]) {
        target.notes.delete(key)
        target.notes.set(key.replace('orders', 'deleted'), noted)
      }
      target.fake.state.topics.splice(0)
      target.fake.state.topics.push(fakeTopic('orders', [[]]))
      holdFirstNotes(target)
      const existingTopics = 'append'
      const ends = await endsOf([target.restore({ existingTopics }), target.restore({ existingTopics })])
      assert.deepEqual(ends, ['RESTORE_CONFLICT', true])
      assert.deepEqual(target.log('orders'), [[0, 7]])
    }))
})

test('two first preparations at the same time agree before a shard begins, or one is refused', () =>
  withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
    target.fake.state.topics.push(fakeTopic('orders', [[]]))
    holdFirstNotes(target)
    const existingTopics = 'append'
    const startedAt = target.fake.clock.monotonic()
    await Promise.allSettled([target.prepare(1, { existingTopics }), target.prepare(1, { existingTopics })])
    const elapsed = target.fake.clock.monotonic() - startedAt
    assert.ok(elapsed >= 2000, `they waited ${elapsed} ms for the notes of each other`)
    target.before = () => undefined
    await target.shard('0/1', { existingTopics })
    await target.prepare(1, { existingTopics })
    await target.shard('0/1', { existingTopics })
    assert.equal((await target.finish({ existingTopics })).isDone, true)
    assert.deepEqual(target.log('orders'), [[0, 7]])
  }))

test('a shard that begins while a preparation waits for others is not taken for one of them', () =>
  withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
    target.fake.state.topics.push(fakeTopic('orders', [[]]))
    const existingTopics = 'append'
    let commits = 0
    let shard: Promise<unknown> | undefined
    target.before = ({ key }) => {
      if (key === API.offsetCommit) commits++
      if (key !== API.offsetFetch || commits !== 1 || shard) return undefined
      shard = target.shard('0/1', { existingTopics })
      return shard.then(() => undefined)
    }
    await target.prepare(1, { existingTopics })
    assert.ok(shard, 'the preparation looks for others after its first notes')
    await shard
    assert.equal((await target.finish({ existingTopics })).isDone, true)
    assert.deepEqual(target.log('orders'), [[0, 7]])
  }))

/** The first request is stored by its leader and not by the followers, which catch up when the log was looked at so often. */
function holdFollowers(target: FakeTarget, { looks, answer }: { looks: number; answer: 'hang-up' | 'timeout' }) {
  const end = 12n
  const log = () => target.topic('orders')?.partitions[0] ?? assert.fail()
  const seen = { looks: 0 }
  const before: FakeTarget['before'] = request => {
    if (request.key === API.produce && request.nth === 0 && log().batches.length === 0) {
      target.append('orders', batchOf(request))
      Object.assign(log(), { highWatermark: 0n, lastStable: 0n })
      return answer === 'timeout' ? encodeTimeout() : 'hang-up'
    }
    const isLook = request.key === API.listOffsets && log().highWatermark < end && log().batches.length > 0
    if (isLook && ++seen.looks > looks) Object.assign(log(), { highWatermark: end, lastStable: end })
    return undefined
  }
  target.before = before
  return { seen, before }
}

describe('a batch that is in the log of the leader and not in those of its followers', () => {
  const source = () => [fakeTopic('orders', [[SEVEN_RECORDS, encodeRun(7n, 5)]])]

  for (const existingTopics of ['append', 'fail'] as const) {
    test(`is not sent again, as the broker may forget its producer (existing_topics: ${existingTopics})`, () =>
      withFakeTarget(source(), async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        const { seen } = holdFollowers(target, { looks: 4, answer: 'timeout' })
        const { isDone } = await target.restore({ existingTopics })
        assert.equal(isDone, true)
        assert.deepEqual(target.log('orders'), [[0, 12]])
        assert.ok(seen.looks > 4, 'it waited for the followers')
      }))
  }

  for (const failure of ['closes the connection', 'leads in another epoch'] as const) {
    test(`is not sent again where the leader first ${failure}`, () =>
      withFakeTarget(source(), async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        const { seen, before } = holdFollowers(target, { looks: 8, answer: 'timeout' })
        let failed = 0
        target.before = request => {
          if (request.key !== API.offsetForLeaderEpoch || failed++ > 0) return before(request)
          return failure === 'closes the connection' ? 'hang-up' : encodeEpochError(request)
        }
        const { isDone } = await target.restore({ existingTopics: 'append' })
        assert.equal(isDone, true)
        assert.deepEqual(target.log('orders'), [[0, 12]])
        assert.ok(failed > 1 && seen.looks > 8, 'it asked again and waited for the followers')
      }))
  }

  for (const looks of [12, 60]) {
    test(`is not sent again by the next run (${looks} looks until the followers have it)`, () =>
      withFakeTarget(source(), async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        const existingTopics = 'append'
        await die(target, holdFollowers(target, { looks: 1000, answer: 'hang-up' }).before, { existingTopics })
        const { seen } = holdFollowers(target, { looks, answer: 'timeout' })
        const startedAt = target.fake.clock.monotonic()
        const { isDone } = await target.restore({ existingTopics })
        assert.equal(isDone, true)
        assert.deepEqual(target.log('orders'), [[0, 12]])
        assert.ok(seen.looks > looks, 'it waited for the followers')
        // Brokers leave out a follower that is behind for 30 seconds.
        assert.ok(looks < 60 || target.fake.clock.monotonic() - startedAt > 30_000, 'it waited long enough')
      }))
  }
})

test('a run that continues waits for a new leader that does not know yet what its followers have', () =>
  withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
    await die(target, ({ key }) => (key === API.produce ? 'hang-up' : undefined), {})
    const { clock } = target.fake
    let readyAt = 0
    target.before = request => {
      if (request.key === API.offsetForLeaderEpoch && readyAt === 0) readyAt = clock.monotonic() + 60_000
      return request.key === API.listOffsets && clock.monotonic() < readyAt ? encodeOffsetError(request) : undefined
    }
    const { isDone } = await target.restore()
    assert.equal(isDone, true)
    assert.deepEqual(target.log('orders'), [[0, 7]])
    assert.ok(readyAt > 0 && clock.monotonic() >= readyAt)
  }))

test('a run that continues asks leaders only for what they have not answered, because leaders may move all the time', () => {
  const count = 24
  const source = fakeTopic(
    'orders',
    Array.from({ length: count }, () => [SEVEN_RECORDS]),
  )
  return withFakeTarget([source], async target => {
    await die(target, ({ key }) => (key === API.produce ? 'hang-up' : undefined), {})
    const asked: number[] = []
    target.before = request => {
      if (request.key !== API.offsetForLeaderEpoch) return undefined
      const partitions = readEpochRequest(request)
      asked.push(partitions.length)
      const moved = partitions.slice(0, asked.length < 4 ? 2 : 0)
      return encodeEpochEnds(request, partitions, moved)
    }
    const { isDone } = await target.restore()
    assert.equal(isDone, true)
    assert.deepEqual(asked, [count, 2, 2, 2])
  })
})

/** Runs a restore whose connections are all closed from the moment on that a request is not answered. */
async function die(
  target: FakeTarget,
  before: FakeTarget['before'],
  changes: Parameters<FakeTarget['restore']>[0],
): Promise<void> {
  let isDead = false
  target.before = request => {
    const answer = isDead ? 'hang-up' : before(request)
    isDead ||= answer !== undefined
    return answer
  }
  await assert.rejects(target.restore(changes))
  target.before = () => undefined
}

/** The batch of a Produce request for one partition. */
function batchOf({ body }: BrokerRequest): Buffer {
  body.nullableString()
  body.int16()
  body.int32()
  let batch = Buffer.alloc(0)
  body.array(() => {
    body.string()
    body.array(() => {
      body.int32()
      const { start, end } = body.bytesRange()
      batch = Buffer.from(body.buffer.subarray(start, end))
      body.tags()
    })
    body.tags()
  })
  return batch
}

function encodeTimeout(): Writer {
  const writer = new Writer()
  const partition = () => {
    writer.int32(0).int16(REQUEST_TIMED_OUT).int64(-1n).int64(-1n).int64(0n)
    writer
      .array([], () => undefined)
      .string(null)
      .noTags()
  }
  writer.array([0], () => writer.string('orders').array([0], partition).noTags())
  return writer.int32(0).noTags()
}

function encodeEpochError(request: BrokerRequest): Writer {
  return encodeEpochEnds(request, [0], [0])
}

/** Partitions of one topic. */
function readEpochRequest({ body }: BrokerRequest): number[] {
  body.int32()
  const topics = body.array(() => {
    body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      body.int32()
      body.int32()
      body.tags()
      return partition
    })
    body.tags()
    return partitions
  })
  return topics.flat()
}

/** Of empty logs. Those in `moved` have another leader epoch. */
function encodeEpochEnds({ answer }: BrokerRequest, partitions: readonly number[], moved: readonly number[]): Writer {
  const writer = answer().int32(0)
  writer.array([0], () => {
    const encode = (partition: number) => {
      const isMoved = moved.includes(partition)
      writer.int16(isMoved ? FENCED_LEADER_EPOCH : 0).int32(partition)
      writer
        .int32(isMoved ? -1 : 0)
        .int64(isMoved ? -1n : 0n)
        .noTags()
    }
    writer.string('orders').array(partitions, encode).noTags()
  })
  return writer.noTags()
}

function encodeOffsetError({ answer }: BrokerRequest): Writer {
  const writer = answer().int32(0)
  const partition = () => writer.int32(0).int16(OFFSET_NOT_AVAILABLE).int64(-1n).int64(-1n).int32(-1).noTags()
  writer.array([0], () => writer.string('orders').array([0], partition).noTags())
  return writer.noTags()
}
