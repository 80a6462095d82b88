import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { Gap, Manifest, Segment } from './manifest.ts'
import { deletedKeyWarnings } from './record-warnings.ts'
import type { GenerationChoice } from './select-generation.ts'
import { totalsOf } from './summary.ts'
import { judgeCopy } from './verify-copy.ts'
import { judgeAvoided, type LogFindings, openOrJudge, verifyLog } from './verify-log.ts'
import { findMisfits, gatherSegments, listSizes, type Problem, uniqueProblems } from './verify-objects.ts'
import { verifySections } from './verify-sections.ts'
import { checkSegment } from './verify-segment.ts'

export interface VerifyOptions extends GenerationChoice {
  /** Reads every byte: hashes, batch checksums, offsets and counts. Otherwise objects, sizes and continuity. */
  deep: boolean
  onProgress: OnProgress
}

export interface VerifyReport {
  ok: boolean
  backup_id: string
  generation: number
  complete: boolean
  deep: boolean
  encrypted: boolean
  objects: number
  bytes: number
  partitions: number
  records: number
  problems: Problem[]
  /** Generations of format version 2 that cannot be opened; all are looked at with `deep`, or where the newest is one. */
  unreadable_generations: { from: number; to: number }[]
  gaps: (Gap & { topic: string; partition: number })[]
  warnings: string[]
}

const CONCURRENCY = 4

/** Finds everything that is wrong with the chosen generation, or the newest, not only the first thing. */
export async function verifyBackup(
  storage: Storage,
  backupId: string,
  { deep, onProgress, ...choice }: VerifyOptions,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const opened = await openOrJudge(storage, backupId, choice, signal)
  if ('unreadable' in opened) return unreadableReport(backupId, deep, opened)
  const { manifest } = opened
  const partitions = manifest.topics.flatMap(topic => topic.partitions.map(one => ({ topic, one })))
  const lists = partitions.flatMap(({ topic, one }) =>
    [one, ...(one.reread ? [one.reread] : [])].map(one => ({ topic, one })),
  )
  const gathered = await runPool(lists, CONCURRENCY, ({ topic, one }) => gatherSegments(storage, topic, one, signal))
  const segments = gathered.flatMap(one => one.segments)
  const sizes = await listSizes(storage, backupId, signal)
  const misfits = findMisfits(segments, sizes)
  const sections = await verifySections(storage, manifest, { deep, sizes }, signal)
  const avoided = judgeAvoided(manifest)
  const incomplete = manifest.complete ? [] : [incompleteWarning(manifest)]
  const warnings = [...incomplete, ...avoided.warnings, ...opened.warnings]
  const found = [...opened.problems, ...avoided.problems, ...gathered.flatMap(one => one.problems)]
  const problems = uniqueProblems([...found, ...misfits, ...sections.problems])
  const missing = new Set(misfits.map(({ key }) => key))
  const present = segments.filter(({ key }) => !missing.has(key))
  if (deep) await checkBytes(storage, present, problems, onProgress, signal)
  const unreadable = deep ? await judgeLog(storage, backupId, { problems, warnings }, signal) : []
  // The copy is that of the newest generation.
  if (choice.generation === undefined && choice.asOfMs === undefined)
    warnings.push(...(await judgeCopy(storage, manifest, problems, signal)))
  const { generation, complete, topics } = manifest
  return {
    ok: problems.length === 0,
    backup_id: backupId,
    generation,
    complete,
    deep,
    encrypted: manifest.encryption !== undefined,
    objects: countDistinct(segments) + lists.reduce((sum, { one }) => sum + one.indexes.length, 1) + sections.objects,
    bytes: segments.reduce((sum, segment) => sum + segment.size, sections.bytes),
    partitions: partitions.length,
    records: totalsOf(topics).records,
    problems: problems.sort((a, b) => (a.key < b.key ? -1 : 1)),
    unreadable_generations: unreadable,
    gaps: partitions.flatMap(({ topic, one }) =>
      one.gaps.map(gap => ({ topic: topic.name, partition: one.partition, ...gap })),
    ),
    warnings: [...warnings, ...sections.warnings, ...deletedKeyWarnings(topics)],
  }
}

function countDistinct(segments: readonly Segment[]): number {
  return new Set(segments.map(({ key }) => key)).size
}

/** Adds what is wrong with documents of all generations, and returns those that cannot be opened. */
async function judgeLog(
  storage: Storage,
  backupId: string,
  { problems, warnings }: { problems: Problem[]; warnings: string[] },
  signal: AbortSignal,
): Promise<LogFindings['unreadable']> {
  const log = await verifyLog(storage, backupId, signal)
  const known = new Set(problems.map(({ key }) => key))
  problems.push(...(log?.problems ?? []).filter(({ key }) => !known.has(key)))
  warnings.push(...(log?.warnings ?? []).filter(one => !warnings.includes(one)))
  return log?.unreadable ?? []
}

function unreadableReport(
  backupId: string,
  deep: boolean,
  { newest, problems, unreadable, warnings }: LogFindings,
): VerifyReport {
  return {
    ok: false,
    backup_id: backupId,
    generation: newest,
    complete: false,
    deep,
    encrypted: false,
    objects: 0,
    bytes: 0,
    partitions: 0,
    records: 0,
    problems,
    unreadable_generations: unreadable,
    gaps: [],
    warnings: [
      ...warnings,
      'the state cannot be read, so its records were not checked; `kafka-backup repair --dry-run` shows what can be saved',
    ],
  }
}

async function checkBytes(
  storage: Storage,
  segments: readonly Segment[],
  problems: Problem[],
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<void> {
  const totalBytes = segments.reduce((sum, segment) => sum + segment.size, 0)
  let objects = 0
  let bytes = 0
  await runPool(segments, CONCURRENCY, async segment => {
    const found = await checkSegment(storage, segment, signal)
    for (const problem of found) problems.push({ key: segment.key, problem })
    objects++
    bytes += segment.size
    onProgress({ type: 'checked', objects, bytes, totalObjects: segments.length, totalBytes })
  })
}

function incompleteWarning({ generation }: Manifest): string {
  return `generation ${generation} is incomplete: its run was interrupted or is still running; run it again`
}
