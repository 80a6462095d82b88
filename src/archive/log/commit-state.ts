import type { Storage } from '../../storage/storage.ts'
import { type NewestState, newestState } from '../catalog.ts'
import { commitGeneration, type Draft, lineageOf } from '../commit.ts'
import type { Manifest } from '../manifest.ts'
import { stateOf } from './as-manifest.ts'
import { decodeRows } from './change-document.ts'
import { LogWriter } from './log-writer.ts'
import { planChange } from './plan-change.ts'

interface StateParts {
  newRun: () => string
  nowMs: () => number
  /** Fails where the writer may no longer commit. */
  confirm?: (() => Promise<void>) | undefined
  /** Behind a checkpoint of the newest generation, so that this one can be opened without what came before. */
  isCheckpoint?: boolean
  /** Do not roll up: the base has no segments of its lists, and the next writer rolls up. */
  isQuick?: boolean
  /** How many segments at the start of lists go, in version 2. */
  cut?: ReadonlyMap<string, number>
  onWarning?: ((message: string) => void) | undefined
}

/** The newest state without the segments of its lists, which take most of the memory where there are thousands of partitions. For a commit that `isQuick`. */
export function newestRows(storage: Storage, backupId: string, signal: AbortSignal): Promise<NewestState> {
  return newestState(storage, backupId, signal, decodeRows)
}

/** Commits a state without new segments as the next generation of a backup, in the version that it has. */
export async function commitState(
  storage: Storage,
  base: NewestState,
  manifest: Draft['manifest'],
  { newRun, nowMs, confirm = async () => undefined, isCheckpoint = false, isQuick = false, cut, onWarning }: StateParts,
  signal: AbortSignal,
): Promise<Manifest> {
  if (!base.isLog) {
    const draft = { manifest, freshSegments: new Map(), attempt: 1, confirm }
    return (await commitGeneration(storage, draft, signal)).manifest
  }
  const log = await LogWriter.open(storage, base, { backupId: manifest.backup_id, newRun, nowMs, onWarning }, signal)
  // What is rolled up counts from this commit on.
  if (isCheckpoint) await log.checkpoint(signal)
  else if (!isQuick) await log.tidy(signal)
  const before = log.state
  const after = stateOf({ ...manifest, ...lineageOf(manifest) })
  const countOf = (list: string) => before.lists.get(list)?.segments ?? 0
  const change = planChange({ before, after, added: new Map(), replaced: new Map(), cut, countOf })
  const { tool_version, run, complete, created_at, started_at } = manifest
  await log.commit({ tool_version, run, complete, created_at, started_at }, change, confirm, signal)
  return log.newest as Manifest
}
