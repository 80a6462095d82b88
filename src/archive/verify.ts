import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { scanManifests } from './catalog.ts'
import { deletedKeyWarnings } from './deleted-keys.ts'
import { findLostMarker, type LostMarker } from './lost-marker.ts'
import type { Gap, Manifest, Segment } from './manifest.ts'
import { type GenerationChoice, openSelected } from './select-generation.ts'
import { totalsOf } from './summary.ts'
import { judgeCopy } from './verify-copy.ts'
import { type LogFindings, verifyLog } from './verify-log.ts'
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
  const lost = await findLost(storage, backupId, choice, signal)
  const marker = lost ? [{ key: lost.key, problem: `it ${lost.predicate}` }] : []
  const manifest = await openOrJudge(storage, backupId, lost ? { generation: lost.newest } : choice, signal)
  if ('unreadable' in manifest) {
    return unreadableReport(backupId, deep, { ...manifest, problems: [...marker, ...manifest.problems] })
  }
  const partitions = manifest.topics.flatMap(topic => topic.partitions.map(one => ({ topic, one })))
  const lists = partitions.flatMap(({ topic, one }) =>
    [one, ...(one.reread ? [one.reread] : [])].map(one => ({ topic, one })),
  )
  const gathered = await runPool(lists, CONCURRENCY, ({ topic, one }) => gatherSegments(storage, topic, one, signal))
  const segments = gathered.flatMap(one => one.segments)
  const sizes = await listSizes(storage, backupId, signal)
  const misfits = findMisfits(segments, sizes)
  const sections = await verifySections(storage, manifest, { deep, sizes }, signal)
  const warnings = manifest.complete ? [] : [incompleteWarning(manifest)]
  if (lost?.isRepairable)
    warnings.push('no run continues the backup without its marker; `kafka-backup repair` writes it again')
  const problems = uniqueProblems([
    ...marker,
    ...gathered.flatMap(one => one.problems),
    ...misfits,
    ...sections.problems,
  ])
  const missing = new Set(misfits.map(({ key }) => key))
  const present = segments.filter(({ key }) => !missing.has(key))
  if (deep) await checkBytes(storage, present, problems, onProgress, signal)
  const unreadable = deep ? await judgeLog(storage, backupId, problems, signal) : []
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
    objects:
      new Set(segments.map(({ key }) => key)).size +
      lists.reduce((sum, { one }) => sum + one.indexes.length, 0) +
      1 +
      sections.objects,
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

/** For one who means the newest generation: others can be opened without the marker. */
async function findLost(
  storage: Storage,
  backupId: string,
  { generation, asOfMs }: GenerationChoice,
  signal: AbortSignal,
): Promise<LostMarker | undefined> {
  if (generation !== undefined || asOfMs !== undefined) return undefined
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  return mark ? undefined : findLostMarker(storage, backupId, manifests, signal)
}

/** Adds what is wrong with documents of other generations, and returns those that cannot be opened. */
async function judgeLog(
  storage: Storage,
  backupId: string,
  problems: Problem[],
  signal: AbortSignal,
): Promise<LogFindings['unreadable']> {
  const log = await verifyLog(storage, backupId, signal)
  const known = new Set(problems.map(({ key }) => key))
  problems.push(...(log?.problems ?? []).filter(({ key }) => !known.has(key)))
  return log?.unreadable ?? []
}

/** A generation that cannot be opened is a finding, where the backup is of version 2: others may be intact. */
async function openOrJudge(
  storage: Storage,
  backupId: string,
  choice: GenerationChoice,
  signal: AbortSignal,
): Promise<Manifest | LogFindings> {
  try {
    return await openSelected(storage, backupId, choice, signal)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const found = await verifyLog(storage, backupId, signal)
    if (!found || found.problems.length === 0) throw error
    return { ...found, newest: choice.generation ?? found.newest }
  }
}

function unreadableReport(
  backupId: string,
  deep: boolean,
  { newest, problems, unreadable }: LogFindings,
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
