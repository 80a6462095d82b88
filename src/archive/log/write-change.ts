import { runPool } from '../../lib/pool.ts'
import type { Storage } from '../../storage/storage.ts'
import type { NamedObject } from '../manifest.ts'
import type { Change } from './change.ts'
import { encodeChange } from './change-document.ts'
import { createDocument, LOG_VERSION } from './document.ts'
import { splitChange } from './split-change.ts'

const CONCURRENCY = 4

export interface ChangeTarget {
  storage: Storage
  backupId: string
  /** Keys of the documents; another one for each number. */
  keyOf: (number: number) => string
}

/** What does not fit into one document is written as parts; the rest is for the document that names them. */
export async function writeOverflow(
  target: ChangeTarget,
  change: Change,
  signal: AbortSignal,
): Promise<{ parts: NamedObject[]; change: object }> {
  const [first, ...others] = splitChange(change)
  return { parts: await writeParts(target, others, signal), change: encodeChange(first) }
}

/** All of it as documents, one or more. */
export function writeChange(target: ChangeTarget, change: Change, signal: AbortSignal): Promise<NamedObject[]> {
  return writeParts(target, splitChange(change), signal)
}

function writeParts(
  { storage, backupId, keyOf }: ChangeTarget,
  changes: readonly Change[],
  signal: AbortSignal,
): Promise<NamedObject[]> {
  const head = { format: 'kafka-backup-change', format_version: LOG_VERSION, backup_id: backupId }
  return runPool([...changes.entries()], CONCURRENCY, ([i, change]) =>
    createDocument(storage, keyOf(i + 1), { ...head, change: encodeChange(change) }, signal),
  )
}
