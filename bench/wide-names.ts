/** What a backup of many partitions is made of; see wide-backup.ts. */
export const SEGMENT_BYTES = 100_000
const PARTITIONS_OF_TOPIC = 10
const STARTS = [0, 1000, 2000, 3000]

/** The partitions with the number and the name of their topic. */
export function* widePartitions(count: number): Generator<{ number: number; topic: string; partition: number }> {
  for (let i = 0; i < count; i++) {
    const number = Math.floor(i / PARTITIONS_OF_TOPIC)
    yield { number, topic: `topic-${String(number).padStart(6, '0')}`, partition: i % PARTITIONS_OF_TOPIC }
  }
}

/** The keys of the segments of a partition, with the offsets at which they begin. */
export function wideSegments(topic: string, partition: number): { key: string; start: bigint }[] {
  return STARTS.map(start => ({
    key: `b/kafka/${topic}/${partition}/${String(start).padStart(20, '0')}.0a0b0c0d.log`,
    start: BigInt(start),
  }))
}
