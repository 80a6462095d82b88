import type { Gap, Manifest } from '../archive/manifest.ts'
import { convertedWarnings } from '../archive/record-warnings.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { formatJson } from '../lib/json.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupPlan } from './backup-plan.ts'
import { describeReread, noticeRereads, type RereadNotice } from './reread-notices.ts'
import type { BackupSession } from './session.ts'

/** A gap that this run found. */
export type NewGap = Omit<Gap, 'found_at'> & { topic: string; partition: number }

/** Sums up what the events of a run say. */
export class Tally {
  readonly copied = { records: 0, bytes: 0, partitions: 0 }
  /** Of lists that are read again. */
  readonly reread = { records: 0, bytes: 0 }
  readonly rereads: RereadNotice[]
  readonly gaps: NewGap[] = []
  readonly warnings: string[]
  readonly #seen = new Set<string>()
  readonly #plan: BackupPlan
  readonly #forward: OnProgress

  constructor(plan: BackupPlan, forward: OnProgress) {
    this.#plan = plan
    this.rereads = noticeRereads(plan)
    this.#forward = forward
    this.warnings = [...plan.warnings, ...(plan.carriedWarnings ?? [])]
    for (const topic of plan.topics) {
      for (const { durable, newGaps } of topic.partitions) {
        for (const { from, to, reason } of newGaps) {
          this.#addGap({ topic: topic.name, partition: durable.partition, from, to, reason })
        }
      }
    }
  }

  announce(session: BackupSession, previous: Manifest | undefined): void {
    if (previous) {
      const { generation, created_at: committedAt } = previous
      this.#forward({ type: 'resumed', generation, committedAt })
    }
    for (const message of this.#plan.warnings) this.#forward({ type: 'warning', message })
    for (const gap of this.gaps) this.#forward({ type: 'gap', ...gap })
    for (const message of this.#plan.notes ?? []) this.#forward({ type: 'note', message })
    for (const notice of this.rereads) this.#forward({ type: 'note', message: describeReread(notice) })
    const all = [...session.copies, ...session.rereads]
    const offsets = all.reduce((sum, { end, position }) => sum + (end > position ? end - position : 0n), 0n)
    const topics = new Set(session.copies.map(copy => copy.topicId)).size
    this.#forward({ type: 'planned', topics, partitions: session.copies.length, offsets })
    this.tellBounds(session)
  }

  tellBounds({ copies }: BackupSession): void {
    const partitions = copies.map(({ topic, partition, position, durable }) => {
      const { last_stable_offset: lastStable, high_watermark: highWatermark } = durable
      return { topic, partition, position, lastStable, highWatermark }
    })
    this.#forward({ type: 'bounds', partitions })
  }

  /** Warns of records in old message formats when a topic is first found to have them. */
  tellConverted({ copies }: BackupSession, previous: Manifest | undefined): void {
    const byTopic = Map.groupBy(copies, ({ topic }) => topic)
    const topics = [...byTopic].map(([name, own]) => ({ name, partitions: own.map(({ durable }) => durable) }))
    const known = new Set(convertedWarnings(previous?.topics ?? []))
    for (const message of convertedWarnings(topics)) {
      if (!known.has(message)) this.onProgress({ type: 'warning', message })
    }
  }

  readonly onProgress: OnProgress = event => {
    if (event.type === 'copied' && event.isReread) {
      this.reread.records += event.records
      this.reread.bytes += event.bytes
    } else if (event.type === 'copied') {
      this.copied.records += event.records
      this.copied.bytes += event.bytes
      this.#seen.add(partitionKey(event))
      this.copied.partitions = this.#seen.size
    }
    if (event.type === 'warning') this.warnings.push(event.message)
    if (event.type === 'gap') {
      const { topic, partition, from, to, reason } = event
      this.#addGap({ topic, partition, from, to, reason })
    }
    this.#forward(event)
  }

  #addGap(gap: NewGap): void {
    this.gaps.push(gap)
    const { topic, partition, from, to, reason } = gap
    this.warnings.push(
      `${topic}/${partition}: offsets ${from} to ${to ?? 'unknown'} are lost to this backup (${reason})`,
    )
  }
}

/** What a run changed in a backup besides copying records. */
export interface BackupChanges {
  /** Topics, their partitions or settings. */
  topics: boolean
  schemas: boolean
  consumerGroups: boolean
  access: boolean
}

/** Pure. Times of reading and ends of logs are not changes. */
export function changesSince(previous: Manifest | undefined, manifest: Manifest): BackupChanges {
  const differs = (pick: (one: Manifest) => unknown) =>
    formatJson({ of: previous && pick(previous) }) !== formatJson({ of: pick(manifest) })
  return {
    topics: differs(({ topics }) => topics.map(({ partitions, ...topic }) => ({ ...topic, count: partitions.length }))),
    schemas: differs(one => one.schema_registry && { ...one.schema_registry, backup_timestamp: '' }),
    consumerGroups: differs(one => one.consumer_groups && { ...one.consumer_groups, taken_at: '' }),
    access: differs(one => one.access && { ...one.access, taken_at: '' }),
  }
}
