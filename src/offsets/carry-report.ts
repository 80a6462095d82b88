/** What a restore has done for consumer groups. */
export interface CarryReport {
  groups: CarriedGroupReport[]
  totals: { groups: number; committed: number; kept: number; failed: number }
  /** Why there are none, in words. */
  reason?: string
}

export interface CarriedGroupReport {
  group: string
  /** Its name on the target. */
  target: string
  /** `kept`: all partitions had a position already. Some offsets of a `failed` group may be committed; running again continues. */
  outcome: 'committed' | 'kept' | 'failed'
  /** It had its offsets before the records of other topics were restored. */
  isEarly?: true
  error?: string
  committed: CarriedPosition[]
  /** Partitions that had their position already, from an earlier run: it is never overwritten. Of a `failed` group also those of others. */
  kept: { topic: string; partition: number; offset: bigint }[]
  /** Positions on topics and partitions that were not restored. */
  leftOut: number
}

export interface CarriedPosition {
  topic: string
  /** Of the source; null where several went into one partition of the target. */
  partition: number | null
  sourceOffset: bigint | null
  targetTopic: string
  targetPartition: number
  targetOffset: bigint
  how: CarriedHow
  /** Records that the group reads a second time, after a repartition. */
  rereads: bigint
}

/**
 * `exact`: at the very record. `next`: there was no record that was restored, this is the next one. `before_start`: before
 * the first that was restored. `at_end`: all that was restored is read. `beyond`: the same, for a position that lay beyond
 * the end of the backup. `lowest_unread`: several partitions went into one.
 */
export type CarriedHow = 'exact' | 'next' | 'before_start' | 'at_end' | 'beyond' | 'lowest_unread'

export function sumCarried(groups: readonly CarriedGroupReport[]): CarryReport['totals'] {
  const count = (outcome: CarriedGroupReport['outcome']) => groups.filter(one => one.outcome === outcome).length
  return { groups: groups.length, committed: count('committed'), kept: count('kept'), failed: count('failed') }
}
