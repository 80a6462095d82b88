import { initProducerId } from './api/init-producer-id.ts'
import { brokerError } from './broker-errors.ts'
import type { Cluster } from './cluster.ts'

/**
 * Who writes. A broker remembers the sequences of the last five batches that each producer wrote to a partition: a batch
 * that comes again is not stored twice, and a gap is refused.
 *
 * It forgets a producer `producer.id.expiration.ms` (a day) after the time *in its last records*. Of older records it
 * remembers the producer only until it restarts or next looks for expired ones (every ten minutes); a replica that takes
 * over still knows it. Once forgotten, any sequence is taken: a batch that comes again is stored again, a gap passes.
 * Hence one batch of a partition is in flight at a time, its base offset is compared with the expected one, and whoever
 * lost an answer looks at the end of the log before sending the batch again.
 */
export interface ProducerIdentity {
  producerId: bigint
  producerEpoch: number
}

/** A producer id that no other producer has had. */
export function acquireProducerId(cluster: Cluster, signal: AbortSignal): Promise<ProducerIdentity> {
  return cluster.settling(async () => {
    const { errorCode, producerId, producerEpoch } = await cluster.callAny(initProducerId, {}, signal)
    if (errorCode !== 0) throw brokerError(errorCode, 'asking for a producer id')
    return { producerId, producerEpoch }
  }, signal)
}
