import type { Storage } from '../storage/storage.ts'
import { manifestFrom } from './log/as-manifest.ts'
import { noChange } from './log/change.ts'
import { CommitLog } from './log/commit-log.ts'
import { commitKey } from './log/keys.ts'
import { writeFirstCheckpoint } from './log/write-checkpoint.ts'
import { rewriteMarker } from './lost-marker.ts'
import type { RepairPlan, RepairReport } from './repair.ts'

export interface RepairFacts {
  toolVersion: string
  run: string
  /** The time of the store, as text. */
  now: string
  newName: () => string
  /** Called right before the commit; fails where the writer may no longer commit. */
  confirm: () => Promise<void>
}

/**
 * Writes a lost marker again, and commits what a plan has found as the next generation: a checkpoint that depends on no earlier document. Nothing is removed. It is not
 * complete where something is lost or the generation before it was not, so that the next run continues it.
 */
export async function commitRepair(
  storage: Storage,
  { report, lostMarker, wasComplete, state, lists }: RepairPlan,
  { toolVersion, run, now, newName, confirm }: RepairFacts,
  signal: AbortSignal,
): Promise<RepairReport> {
  const { backup_id, newest } = report
  if (lostMarker) {
    await confirm()
    await rewriteMarker(storage, backup_id, lostMarker, signal)
  }
  if (report.generation === undefined) return { ...report, dry_run: false }
  const complete = wasComplete && report.lost.length === 0 && report.lost_commits.length === 0
  const facts = { tool_version: toolVersion, run, complete, created_at: now, started_at: now }
  const stated = { ...facts, backup_id, generation: newest }
  const manifest = manifestFrom(stated, state, commitKey(backup_id, newest), list => ({
    read: async () => lists.get(list) ?? [],
  }))
  const written = await writeFirstCheckpoint(storage, manifest, newName(), signal)
  await confirm()
  const log = new CommitLog(storage, backup_id, newName, {
    generation: newest,
    state: written.state,
    chain: { checkpoint: written.ref, rollups: [] },
    previous: null,
    checkpointBytes: written.bytes,
    pages: written.pages,
  })
  await log.commit(facts, noChange, signal)
  return { ...report, dry_run: false }
}
