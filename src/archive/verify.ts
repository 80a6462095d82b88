import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { deletedKeyWarnings } from './deleted-keys.ts'
import type { Gap, Manifest, Segment } from './manifest.ts'
import { type GenerationChoice, openSelected } from './select-generation.ts'
import { totalsOf } from './summary.ts'
import { judgeCopy } from './verify-copy.ts'
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
  const manifest = await openSelected(storage, backupId, choice, signal)
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
  const problems = uniqueProblems([...gathered.flatMap(one => one.problems), ...misfits, ...sections.problems])
  const lost = new Set(misfits.map(({ key }) => key))
  const present = segments.filter(({ key }) => !lost.has(key))
  if (deep) await checkBytes(storage, present, problems, onProgress, signal)
  const isNewest = choice.generation === undefined && choice.asOfMs === undefined
  // The copy is that of the newest generation.
  if (isNewest) warnings.push(...(await judgeCopy(storage, manifest, problems, signal)))
  warnings.push(...sections.warnings)
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
    gaps: partitions.flatMap(({ topic, one }) =>
      one.gaps.map(gap => ({ topic: topic.name, partition: one.partition, ...gap })),
    ),
    warnings: [...warnings, ...deletedKeyWarnings(topics)],
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
