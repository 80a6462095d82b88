import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { fetchOffsetsOfGroups } from '../../src/kafka/group-offsets.ts'
import { describeGroupStates, listGroups } from '../../src/kafka/groups.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal
type Script = Partial<Record<keyof typeof API, (request: BrokerRequest, brokerId: number) => BrokerAnswer>>

async function withCluster(script: Script, work: (fake: FakeCluster) => Promise<void>): Promise<void> {
  const offsets = fakeTopic('__consumer_offsets', [[], []], { internal: true })
  offsets.partitions[1] = fakePartition([], { leader: 1 })
  const fake = await startFakeCluster([offsets], 2)
  const byKey = new Map(Object.entries(script).map(([name, answer]) => [API[name as keyof typeof API], answer]))
  fake.state.intercept = (request, brokerId) => byKey.get(request.key)?.(request, brokerId)
  try {
    await work(fake)
  } finally {
    await fake.close()
  }
}

function listed(groups: [name: string, type: string][], errorCode = 0): Writer {
  const writer = new Writer().int32(0).int16(errorCode)
  const one = ([name, type]: [string, string]) => writer.string(name).string('').string('Empty').string(type).noTags()
  return writer.array(groups, one).noTags()
}

describe('listing groups', () => {
  test('asks every broker, and tells apart types that it does not know', () =>
    withCluster(
      {
        listGroups: (_, brokerId) =>
          brokerId === 0
            ? listed([
                ['b', 'Consumer'],
                ['s', 'Share'],
                ['x', 'Novel'],
              ])
            : listed([['a', 'Classic']]),
      },
      async fake => {
        const groups = await listGroups(await fake.open(), never)
        assert.deepEqual(
          groups.map(({ group, type, typeName }) => [group, type, typeName]),
          [
            ['a', 'classic', 'classic'],
            ['b', 'consumer', 'consumer'],
            ['s', 'share', 'share'],
            ['x', 'other', 'novel'],
          ],
        )
      },
    ))

  test('asks all again when one is loading', () =>
    withCluster(
      {
        listGroups: ({ nth }, brokerId) =>
          brokerId === 0 ? listed([['b', 'Classic']]) : nth === 0 ? listed([], 14) : listed([['a', 'Classic']]),
      },
      async fake => {
        const groups = await listGroups(await fake.open(), never)
        assert.deepEqual(
          groups.map(({ group }) => group),
          ['a', 'b'],
        )
      },
    ))

  test('asks all again when a coordinator moved unseen from a broker not asked yet to one that was', () => {
    let home = 1
    return withCluster({}, async fake => {
      fake.state.intercept = (request, brokerId) => {
        if (request.key !== API.listGroups) return undefined
        const answer = listed(brokerId === home && request.nth > 0 ? [['a', 'Classic']] : [])
        const moved = fake.state.topics[0]?.partitions[1]
        if (moved && home === 1) Object.assign(moved, { leader: 0, epoch: 1 })
        home = 0
        return answer
      }
      const groups = await listGroups(await fake.open(), never)
      assert.deepEqual(
        groups.map(({ group }) => group),
        ['a'],
      )
    })
  })

  test('fails, and does not leave groups out, while a partition of the offsets topic has no leader', () =>
    withCluster({ listGroups: () => listed([]) }, async fake => {
      const lost = fake.state.topics[0]?.partitions[1]
      if (lost) lost.leader = -1
      const call = listGroups(await fake.open(), never)
      await assert.rejects(call, { code: 'KAFKA_NOT_READY', message: /__consumer_offsets\/1 has no leader/ })
    }))
})

/** Odd ones at broker 1, even ones at 0, by the number in their names. */
function coordinators({ body }: BrokerRequest): Writer {
  body.int8()
  const groups = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const one = (group: string) => writer.string(group).int32(numberOf(group) % 2)
  return writer.array(groups, group => one(group).string('h').int32(1).int16(0).string(null).noTags()).noTags()
}

const numberOf = (group: string) => Number(group.slice(1))

function fetched({ body }: BrokerRequest, errorOf: (group: string) => number): Writer {
  const groups = body.array(() => {
    const group = body.string()
    assert.equal(body.uvarint(), 0, 'all that the group has')
    body.tags()
    return group
  })
  const writer = new Writer().int32(0)
  const position = (group: string) =>
    writer
      .int32(0)
      .int64(BigInt(numberOf(group)))
      .int32(4)
      .string('m')
      .int16(0)
      .noTags()
  const topic = (group: string) => writer.string('a').array([group], position).noTags()
  return writer
    .array(groups, group => writer.string(group).array([group], topic).int16(errorOf(group)).noTags())
    .noTags()
}

describe('reading many groups', () => {
  const names = Array.from({ length: 200 }, (_, i) => `g${i}`)

  test('takes a few requests for 200 of them, each at its coordinator', () =>
    withCluster({ findCoordinator: coordinators, offsetFetch: request => fetched(request, () => 0) }, async fake => {
      const requests: string[] = []
      const cluster = await fake.open({ onRequest: name => requests.push(name) })
      requests.length = 0
      const found = await fetchOffsetsOfGroups(cluster, names, never)
      assert.deepEqual(found.get('g7'), [{ topic: 'a', partition: 0, offset: 7n, leaderEpoch: 4, metadata: 'm' }])
      assert.equal(found.size, 200)
      const asked = requests.filter(name => name !== 'ApiVersions')
      assert.deepEqual(asked, ['FindCoordinator', 'OffsetFetch', 'OffsetFetch', 'OffsetFetch', 'OffsetFetch'])
    }))

  test('asks again for those alone whose coordinator moved, and keeps the error of one that fails for good', () => {
    const asked: number[] = []
    let isFirst = true
    return withCluster(
      {
        findCoordinator: coordinators,
        offsetFetch: request => {
          const moved = isFirst
          const seen: string[] = []
          const answer = fetched(request, group => {
            seen.push(group)
            return group === 'g4' ? 30 : moved && numberOf(group) < 4 ? 16 : 0
          })
          isFirst = false
          asked.push(seen.length)
          return answer
        },
      },
      async fake => {
        const found = await fetchOffsetsOfGroups(await fake.open(), ['g0', 'g2', 'g4', 'g6'], never)
        assert.deepEqual(asked, [4, 2])
        const denied = found.get('g4')
        assert.ok(denied instanceof KafkaBackupError)
        assert.equal(denied.code, 'KAFKA_DENIED')
        assert.ok(Array.isArray(found.get('g0')) && Array.isArray(found.get('g6')))
      },
    )
  })

  test('gives a group whose coordinator never settles its last error, and the others their answers', () =>
    withCluster(
      { findCoordinator: coordinators, offsetFetch: request => fetched(request, group => (group === 'g1' ? 14 : 0)) },
      async fake => {
        const found = await fetchOffsetsOfGroups(await fake.open(), ['g0', 'g1'], never)
        const failed = found.get('g1')
        assert.ok(failed instanceof KafkaBackupError && failed.code === 'KAFKA_NOT_READY')
        assert.ok(Array.isArray(found.get('g0')))
      },
    ))

  test('describes groups of both protocols, and says of one that does not exist that it is absent', () =>
    withCluster(
      {
        findCoordinator: coordinators,
        consumerGroupDescribe: ({ body }) => {
          const groups = body.array(() => body.string())
          const writer = new Writer().int32(0)
          const one = (group: string) =>
            writer
              .int16(group === 'g0' ? 0 : 69)
              .string(null)
              .string(group)
              .string(group === 'g0' ? 'Stable' : '')
          const rest = () =>
            writer
              .int32(0)
              .int32(0)
              .string('')
              .array([], () => undefined)
              .int32(0)
              .noTags()
          return writer.array(groups, group => [one(group), rest()]).noTags()
        },
        describeGroups: ({ body }) => {
          const groups = body.array(() => body.string())
          assert.ok(!groups.includes('g0'))
          const writer = new Writer().int32(0)
          const one = (group: string) =>
            writer
              .int16(0)
              .string(group)
              .string(group === 'g2' ? 'Empty' : 'Dead')
          const rest = () =>
            writer
              .string('')
              .string('')
              .array([], () => undefined)
              .int32(0)
              .noTags()
          return writer.array(groups, group => [one(group), rest()]).noTags()
        },
      },
      async fake => {
        const found = await describeGroupStates(await fake.open(), ['g0', 'g2', 'g4'], never)
        assert.deepEqual(Object.fromEntries(found), {
          g0: { type: 'consumer', state: 'Stable', members: 0 },
          g2: { type: 'classic', state: 'Empty', members: 0 },
          g4: { type: 'absent', state: 'Dead', members: 0 },
        })
      },
    ))
})
