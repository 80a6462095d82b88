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

/** Holds the first notes of two runs until both are under way: each has seen that there are none. */
function holdFirstNotes(target: FakeTarget): void {
  let commits = 0
  const both = Promise.withResolvers<undefined>()
  target.before = ({ key }) => {
    if (key !== API.offsetCommit || commits === 2) return undefined
    commits++
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
    await Promise.allSettled([target.prepare(1, { existingTopics }), target.prepare(1, { existingTopics })])
    const before = target.fake.clock.monotonic()
    target.before = () => undefined
    await target.shard('0/1', { existingTopics })
    await target.prepare(1, { existingTopics })
    await target.shard('0/1', { existingTopics })
    assert.equal((await target.finish({ existingTopics })).isDone, true)
    assert.deepEqual(target.log('orders'), [[0, 7]])
    assert.ok(before >= 2000, 'it has waited for the notes of another preparation')
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

  test('is not sent again by the next run', () =>
    withFakeTarget(source(), async target => {
      target.fake.state.topics.push(fakeTopic('orders', [[]]))
      const { before } = holdFollowers(target, { looks: 1000, answer: 'hang-up' })
      let isDead = false
      target.before = request => {
        const answer = before(request)
        isDead ||= answer !== undefined
        return isDead ? 'hang-up' : answer
      }
      const existingTopics = 'append'
      await assert.rejects(target.restore({ existingTopics }))
      const { seen, before: later } = holdFollowers(target, { looks: 12, answer: 'timeout' })
      target.before = later
      const { isDone } = await target.restore({ existingTopics })
      assert.equal(isDone, true)
      assert.deepEqual(target.log('orders'), [[0, 12]])
      assert.ok(seen.looks > 12, 'it waited for the followers')
    }))
})

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

function encodeEpochError({ answer }: BrokerRequest): Writer {
  const writer = answer().int32(0)
  writer.array([0], () => {
    const partition = () => writer.int16(FENCED_LEADER_EPOCH).int32(0).int32(-1).int64(-1n).noTags()
    writer.string('orders').array([0], partition).noTags()
  })
  return writer.noTags()
}
