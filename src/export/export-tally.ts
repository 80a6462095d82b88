import type { Manifest } from '../archive/manifest.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { ExportedFile } from './export-file.ts'

/** What became of the records of a topic. */
interface TopicCounts {
  topic: string
  records: number
  /** Without a value. */
  tombstones: number
  /** They name a schema that could not decode them, and are exported as they are stored. */
  keysNotDecoded: number
  valuesNotDecoded: number
}

/** A registry that lost its schemas gives a reason for each ID. */
const MAX_REASONS = 20

/** Brokers take any bytes as the name of a header. */
const HEADER_NAME = 'the name of a header has characters that are not valid UTF-8, or U+FFFD itself'

/** Counts what is exported. */
export class ExportTally {
  readonly files: ExportedFile[] = []
  readonly topics = new Map<string, TopicCounts>()
  /** Why keys and values were not decoded, with the number of each; a few of many. */
  readonly reasons = new Map<string, number>()
  /** Batches were copied as they are stored: nothing is known of what is in them. */
  isStored = false

  add({ record, key, value }: ShownRecord): void {
    const counts = this.#countsOf(record.topic)
    counts.records++
    if (record.value === null) counts.tombstones++
    if (key.reason !== undefined) counts.keysNotDecoded++
    if (value.reason !== undefined) counts.valuesNotDecoded++
    const names = record.headers.some(([name]) => name.includes('\ufffd')) ? HEADER_NAME : undefined
    for (const reason of [key.reason, value.reason, names]) if (reason !== undefined) this.#note(reason)
  }

  /** Records of batches that were not opened. */
  addStored(topic: string, records: number): void {
    this.#countsOf(topic).records += records
  }

  get totals(): Omit<TopicCounts, 'topic'> {
    const all = [...this.topics.values()]
    const sum = (pick: (one: TopicCounts) => number) => all.reduce((total, one) => total + pick(one), 0)
    return {
      records: sum(one => one.records),
      tombstones: sum(one => one.tombstones),
      keysNotDecoded: sum(one => one.keysNotDecoded),
      valuesNotDecoded: sum(one => one.valuesNotDecoded),
    }
  }

  #countsOf(topic: string): TopicCounts {
    const known = this.topics.get(topic)
    if (known) return known
    const counts = { topic, records: 0, tombstones: 0, keysNotDecoded: 0, valuesNotDecoded: 0 }
    this.topics.set(topic, counts)
    return counts
  }

  #note(reason: string): void {
    const count = this.reasons.get(reason)
    if (count !== undefined || this.reasons.size < MAX_REASONS) this.reasons.set(reason, (count ?? 0) + 1)
  }
}

/** What the backup itself does not have of the topics that were read, by their names. */
export function missingParts({ complete, generation, topics }: Manifest, names: ReadonlySet<string>): string[] {
  const gaps = topics
    .filter(({ name }) => names.has(name))
    .flatMap(({ name, partitions }) =>
      partitions.flatMap(({ partition, gaps }) =>
        gaps.map(
          ({ from, to, reason }) =>
            `${name}/${partition}: the backup lacks the offsets ${from} to ${to ?? 'unknown'} (${reason})`,
        ),
      ),
    )
  return [...(complete ? [] : [`generation ${generation} is incomplete: its run was interrupted`]), ...gaps]
}
