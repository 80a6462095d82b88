import { createHash } from 'node:crypto'
import type { KafkaDriver } from '../test/servers/driver.ts'

/** What the official Java client reads of a topic: how much, and a hash of every key, value, header and time in order. */
export interface Fingerprint {
  topic: string
  records: number
  sha256: string
}

export async function takeFingerprints(driver: KafkaDriver, topics: readonly string[]): Promise<Fingerprint[]> {
  const taken: Fingerprint[] = []
  for (const topic of topics) {
    const partitions = await driver.digest(topic, { isolation: 'read_committed' })
    const records = partitions.reduce((sum, { count }) => sum + count, 0)
    const sha256 = createHash('sha256')
      .update(partitions.map(partition => partition.sha256).join())
      .digest('hex')
    taken.push({ topic, records, sha256 })
  }
  return taken
}

/** A table of both. Throws where they differ: then the demonstration has failed. */
export function formatSame(before: readonly Fingerprint[], after: readonly Fingerprint[]): string {
  const rows = before.map((one, at) => {
    const other = after[at]
    if (other?.topic !== one.topic || other.sha256 !== one.sha256 || other.records !== one.records)
      throw new Error(`${one.topic} is not what it was`)
    return [one.topic, one.records.toLocaleString('en-US'), short(one), short(other)] as const
  })
  const cells = [['TOPIC', 'RECORDS', 'BEFORE', 'AFTER'] as const, ...rows]
  return cells
    .map(
      ([topic, records, ours, theirs]) => `  ${topic.padEnd(10)} ${records.padStart(8)}  ${ours.padEnd(12)}  ${theirs}`,
    )
    .join('\n')
}

function short({ sha256 }: Fingerprint): string {
  return sha256.slice(0, 12)
}
