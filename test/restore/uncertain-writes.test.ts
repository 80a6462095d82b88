import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { withFakeTarget } from './fake-target.ts'

const SEVEN_RECORDS = encodeRun(0n, 7)
const REQUEST_TIMED_OUT = 7

describe('two first runs of a restore that note their progress at the same time', () => {
  for (const existingTopics of ['append', 'fail'] as const) {
    test(`write the records once (existing_topics: ${existingTopics})`, () =>
      withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS]])], async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        let commits = 0
        const both = Promise.withResolvers<undefined>()
        // Each has seen that there are no notes when the first one is stored.
        target.before = ({ key }) => {
          if (key !== API.offsetCommit || commits === 2) return undefined
          commits++
          if (commits === 2) both.resolve(undefined)
          return both.promise
        }
        const runs = await Promise.allSettled([target.restore({ existingTopics }), target.restore({ existingTopics })])
        const ends = runs.map(run => (run.status === 'fulfilled' ? run.value.isDone : run.reason.code))
        assert.deepEqual(ends.toSorted(), ['RESTORE_CONFLICT', true])
        assert.deepEqual(target.log('orders'), [[0, 7]])
        const { wasComplete } = await target.restore({ existingTopics })
        assert.equal(wasComplete, true)
      }))
  }
})

describe('a batch that is in the log of the leader and not in those of its followers', () => {
  for (const existingTopics of ['append', 'fail'] as const) {
    test(`is not sent again, as the broker may forget its producer (existing_topics: ${existingTopics})`, () =>
      withFakeTarget([fakeTopic('orders', [[SEVEN_RECORDS, encodeRun(7n, 5)]])], async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        const log = () => target.topic('orders')?.partitions[0] ?? assert.fail()
        let looks = 0
        target.before = request => {
          if (request.key === API.produce && request.nth === 0) {
            target.append('orders', batchOf(request))
            Object.assign(log(), { highWatermark: 0n, lastStable: 0n })
            return encodeTimeout()
          }
          // The followers catch up a little later.
          const end = 12n
          if (request.key === API.listOffsets && log().highWatermark < end && log().batches.length > 0 && ++looks > 4) {
            Object.assign(log(), { highWatermark: end, lastStable: end })
          }
          return undefined
        }
        const { isDone } = await target.restore({ existingTopics })
        assert.equal(isDone, true)
        assert.deepEqual(target.log('orders'), [[0, 12]])
        assert.ok(looks > 4, 'it waited for the followers')
      }))
  }
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
