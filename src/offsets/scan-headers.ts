import { KafkaBackupError } from '../errors.ts'
import { type PartitionBounds, partitionKey, type TopicPartition } from '../kafka/offsets.ts'
import { type Ends, HeaderLog, MOST_OF_OTHERS, type Stretch } from './header-log.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { NO_TIME } from './plan-reset.ts'

/** By `topic/partition` of the source, the first offset that a group has not read. */
type ReadUpTo = ReadonlyMap<string, bigint>

interface ScannedPartition {
  /** Partitions of the source whose records were seen here. */
  sources: ReadonlySet<string>
  /** By group, where it continues; groups that have no position on what the partition holds are not in it. */
  found: Map<string, bigint | { problem: string }>
  /** It has records, and none of them has headers. */
  isBare?: true
  /** No visible record has headers, and an open transaction hides others, which may have some. */
  isHidden?: true
}

interface ScanParts {
  port: OffsetsPort
  bounds: PartitionBounds
  /** No record that a group has not read may be older. */
  sinceMs?: bigint | undefined
}

/**
 * Finds the offset where each group continues in one partition of a restored topic: the first record of the restore that it
 * has not read, or the place behind the last one. The origins of records ascend, so few of them are read: the ends, and
 * for each group a hundred offsets before its expected place, then halves of what is left.
 */
export async function scanHeaders(
  place: TopicPartition,
  groups: ReadonlyMap<string, ReadUpTo>,
  { port, bounds, sinceMs }: ScanParts,
  signal: AbortSignal,
): Promise<ScannedPartition> {
  const log = new HeaderLog(port, place, bounds)
  const ends = await log.readEnds(signal)
  const forAll = (problem: string) => ({
    sources: log.sources,
    found: new Map([...groups.keys()].map(group => [group, { problem }])),
  })
  const isHidden = bounds.lastStable < bounds.highWatermark
  if (ends === 'empty' || ends === 'none') {
    const namesakes = [...groups].filter(([, readUpTo]) => hasPartition(readUpTo, place.partition))
    const to = withoutRestored(place, ends, { logStart: bounds.logStart, isHidden })
    const kind = isHidden ? { isHidden } : ends === 'none' ? ({ isBare: true } as const) : {}
    return { sources: log.sources, found: new Map(namesakes.map(([group]) => [group, to])), ...kind }
  }
  if ('problem' in ends) return forAll(ends.problem)
  const searches = log.findProblem() === undefined ? openSearches(groups, ends) : new Map<string, GroupSearch>()
  for (const search of searches.values()) await runSearch(search, [...searches.values()], log, signal)
  const problem = log.findProblem()
  if (problem !== undefined) return forAll(problem)
  await refuseTooLate(place, searches, { port, bounds, sinceMs }, signal)
  return { sources: log.sources, found: new Map([...searches].map(([group, one]) => [group, one.result(isHidden)])) }
}

/** Where a group continues in a partition of which no visible record is of a restore. */
function withoutRestored(
  place: TopicPartition,
  ends: 'empty' | 'none',
  { logStart, isHidden }: { logStart: bigint; isHidden: boolean },
): bigint | { problem: string } {
  if (ends === 'empty')
    return isHidden ? { problem: `an open transaction hides all records. ${WAIT_FOR_END}` } : logStart
  if (!isHidden) return { problem: `${noHeaders(place)}. Use from_mapping instead` }
  const visible = `no visible record of ${partitionKey(place)} has x-original-* headers`
  return { problem: `${visible}, and an open transaction hides those after them. ${WAIT_FOR_END}` }
}

const WAIT_FOR_END = 'Wait until it ends, or abort it with kafka-transactions.sh'

type FoundEnds = Extract<Ends, { first: unknown }>

function openSearches(groups: ReadonlyMap<string, ReadUpTo>, ends: FoundEnds): Map<string, GroupSearch> {
  const source = partitionKey(ends.first.origin)
  return new Map(
    [...groups].flatMap(([group, readUpTo]): [string, GroupSearch][] => {
      const position = readUpTo.get(source)
      return position === undefined ? [] : [[group, new GroupSearch(position, ends)]]
    }),
  )
}

/** What is read for one group narrows the search for the others, too. */
async function runSearch(
  search: GroupSearch,
  all: readonly GroupSearch[],
  log: HeaderLog,
  signal: AbortSignal,
): Promise<void> {
  for (let range = search.next(); range; range = search.next()) {
    const stretch = await log.read(range, search.othersLeft, signal)
    search.spend(stretch)
    for (const one of all) one.narrow(stretch)
  }
}

/** A hundred offsets are read back from where a record is expected, as some were lost on the way or are of others. */
const READ_BACK = 100n

/** The search for the first record that a group has not read, between `from` and `to`. */
class GroupSearch {
  readonly #position: bigint
  /** Before it, no record of the restore is unread. */
  #from: bigint
  /** From here to `#answer` there is no record of the restore; those from `#answer` on are unread. */
  #to: bigint
  #answer: bigint
  #expected: bigint | undefined
  readonly #behindLast: bigint
  #othersLeft = MOST_OF_OTHERS

  constructor(position: bigint, { first, last }: FoundEnds) {
    this.#position = position
    this.#behindLast = last.at + 1n
    this.#answer = last.origin.offset < position ? this.#behindLast : last.at
    this.#from = first.at
    this.#to = this.#answer
    // Not more records than offsets are between two of them, unless others wrote in between.
    this.#expected = first.at + position - first.origin.offset
    if (first.origin.offset >= position) this.#answer = this.#to = first.at
  }

  get othersLeft(): number {
    return this.#othersLeft
  }

  /** What to read next; undefined when the answer is known, or too many records of others were read. */
  next(): { from: bigint; past: bigint; to: bigint } | undefined {
    const [from, to] = [this.#from, this.#to]
    if (from >= to || this.#othersLeft < 0) return undefined
    const wanted = this.#expected ?? (from + to) / 2n
    this.#expected = undefined
    const past = wanted < from ? from : wanted >= to ? to - 1n : wanted
    return { from: past - READ_BACK > from ? past - READ_BACK : from, past, to }
  }

  /** Records of others that were read for this search count against its limit. */
  spend({ others }: Stretch): void {
    this.#othersLeft -= others
  }

  narrow({ from, to, restored }: Stretch): void {
    if (this.#from >= this.#to || to <= this.#from || from >= this.#to) return
    const unread = restored.find(({ at, origin }) => origin.offset >= this.#position && at < this.#to)?.at
    const isBehindRead = from <= this.#from || restored.some(({ origin }) => origin.offset < this.#position)
    if (unread !== undefined) {
      this.#answer = unread
      this.#to = isBehindRead ? unread : from
    }
    if (isBehindRead) this.#from = unread ?? to
    else if (unread === undefined && to >= this.#to) this.#to = from
  }

  /** An unread record, unless all of them are read or it was not found. */
  get unread(): bigint | undefined {
    return this.#from >= this.#to && this.#answer < this.#behindLast ? this.#answer : undefined
  }

  /** Behind an open transaction may be more records of the restore. */
  result(isHidden: boolean): bigint | { problem: string } {
    if (this.#from < this.#to) {
      const where = `between ${this.#from} and ${this.#to}, where other producers wrote more than 100,000 records`
      return { problem: `the next unread record was not found: it is ${where}. Use from_mapping instead` }
    }
    if (this.unread !== undefined || !isHidden) return this.#answer
    const problem = `all records before ${this.#behindLast} are read, and an open transaction hides those after it`
    return { problem: `${problem}. ${WAIT_FOR_END}` }
  }
}

async function refuseTooLate(
  place: TopicPartition,
  searches: ReadonlyMap<string, GroupSearch>,
  { port, sinceMs }: ScanParts,
  signal: AbortSignal,
): Promise<void> {
  if (sinceMs === undefined) return
  const found = (await port.findByTime([place], sinceMs, signal)).get(partitionKey(place))
  if (found === undefined) throw new KafkaBackupError('KAFKA_NOT_READY', `${partitionKey(place)}: ${NO_TIME}`)
  const isOlder = (at: bigint | undefined) => at !== undefined && (found < 0n || at < found)
  const group = [...searches].find(([, { unread }]) => isOlder(unread))?.[0]
  if (group === undefined) return
  const message = `--since is too late for group ${group} on ${partitionKey(place)}: records before that time are unread`
  throw new KafkaBackupError('OFFSETS_REFUSED', message, { help: 'Give an earlier time, or leave --since out.' })
}

function hasPartition(readUpTo: ReadUpTo, partition: number): boolean {
  return [...readUpTo.keys()].some(source => source.endsWith(`/${partition}`))
}

export function noHeaders(place: TopicPartition): string {
  return `no record of ${partitionKey(place)} shows where it came from by x-original-* headers`
}
