import type { KafkaRecord } from '../batch/records.ts'
import {
  type Difference,
  differentRecord,
  type ExpectedRecord,
  extraRecord,
  isSame,
  missingRecord,
} from './difference.ts'
import type { Lookahead } from './lookahead.ts'

export interface AlignOptions {
  maxDifferences: number
  /**
   * Where the target is compacted: the end of its log. A restore writes from its first offset on without holes, so that
   * an offset below the end without a record was written, and compaction has removed it since.
   */
  compactedEnd?: bigint
  /** What lies below was deleted, by DeleteRecords or retention: compaction never moves the start of a log. */
  logStart?: bigint
  /** Where the first record of the restore went; 0 where it is not given. */
  firstOffset?: bigint
}

export interface Alignment {
  /** Pairs that are the same. */
  records: number
  /** Written, and removed by compaction since. */
  removed: number
  differences: Difference[]
  /** There were too many differences to continue. */
  isCut: boolean
}

/** How far to search for the next equal pair. */
const WINDOW = 64

/**
 * Compares two lists of records in order. After a difference they are lined up again where the nearest pair is the same,
 * so that one missing record is one difference and not a tail of them.
 */
export async function alignRecords(
  expected: Lookahead<ExpectedRecord>,
  actual: Lookahead<KafkaRecord>,
  { maxDifferences, compactedEnd, logStart = 0n, firstOffset = 0n }: AlignOptions,
  signal: AbortSignal,
): Promise<Alignment> {
  const isHole = (theirs: KafkaRecord | undefined) =>
    compactedEnd !== undefined && firstOffset + BigInt(expected.dropped) < (theirs?.offset ?? compactedEnd)
  const wasDeleted = () => firstOffset + BigInt(expected.dropped) < logStart
  const found: Alignment = { records: 0, removed: 0, differences: [], isCut: false }
  for (;;) {
    if (expected.length === 0 || actual.length === 0) {
      signal.throwIfAborted()
      await Promise.all([expected.fill(1), actual.fill(1)])
    }
    const [ours, theirs] = [expected.at(0), actual.at(0)]
    if (!ours && !theirs) return found
    if (ours && theirs && isSame(ours, theirs)) {
      expected.drop(1)
      actual.drop(1)
      found.records++
    } else if (ours && isHole(theirs) && !wasDeleted()) {
      expected.drop(1)
      found.removed++
    } else {
      const next = ours && isHole(theirs) ? takeMissing(expected, ours) : await lineUp(expected, actual)
      found.differences.push(...next.slice(0, maxDifferences - found.differences.length))
      found.isCut = found.differences.length >= maxDifferences
      if (found.isCut) return found
    }
  }
}

function takeMissing(expected: Lookahead<ExpectedRecord>, ours: ExpectedRecord): Difference[] {
  expected.drop(1)
  return [missingRecord(ours)]
}

/** Removes the differing records of both sides, up to the next equal pair. */
async function lineUp(expected: Lookahead<ExpectedRecord>, actual: Lookahead<KafkaRecord>): Promise<Difference[]> {
  await Promise.all([expected.fill(WINDOW), actual.fill(WINDOW)])
  const { missing, extra } = findNextPair(expected, actual)
  const differences: Difference[] = []
  for (let i = 0; i < Math.max(missing, extra); i++) {
    const ours = i < missing ? expected.at(i) : undefined
    const theirs = i < extra ? actual.at(i) : undefined
    if (ours && theirs) differences.push(differentRecord(ours, theirs))
    else if (ours) differences.push(missingRecord(ours))
    else if (theirs) differences.push(extraRecord(theirs))
  }
  expected.drop(missing)
  actual.drop(extra)
  return differences
}

/** How many of each lie before the nearest pair that is the same; at an equal distance records were changed, not lost. */
function findNextPair(
  expected: Lookahead<ExpectedRecord>,
  actual: Lookahead<KafkaRecord>,
): { missing: number; extra: number } {
  const isPair = (i: number, j: number) => {
    const [ours, theirs] = [expected.at(i), actual.at(j)]
    return ours && theirs ? isSame(ours, theirs) : expected.isEnd(i) && actual.isEnd(j)
  }
  const mostOfBoth = Math.min(expected.length, actual.length)
  for (let distance = 1; distance < WINDOW; distance++) {
    if (distance <= mostOfBoth && isPair(distance, distance)) return { missing: distance, extra: distance }
    if (distance < expected.length && isPair(distance, 0)) return { missing: distance, extra: 0 }
    if (distance < actual.length && isPair(0, distance)) return { missing: 0, extra: distance }
  }
  return { missing: Math.min(1, expected.length), extra: Math.min(1, actual.length) }
}
