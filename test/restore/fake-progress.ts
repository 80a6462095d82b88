import { Writer } from '../../src/kafka/wire/writer.ts'
import { fingerprintOf, type RestorePlan } from '../../src/restore/plan.ts'
import { restoreGroup } from '../../src/restore/progress.ts'
import { API } from '../fakes/fake-broker.ts'
import type { FakeCluster } from '../fakes/fake-cluster.ts'

/** Lets the target know a finished restore by this plan and producer, into these partitions of its one topic. */
export function knowRestore(
  fake: FakeCluster,
  restoreId: string,
  producerId: bigint,
  plan: RestorePlan,
  partitions = [0],
): void {
  const group = restoreGroup(restoreId)
  const topic = plan.topics[0]?.name ?? ''
  const note = {
    v: 1,
    s: 0,
    o: '0',
    p: `${producerId}`,
    e: 0,
    q: 0,
    g: plan.generation,
    h: fingerprintOf(plan),
    r: '1',
    d: 2,
  }
  const metadata = JSON.stringify(note)
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
