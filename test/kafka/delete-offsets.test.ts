import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { findOffsetsByTime } from '../../src/kafka/offsets.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { keepGroups } from '../fakes/committing-groups.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal
const SUBSCRIBED = 86
const NOT_COORDINATOR = 16

/** An answer for the partitions 0, 1, … of the topic `a`, each with its code. */
function encodeDeleted(errorCode: number, codes: readonly number[]): Writer {
  const writer = new Writer({ isFlexible: false }).int16(errorCode).int32(0).int32(1).string('a').int32(codes.length)
  for (const [partition, code] of codes.entries()) writer.int32(partition).int16(code)
  return writer
}

async function deleting(answer: (nth: number) => Writer): Promise<{ requests: number; call: Promise<void> }> {
  const fake = await startFakeCluster([fakeTopic('a', [[], []])])
  keepGroups(fake)
  const { intercept } = fake.state
  let requests = 0
  fake.state.intercept = (request, brokerId) =>
    request.key === API.offsetDelete ? answer(requests++) : intercept(request, brokerId)
  const places = [0, 1].map(partition => ({ topic: 'a', partition }))
  const call = deleteGroupOffsets(await fake.open(), 'g', places, never)
  await call.catch(() => undefined)
  await fake.close()
  return { requests, call }
}

test('positions are taken away, and those that are not there, or of no topic, are fine', async () => {
  await (await deleting(() => encodeDeleted(0, [0, 3]))).call
  await (await deleting(() => encodeDeleted(69, []))).call
})

test('a coordinator that moved is looked for again', async () => {
  const { requests, call } = await deleting(nth => encodeDeleted(nth === 0 ? NOT_COORDINATOR : 0, [0, 0]))
  await call
  assert.equal(requests, 2)
})

test('a topic that members of the group are subscribed to is refused by name', async () => {
  const { call } = await deleting(() => encodeDeleted(0, [0, SUBSCRIBED]))
  await assert.rejects(call, { code: 'GROUP_ACTIVE', message: /group g on a\/1: .*GROUP_SUBSCRIBED_TO_TOPIC \(86\)/ })
})

test('offsets are asked for by their time', async () => {
  const fake = await startFakeCluster([fakeTopic('a', [[]])])
  const asked: bigint[] = []
  fake.state.intercept = ({ key, body }) => {
    if (key !== API.listOffsets) return undefined
    body.position += 4 + 1 + 1 + 2 + 1 + 4 + 4
    asked.push(body.int64())
    const writer = new Writer().int32(0)
    const one = () => writer.int32(0).int16(0).int64(1234n).int64(77n).int32(0).noTags()
    return writer.array([0], () => writer.string('a').array([0], one).noTags()).noTags()
  }
  const found = await findOffsetsByTime(await fake.open(), [{ topic: 'a', partition: 0 }], 1200n, never)
  assert.deepEqual([asked, found], [[1200n], new Map([['a/0', 77n]])])
  await fake.close()
})
