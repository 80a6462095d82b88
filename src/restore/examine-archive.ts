import type { Segment } from '../archive/manifest.ts'
import { findMisfits, gatherSegments, listSizes, type Problem } from '../archive/verify-objects.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import type { Finding } from './finding.ts'
import type { PlannedStream, PlannedTopic, RestorePlan } from './plan.ts'

export interface ExaminedArchive {
  findings: Finding[]
  /** Of each stream that has something to read. */
  segments: ReadonlyMap<PlannedStream, readonly Segment[]>
  /** By topic of the target: no batch of it is larger, since none of its segments is. */
  largestSegments: ReadonlyMap<string, number>
}

/** From which offset on a stream reads the archive; undefined where it reads nothing. */
export type StartOf = (topic: PlannedTopic, stream: PlannedStream) => bigint | undefined

const CONCURRENCY = 8
/** More of the same would only hide the rest. */
const MOST_PROBLEMS = 20

/** Whether all objects that the restore is going to read are there, with their sizes. Reads indexes, and no data. */
export async function examineArchive(
  storage: Storage,
  plan: RestorePlan,
  startOf: StartOf,
  signal: AbortSignal,
): Promise<ExaminedArchive> {
  const wanted = plan.topics.flatMap(topic =>
    topic.streams.flatMap(stream => {
      const start = startOf(topic, stream)
      return start === undefined || start >= stream.end ? [] : [{ topic, stream, start }]
    }),
  )
  if (wanted.length === 0) return { findings: [], segments: new Map(), largestSegments: new Map() }
  const sizes = await listSizes(storage, plan.backupId, signal)
  const largest = new Map<string, number>()
  const gathered = new Map<PlannedStream, readonly Segment[]>()
  const found = await runPool(wanted, CONCURRENCY, async ({ topic, stream, start }) => {
    const { segments, problems } = await gatherSegments(storage, topic.source, stream.source, signal)
    gathered.set(stream, segments)
    const read = segments.filter(segment => segment.end_offset > start && segment.start_offset < stream.end)
    largest.set(
      topic.name,
      Math.max(largest.get(topic.name) ?? 0, ...read.map(({ plain_size }: Segment) => plain_size)),
    )
    return [...problems, ...findMisfits(read, sizes)]
  })
  return { findings: describeDamage(found.flat()), segments: gathered, largestSegments: largest }
}

function describeDamage(problems: readonly Problem[]): Finding[] {
  const remedy = 'restore another restore.generation, or leave it out; `verify` tells the whole extent'
  const damage = { severity: 'error' as const, code: 'ARCHIVE_DAMAGED' as const, remedy }
  const shown = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ key, problem }) => ({ ...damage, subject: `object ${key}`, problem }))
  const more = problems.length - shown.length
  if (more > 0)
    shown.push({ ...damage, subject: 'the backup', problem: `${more} more of its objects are damaged or missing` })
  return shown
}
