import { randomUUID } from 'node:crypto'
import { withCoordinator } from '../../src/kafka/at-coordinators.ts'
import { brokerError } from '../../src/kafka/broker-errors.ts'
import type { BrokerLink } from '../../src/kafka/broker-link.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import type { Api } from '../../src/kafka/wire/api.ts'
import type { Writer } from '../../src/kafka/wire/writer.ts'

const never = new AbortController().signal

/** By default a member of a share group waits five seconds for its partitions. */
export const quickShareGroups = {
  'group.share.heartbeat.interval.ms': '200',
  'group.share.min.heartbeat.interval.ms': '200',
}

/** Broker settings that switch the protocols on which are early access in Kafka 4.1. */
export const earlyAccess = {
  'group.coordinator.rebalance.protocols': 'classic,consumer,streams,share',
  'unstable.api.versions.enable': 'true',
  'unstable.feature.versions.enable': 'true',
}

interface Beat {
  group: string
  memberId: string
  /** 0 joins, -1 leaves. */
  epoch: number
  sourceTopic: string
}

/** A member of a group of the Streams protocol (KIP-1071), as a Streams application has one a thread. */
export interface StreamsMember {
  memberId: string
  epoch: number
  commit(topic: string, partition: number, offset: bigint): Promise<void>
  leave(): Promise<void>
}

/** Joins with a topology that reads one topic. */
export async function joinStreamsGroup(cluster: Cluster, group: string, sourceTopic: string): Promise<StreamsMember> {
  const memberId = randomUUID()
  const ask = <T>(call: (link: BrokerLink) => Promise<T>) => withCoordinator(cluster, group, call, never)
  const beat = (epoch: number) =>
    ask(link => link.call(streamsGroupHeartbeat, { group, memberId, epoch, sourceTopic }, never))
  // A coordinator that is only just elected refuses for a moment; `withCoordinator` asks again then.
  const { epoch } = await ask(async link => {
    const joined = await link.call(streamsGroupHeartbeat, { group, memberId, epoch: 0, sourceTopic }, never)
    if (joined.errorCode !== 0) throw brokerError(joined.errorCode, `joining ${group}`, joined.errorMessage)
    return joined
  })
  return {
    memberId,
    epoch,
    commit: async (topic, partition, offset) => {
      const request = { group, memberId, epoch, topic, partition, offset }
      const code = await ask(link => link.call(memberOffsetCommit, request, never))
      if (code !== 0) throw new Error(`committing for ${group}: ${code}`)
    },
    leave: async () => {
      await beat(-1)
    },
  }
}

/** Makes a share group (KIP-932): one member joins, and leaves. */
export async function visitShareGroup(cluster: Cluster, group: string, topic: string): Promise<void> {
  const memberId = randomUUID()
  for (const epoch of [0, -1]) {
    const request = { group, memberId, epoch, topic }
    const visit = async (link: BrokerLink) => {
      const code = await link.call(shareGroupHeartbeat, request, never)
      if (code !== 0) throw brokerError(code, `a heartbeat for ${group}`)
    }
    await withCoordinator(cluster, group, visit, never)
  }
}

/** ShareGroupHeartbeat v1; answers with its error code. */
const shareGroupHeartbeat: Api<{ group: string; memberId: string; epoch: number; topic: string }, number> = {
  ...{ name: 'ShareGroupHeartbeat', key: 76, oldest: 1, newest: 1, flexibleFrom: 1 },
  encode: (writer, { group, memberId, epoch, topic }) =>
    writer
      .string(group)
      .string(memberId)
      .int32(epoch)
      .string(null)
      .array(epoch === 0 ? [topic] : null, name => writer.string(name))
      .noTags(),
  decode: reader => {
    reader.int32()
    return reader.int16()
  },
}

/** StreamsGroupHeartbeat v0; the grammar is that of StreamsGroupHeartbeatRequest.json in the official client. */
const streamsGroupHeartbeat: Api<Beat, { errorCode: number; errorMessage: string | null; epoch: number }> = {
  ...{ name: 'StreamsGroupHeartbeat', key: 88, oldest: 0, newest: 0, flexibleFrom: 0 },
  encode: (writer, { group, memberId, epoch, sourceTopic }) => {
    const isJoin = epoch === 0
    writer
      .string(group)
      .string(memberId)
      .int32(epoch)
      .int32(0)
      .string(null)
      .string(null)
      .int32(isJoin ? 60_000 : -1)
    if (isJoin) writeTopology(writer.int8(1), sourceTopic)
    else writer.int8(-1)
    for (let tasks = 0; tasks < 3; tasks++) writer.array(isJoin ? [] : null, nothing)
    writer.string(isJoin ? memberId : null).int8(-1)
    for (let list = 0; list < 3; list++) writer.array(isJoin && list === 0 ? [] : null, nothing)
    writer.boolean(false).noTags()
  },
  decode: reader => {
    reader.int32()
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    reader.string()
    return { errorCode, errorMessage, epoch: reader.int32() }
  },
}

const nothing = () => undefined

function writeTopology(writer: Writer, sourceTopic: string): void {
  writer.int32(0).array(['0'], id => {
    writer.string(id).array([sourceTopic], name => writer.string(name))
    for (let list = 0; list < 5; list++) writer.array([], nothing)
    writer.noTags()
  })
  writer.noTags()
}

interface MemberCommit {
  group: string
  memberId: string
  epoch: number
  topic: string
  partition: number
  offset: bigint
}

/** OffsetCommit v9 by a member, of one partition; answers with its error code. */
const memberOffsetCommit: Api<MemberCommit, number> = {
  ...{ name: 'OffsetCommit', key: 8, oldest: 9, newest: 9, flexibleFrom: 9 },
  encode: (writer, { group, memberId, epoch, topic, partition, offset }) =>
    writer
      .string(group)
      .int32(epoch)
      .string(memberId)
      .string(null)
      .array([topic], name =>
        writer
          .string(name)
          .array([partition], p => writer.int32(p).int64(offset).int32(-1).string('').noTags())
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const [code = -1] = reader
      .array(() => {
        reader.string()
        const codes = reader.array(() => {
          reader.int32()
          const code = reader.int16()
          reader.tags()
          return code
        })
        reader.tags()
        return codes
      })
      .flat()
    return code
  },
}
