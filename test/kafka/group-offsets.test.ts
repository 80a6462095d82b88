import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commitGroupOffsets, fetchGroupOffsets, type GroupOffset, splitCommits } from '../../src/kafka/group-offsets.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { deleteGroup } from '../fakes/delete-requests.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal
const offset = (partition: number, changes: Partial<GroupOffset> = {}): GroupOffset => ({
  topic: 'a',
  partition,
  offset: 5n,
  leaderEpoch: -1,
  metadata: '',
  ...changes,
})

interface Script {
  /** Which broker the nth lookup points to, or the error that it is answered with. */
  coordinator: (nth: number) => { brokerId: number } | { errorCode: number }
  answer: (request: BrokerRequest, brokerId: number) => BrokerAnswer
}

async function withGroup(script: Script, work: (fake: FakeCluster) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster([], 2)
  let lookups = 0
  fake.state.intercept = (request, brokerId) => {
    if (request.key === API.findCoordinator) return encodeCoordinator(script.coordinator(lookups++))
    return [API.offsetCommit, API.offsetFetch, API.deleteGroups].includes(request.key)
      ? script.answer(request, brokerId)
      : undefined
  }
  try {
    await work(fake)
  } finally {
    await fake.close()
  }
}

function encodeCoordinator(found: { brokerId: number } | { errorCode: number }): Writer {
  const { brokerId, errorCode } = { brokerId: -1, errorCode: 0, ...found }
  const writer = new Writer().int32(0)
  const one = () => writer.string('g').int32(brokerId).string('h').int32(1).int16(errorCode).string(null).noTags()
  return writer.array([0], one).noTags()
}

function encodeCommitted(codes: Record<number, number>): Writer {
  const writer = new Writer().int32(0)
  return writer
    .array([0], () =>
      writer
        .string('a')
        .array(Object.entries(codes), ([partition, code]) => writer.int32(Number(partition)).int16(code).noTags())
        .noTags(),
    )
    .noTags()
}

/** The partitions that a commit names. */
function committedBy({ body }: BrokerRequest): number[] {
  assert.equal(body.string(), 'g')
  assert.deepEqual([body.int32(), body.string(), body.nullableString()], [-1, '', null], 'by nobody of the group')
  const topics = body.array(() => {
    body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      body.position += 12
      body.nullableString()
      body.tags()
      return partition
    })
    body.tags()
    return partitions
  })
  return topics.flat()
}

const everyCommit = (request: BrokerRequest, code = 0) =>
  encodeCommitted(Object.fromEntries(committedBy(request).map(partition => [partition, code])))

describe('committing for a group', () => {
  test('goes to its coordinator, and follows when it moves or loads', () => {
    const seen: number[] = []
    return withGroup(
      {
        coordinator: nth => (nth === 0 ? { errorCode: 15 } : { brokerId: nth === 1 ? 0 : 1 }),
        answer: (request, brokerId) => {
          seen.push(brokerId)
          return everyCommit(request, seen.length === 1 ? 16 : seen.length === 2 ? 14 : 0)
        },
      },
      async fake => {
        await commitGroupOffsets(await fake.open(), 'g', [offset(0)], never)
        assert.deepEqual(seen, [0, 1, 1])
      },
    )
  })

  test('goes on after the connection to the coordinator is lost', () =>
    withGroup(
      {
        coordinator: () => ({ brokerId: 1 }),
        answer: request => (request.nth === 0 ? 'hang-up' : everyCommit(request)),
      },
      async fake => commitGroupOffsets(await fake.open(), 'g', [offset(0)], never),
    ))

  test('commits again only what a passing fault hit, which a topic is that the coordinator does not know yet', () => {
    const seen: number[][] = []
    return withGroup(
      {
        coordinator: () => ({ brokerId: 0 }),
        answer: request => {
          seen.push(committedBy(request))
          return seen.length === 1 ? encodeCommitted({ 0: 0, 1: 3, 2: 7 }) : encodeCommitted({ 1: 0, 2: 0 })
        },
      },
      async fake => {
        await commitGroupOffsets(await fake.open(), 'g', [offset(0), offset(1), offset(2)], never)
        assert.deepEqual(seen, [
          [0, 1, 2],
          [1, 2],
        ])
      },
    )
  })

  test('names every partition that is refused', () =>
    withGroup(
      { coordinator: () => ({ brokerId: 0 }), answer: () => encodeCommitted({ 0: 0, 1: 25, 2: 12, 3: 14 }) },
      async fake => {
        const call = commitGroupOffsets(
          await fake.open(),
          'g',
          [0, 1, 2, 3].map(each => offset(each)),
          never,
        )
        await assert.rejects(call, {
          code: 'GROUP_ACTIVE',
          message:
            'committing a/1 of group g: the broker answered UNKNOWN_MEMBER_ID (25); ' +
            'committing a/2 of group g: the broker answered OFFSET_METADATA_TOO_LARGE (12): ' +
            'its metadata has 0 characters, more than offset.metadata.max.bytes of the broker',
        })
      },
    ))

  test('fails where the broker leaves a partition out of its answer', () =>
    withGroup({ coordinator: () => ({ brokerId: 0 }), answer: () => encodeCommitted({ 0: 0 }) }, async fake => {
      const call = commitGroupOffsets(await fake.open(), 'g', [offset(0), offset(1)], never)
      await assert.rejects(call, { code: 'KAFKA_PROTOCOL', message: /a\/1/ })
    }))

  test('takes several requests where there is much to store', () => {
    const large = offset(1, { metadata: 'x'.repeat(500) })
    assert.deepEqual(splitCommits('g', [offset(0), large, offset(2), offset(3), offset(4)], 200), [
      [offset(0)],
      [large],
      [offset(2), offset(3), offset(4)],
    ])
    assert.deepEqual(splitCommits('g', [], 200), [])
  })
})

describe("reading a group's offsets", () => {
  const encodeFetched = (groupError: number, codes: number[]) => {
    const writer = new Writer().int32(0)
    const one = ([partition, code]: [number, number]) =>
      writer
        .int32(partition)
        .int64(code === 0 ? BigInt(partition * 10) : -1n)
        .int32(2)
        .string(partition === 0 ? null : `m${partition}`)
        .int16(Math.max(0, code))
        .noTags()
    const topics = () =>
      writer
        .string('a')
        .array([...codes.entries()], one)
        .noTags()
    const groups = () => writer.string('g').array([0], topics).int16(groupError).noTags()
    return writer.array([0], groups).noTags()
  }

  test('waits for undecided transactions, and leaves out what is not committed', () =>
    withGroup(
      {
        coordinator: () => ({ brokerId: 0 }),
        answer: ({ nth }) =>
          nth === 0 ? encodeFetched(16, []) : encodeFetched(0, nth === 1 ? [0, 88, -1] : [0, 0, -1]),
      },
      async fake => {
        assert.deepEqual(await fetchGroupOffsets(await fake.open(), 'g', 'all', never), [
          offset(0, { offset: 0n, leaderEpoch: 2 }),
          offset(1, { offset: 10n, leaderEpoch: 2, metadata: 'm1' }),
        ])
      },
    ))

  test('finds nothing for a group that the broker does not know', () =>
    withGroup({ coordinator: () => ({ brokerId: 0 }), answer: () => encodeFetched(69, []) }, async fake => {
      assert.deepEqual(await fetchGroupOffsets(await fake.open(), 'g', 'all', never), [])
    }))

  test('fails for a group or a partition that we may not read, by name', () =>
    withGroup(
      {
        coordinator: () => ({ brokerId: 0 }),
        answer: ({ nth }) => (nth === 0 ? encodeFetched(30, []) : encodeFetched(0, [0, 29])),
      },
      async fake => {
        const cluster = await fake.open()
        const read = () => fetchGroupOffsets(cluster, 'g', [offset(0), offset(1)], never)
        await assert.rejects(read(), { code: 'KAFKA_DENIED', message: /offsets of group g/ })
        await assert.rejects(read(), { code: 'KAFKA_DENIED', message: /a\/1 of group g/ })
      },
    ))
})

test('deleting a group is done when there is none, and refused while it has members', () =>
  withGroup(
    {
      coordinator: () => ({ brokerId: 0 }),
      answer: ({ nth }) => {
        const writer = new Writer().int32(0)
        return writer.array([nth === 0 ? 69 : 68], code => writer.string('g').int16(code).noTags()).noTags()
      },
    },
    async fake => {
      const cluster = await fake.open()
      await deleteGroup(cluster, 'g', never)
      await assert.rejects(deleteGroup(cluster, 'g', never), { code: 'GROUP_ACTIVE' })
    },
  ))
