import type { Storage } from '../storage/storage.ts'
import { scanGenerations } from './catalog.ts'
import { rangesOf, surveyLog } from './log/survey-log.ts'
import type { Problem } from './verify-objects.ts'

/** What is wrong with the documents of version 2, and the generations that cannot be opened because of it. */
export interface LogFindings {
  newest: number
  problems: Problem[]
  unreadable: { from: number; to: number }[]
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
  const { problems, unreadable } = await surveyLog(storage, backupId, commits, signal)
  return { newest, problems, unreadable: rangesOf(unreadable) }
}
