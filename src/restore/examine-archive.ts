import { effectiveSetting } from '../archive/effective-settings.ts'
import type { ManifestPartition, Segment } from '../archive/manifest.ts'
import { avoidedWarnings } from '../archive/record-warnings.ts'
import { findMisfits, gatherSegments, type Problem, tabulateSizes, uniqueProblems } from '../archive/verify-objects.ts'
import type { TimeWindow } from '../batch/needs.ts'
import { largest } from '../lib/largest.ts'
import { runPool } from '../lib/pool.ts'
import { DAMAGE_REMEDY, type Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { inListOrder, legsFrom } from './legs.ts'
import type { PlannedLeg, PlannedTopic, RestorePlan } from './plan.ts'
import { type RestoreProgress, streamKey } from './progress.ts'
import { extentOf, joinExtents, nothingRestored, type RestoredExtent } from './restored-extent.ts'

export interface ExaminedArchive {
  findings: Finding[]
  /** Of each partition of which something is read, where reading them again means reading the store again. */
  segments: ReadonlyMap<ManifestPartition, readonly Segment[]>
  /** By topic of the target: no batch of it is larger, since none of its segments is. */
  largestSegments: ReadonlyMap<string, number>
  /** By topic of the target; one that nothing is left to write of is not in it. */
  extents: ReadonlyMap<string, RestoredExtent>
  /** Damaged objects that were read around. */
  warnings: string[]
}

const CONCURRENCY = 8
/** More of the same would only hide the rest. */
const MOST_PROBLEMS = 20

interface ArchiveQuestion {
  verify: boolean
  progress: RestoreProgress | undefined
  timeWindow: TimeWindow
}

/** Whether all objects that the restore is going to read are there, with their sizes. Reads indexes, and of the
 * data only segments that a range of offsets goes through. */
export async function examineArchive(
  storage: Storage,
  plan: RestorePlan,
  { verify, progress, timeWindow }: ArchiveQuestion,
  signal: AbortSignal,
): Promise<ExaminedArchive> {
  const wanted = inListOrder(plan.topics).flatMap(topic => {
    const unfilled = unfilledLegs(topic, verify ? undefined : progress)
    return unfilled.map(one => ({ topic, ...one, none: startExtent(plan, topic, unfilled.length) }))
  })
  if (wanted.length === 0) return nothingExamined
  const largestSegments = new Map<string, number>()
  const gathered = new Map<ManifestPartition, readonly Segment[]>()
  const extents = new Map<string, RestoredExtent>()
  const sizes = tabulateSizes(storage, plan.backupId, signal)
  const found = await poolWhile(sizes, wanted, async ({ topic, leg, start, none }) => {
    const { source, end } = leg
    const { segments, problems } = await gatherSegments(storage, topic.source, source, signal)
    // A list keeps them at hand, in less memory.
    if (!source.list) gathered.set(source, segments)
    const read = segments.filter(segment => segment.end_offset > start && segment.start_offset < end)
    const bytes = read.map(({ plain_size }) => plain_size)
    largestSegments.set(topic.name, largest(bytes, largestSegments.get(topic.name)))
    const misfits = findMisfits(read, await sizes)
    // Damage ends the restore anyway.
    if (problems.length + misfits.length === 0) {
      // The index has times of producers, and records with LogAppendTime show those of the broker.
      const isExact = effectiveSetting(topic.source, 'message.timestamp.type') !== 'CreateTime'
      const extent = await extentOf(storage, leg, segments, { window: timeWindow, isExact }, signal)
      extents.set(topic.name, joinExtents(extents.get(topic.name) ?? none, extent))
    }
    return [...problems, ...misfits]
  })
  return {
    findings: describeDamage(inKeyOrder(uniqueProblems(found.flat()))),
    segments: gathered,
    largestSegments,
    extents,
    warnings: avoidedWarnings(plan),
  }
}

const nothingExamined: ExaminedArchive = {
  findings: [],
  segments: new Map(),
  largestSegments: new Map(),
  extents: new Map(),
  warnings: [],
}

/** With so many of the topic's partitions left. */
function startExtent({ filter }: RestorePlan, topic: PlannedTopic, left: number): RestoredExtent {
  const isPart = left < legsWithRecords(topic).length
  return { ...nothingRestored, ...(filter && { isFiltered: true }), ...(isPart && { isPart: true }) }
}

function legsWithRecords({ legs }: PlannedTopic): readonly PlannedLeg[] {
  return legs.filter(({ start, end }) => start < end)
}

/** Of one topic, to the record: segments that the end of a window goes through are read, and the partitions that are filled elsewhere or already. */
export async function readExtent(
  storage: Storage,
  plan: RestorePlan,
  topic: PlannedTopic,
  { verify, progress, timeWindow }: ArchiveQuestion,
  signal: AbortSignal,
): Promise<RestoredExtent> {
  const own = unfilledLegs(topic, verify ? undefined : progress).map(({ leg }) => leg)
  const others = legsWithRecords(topic).filter(leg => !own.includes(leg))
  const extentsOf = (legs: readonly PlannedLeg[]) =>
    runPool(legs, CONCURRENCY, async leg => {
      const { segments } = await gatherSegments(storage, topic.source, leg.source, signal)
      return extentOf(storage, leg, segments, { window: timeWindow, isExact: true }, signal)
    })
  const extent = (await extentsOf(own)).reduce(joinExtents, startExtent(plan, topic, own.length))
  if (others.length === 0) return extent
  const { oldest, newest } = (await extentsOf(others)).reduce(joinExtents, extent)
  // A filter may have selected the oldest ones only.
  return { ...extent, ...(extent.isFiltered && { oldest }), newestOfAll: newest }
}

/** Indexes are read while the store is listed. Both have ended when this ends. */
async function poolWhile<T, R>(
  listing: Promise<unknown>,
  items: readonly T[],
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  // Handled where it is awaited; a listing that fails before that must not count as unhandled, which ends the process.
  const ended = listing.catch(() => undefined)
  try {
    return await runPool(items, CONCURRENCY, task)
  } finally {
    await ended
  }
}

/** What of the topic is read, from which offset on. */
function unfilledLegs(
  topic: PlannedTopic,
  progress: RestoreProgress | undefined,
): { leg: PlannedLeg; start: bigint }[] {
  const starts = startsOf(topic, progress)
  return topic.legs.flatMap(leg => {
    const start = starts.get(leg.source)
    return start === undefined || start >= leg.end ? [] : [{ leg, start }]
  })
}

/** From which offset on the topic's partitions are read. What earlier runs have written is not, unless it is compared. */
function startsOf(
  { name, streams }: PlannedTopic,
  progress: RestoreProgress | undefined,
): ReadonlyMap<ManifestPartition, bigint> {
  const starts = new Map<ManifestPartition, bigint>()
  for (const stream of streams) {
    const noted = progress?.streams.get(streamKey({ topic: name, partition: stream.partition }))
    if (noted?.isFilled) continue
    for (const { source, start } of noted ? legsFrom(stream, noted) : stream.legs) {
      const known = starts.get(source)
      if (known === undefined || start < known) starts.set(source, start)
    }
  }
  return starts
}

/** Pure. Lists are read in an order that says nothing to a user. */
function inKeyOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

function describeDamage(problems: readonly Problem[]): Finding[] {
  const damage = { severity: 'error' as const, code: 'ARCHIVE_DAMAGED' as const, remedy: DAMAGE_REMEDY }
  const shown: Finding[] = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ key, problem }) => ({ ...damage, subject: `object ${key}`, problem, details: { key, problem } }))
  const more = problems.length - shown.length
  if (more > 0)
    shown.push({ ...damage, subject: 'the backup', problem: `${more} more of its objects are damaged or missing` })
  return shown
}
