/**
 * What a broker's answer for one batch means to somebody who sends it with a producer id and a sequence:
 *
 *   ok         appended
 *   duplicate  it was there already, and is not stored twice
 *   retry      the same batch can be sent again, to whoever leads the partition then; it may have been appended
 *   sequence   the broker expects another sequence, or knows another holder of the producer id: something else was written
 *              meanwhile, or it has forgotten the producer
 *   too_large  the batch exceeds `max.message.bytes` or `segment.bytes` of the topic
 *   refused    final, and nothing was appended
 */
export type ProduceVerdict = 'ok' | 'duplicate' | 'retry' | 'sequence' | 'too_large' | 'refused'

/** By Kafka's error code; what is not listed is refused. */
const verdicts: Record<number, ProduceVerdict> = {
  0: 'ok',
  46: 'duplicate',
  // The cluster is electing, restarting or has not heard of a new topic everywhere; a checksum broke on the way (2).
  [-1]: 'retry',
  2: 'retry',
  3: 'retry',
  5: 'retry',
  6: 'retry',
  7: 'retry',
  8: 'retry',
  9: 'retry',
  13: 'retry',
  14: 'retry',
  15: 'retry',
  16: 'retry',
  19: 'retry',
  20: 'retry',
  56: 'retry',
  74: 'retry',
  75: 'retry',
  89: 'retry',
  45: 'sequence',
  47: 'sequence',
  59: 'sequence',
  90: 'sequence',
  10: 'too_large',
  18: 'too_large',
}

export function judgeProduceError(errorCode: number): ProduceVerdict {
  return verdicts[errorCode] ?? 'refused'
}
