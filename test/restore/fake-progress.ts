import { Writer } from '../../src/kafka/wire/writer.ts'
import { API } from '../fakes/fake-broker.ts'
import type { FakeCluster } from '../fakes/fake-cluster.ts'

/** Lets the target know a restore that this producer made, into these partitions of one topic. */
export function knowRestore(fake: FakeCluster, restoreId: string, producerId: bigint, topic: string, partitions = [0]) {
  const group = `__kafka-backup.restore.${restoreId}`
  const metadata = JSON.stringify({ v: 1, o: '0', p: `${producerId}`, e: 0, q: 0, g: 1, h: '', d: 2 })
  fake.state.intercept = request => {
    const writer = new Writer().int32(0)
    if (request.key === API.findCoordinator) {
      const one = () => writer.string(group).int32(0).string('h').int32(1).int16(0).string(null).noTags()
      return writer.array([0], one).noTags()
    }
    if (request.key !== API.offsetFetch) return undefined
    const one = (partition: number) => writer.int32(partition).int64(0n).int32(-1).string(metadata).int16(0).noTags()
    const topics = () => writer.string(topic).array(partitions, one).noTags()
    return writer.array([0], () => writer.string(group).array([0], topics).int16(0).noTags()).noTags()
  }
}
