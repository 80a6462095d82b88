import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { Gap, Manifest } from './manifest.ts'
import { deletedKeyWarnings } from './record-warnings.ts'
import type { GenerationChoice } from './select-generation.ts'
import { totalsOf } from './summary.ts'
import { judgeCopy } from './verify-copy.ts'
import { judgeAvoided, type LogFindings, openOrJudge, verifyLog } from './verify-log.ts'
import { type Problem, tabulateSizes, uniqueProblems } from './verify-objects.ts'
import { verifyRecords } from './verify-records.ts'
import { verifySections } from './verify-sections.ts'

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
  const sizes = await tabulateSizes(storage, backupId, signal)
  const records = await verifyRecords(storage, lists, { deep, sizes, onProgress }, signal)
  const sections = await verifySections(storage, manifest, { deep, sizes }, signal)
  const avoided = judgeAvoided(manifest)
  const incomplete = manifest.complete ? [] : [incompleteWarning(manifest)]
  const warnings = [...incomplete, ...avoided.warnings, ...opened.warnings]
  const found = [...opened.problems, ...avoided.problems, ...records.problems]
  const problems = uniqueProblems([...found, ...sections.problems])
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
    objects: records.objects + lists.reduce((sum, { one }) => sum + one.indexes.length, 1) + sections.objects,
    bytes: records.bytes + sections.bytes,
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

function incompleteWarning({ generation }: Manifest): string {
  return `generation ${generation} is incomplete: its run was interrupted or is still running; run it again`
}
