import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { lostMarkerOf, scanGenerations } from './catalog.ts'
import { rangesOf, surveyLog } from './log/survey-log.ts'
import type { Manifest } from './manifest.ts'
import { avoidedWarnings } from './record-warnings.ts'
import { type GenerationChoice, openSelected } from './select-generation.ts'
import type { Problem } from './verify-objects.ts'

/** What is wrong with the documents of version 2, and the generations that cannot be opened because of it. */
export interface LogFindings {
  newest: number
  problems: Problem[]
  unreadable: { from: number; to: number }[]
  warnings: string[]
}

/** Reads all documents of all generations of version 2; undefined for a backup without any. */
export async function verifyLog(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LogFindings | undefined> {
  const { commits } = await scanGenerations(storage, backupId, signal)
  const newest = commits.at(-1)
  if (newest === undefined) return undefined
  const { problems, unreadable, replaced } = await surveyLog(storage, backupId, commits, signal)
  const warnings = replaced.map(({ key, problem }) => `${key}: ${problem}`)
  return { newest, problems, unreadable: rangesOf(unreadable), warnings }
}

/** A generation that can be verified, and what is wrong with the marker. */
interface Opened {
  manifest: Manifest
  problems: Problem[]
  warnings: string[]
}

/**
 * A generation that cannot be opened is a finding, where the backup is of version 2: others may be intact. So is a lost marker, for one
 * who means the newest generation: others can be opened without it.
 */
export async function openOrJudge(
  storage: Storage,
  backupId: string,
  choice: GenerationChoice,
  signal: AbortSignal,
): Promise<Opened | LogFindings> {
  const isChosen = choice.generation !== undefined || choice.asOfMs !== undefined
  const lost = isChosen ? undefined : await lostMarkerOf(storage, backupId, signal)
  const problems = lost ? [{ key: lost.key, problem: `it ${lost.predicate}` }] : []
  const help = 'no run continues the backup without its marker; `kafka-backup repair` writes it again'
  try {
    const manifest = await openSelected(storage, backupId, lost ? { generation: lost.newest } : choice, signal)
    return { manifest, problems, warnings: lost?.isRepairable ? [help] : [] }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const found = await verifyLog(storage, backupId, signal)
    if (!found || found.problems.length === 0) throw error
    return { ...found, problems: [...problems, ...found.problems], newest: choice.generation ?? found.newest }
  }
}

/** Pure. What a reader did without, once it has read all lists: pages are found to be damaged when they are read. */
export function judgeAvoided({ avoided = [] }: Manifest): { problems: Problem[]; warnings: string[] } {
  return {
    problems: avoided.filter(one => one.isNeeded).map(({ key, problem }) => ({ key, problem })),
    warnings: avoidedWarnings({ avoided: avoided.filter(one => !one.isNeeded) }),
  }
}
