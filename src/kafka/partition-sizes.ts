import { describeLogDirs } from './api/describe-log-dirs.ts'
import type { Cluster } from './cluster.ts'
import { partitionKey } from './offsets.ts'

/** Bytes on the leaders' disks, by `topic/partition`; undefined where the brokers may not tell us. */
export async function fetchPartitionSizes(
  cluster: Cluster,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, number> | undefined> {
  const metadata = await cluster.metadata({ topics: [...topics] }, signal)
  const sizes = new Map<string, number>()
  for (const { id } of metadata.brokers) {
    const led = metadata.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.filter(({ leader }) => leader === id).map(({ partition }) => partition),
    }))
    const request = { topics: led.filter(({ partitions }) => partitions.length > 0) }
    if (request.topics.length === 0) continue
    const answer = await cluster.settling(async () => {
      const link = await cluster.link(id, signal)
      return link.speaks(describeLogDirs) ? link.call(describeLogDirs, request, signal) : { dirs: [] }
    }, signal)
    // Without Describe on the cluster the answer is empty, or an error of the folder.
    if (answer.dirs.length === 0 || answer.dirs.every(dir => dir.errorCode !== 0)) return undefined
    for (const { name, partitions } of answer.dirs.flatMap(dir => dir.topics)) {
      for (const { partition, sizeBytes, isFuture } of partitions) {
        if (!isFuture) sizes.set(partitionKey({ topic: name, partition }), Number(sizeBytes))
      }
    }
  }
  return sizes
}
