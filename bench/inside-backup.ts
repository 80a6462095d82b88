import { openBackup } from '../src/archive/catalog.ts'
import { listSegments } from '../src/archive/indexes.ts'
import { openLocation } from '../test/open-location.ts'

/** A little inside of the times of the backup, so that nearly all of it is restored. */
export async function windowOf(path: string): Promise<{ start: number; end: number }> {
  const { topics } = await openBackup(openLocation(path), 'bench', new AbortController().signal)
  const partitions = topics.flatMap(topic => topic.partitions)
  const first = Math.max(...partitions.map(one => Number(one.first_timestamp)))
  const last = Math.min(...partitions.map(one => Number(one.last_timestamp)))
  const margin = (last - first) / 1000
  return { start: Math.round(first + margin), end: Math.round(last - margin) }
}

/** Small appends of a topic that share objects with others. */
export async function countPieces(path: string, name: string): Promise<number> {
  const { signal } = new AbortController()
  const storage = openLocation(path)
  const { topics } = await openBackup(storage, 'bench', signal)
  let pieces = 0
  for (const topic of topics.filter(one => one.name === name)) {
    for (const partition of topic.partitions) {
      const segments = await listSegments(storage, topic, partition, signal)
      pieces += segments.filter(({ piece }) => piece).length
    }
  }
  return pieces
}
