import { scanGenerations } from '../archive/catalog.ts'
import { copyLog } from './copy-log.ts'
import { draftCopy } from './draft-copy.ts'
import { runCopy } from './run-copy.ts'
import type { CopyOptions, CopyPlan, CopyReport, Sides } from './sides.ts'

/**
 * Brings a backup from one location to another, and verifies every byte on the way. What is there already is not copied
 * again, so an interrupted run continues, and a later run copies what is new. A generation appears at the
 * target when all that it names is there.
 */
export async function copyBackup(
  sides: Sides,
  backupId: string,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<CopyReport> {
  const { manifests, commits } = await scanGenerations(sides.source, backupId, signal)
  const isOlder = typeof options.generation === 'number' && manifests.includes(options.generation)
  if (commits.length > 0 && !isOlder) return copyLog(sides, backupId, options, signal)
  const plan = await draftCopy(sides, backupId, options, signal)
  const done = options.dryRun ? foresee(plan) : await runCopy(sides, plan, options.onProgress, signal)
  const { generations, objects, bytes, problems } = done
  return {
    backup_id: backupId,
    from: sides.source.location,
    to: sides.target.location,
    ok: problems.length === 0,
    dry_run: options.dryRun,
    generations,
    newest_generation: Math.max(0, plan.newestThere ?? 0, ...generations.slice(-1)) || null,
    objects,
    bytes,
    existing_objects: plan.existing.objects,
    existing_bytes: plan.existing.bytes,
    existing_verified: options.verifyExisting,
    older_generations: plan.older,
    problems: problems.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    warnings: [],
  }
}

/** What a run would do, as long as the data are what the manifests say. */
function foresee({ generations, objects, problems }: CopyPlan) {
  const copied = objects.filter(({ action }) => action === 'copy')
  return {
    generations: generations.filter(({ isDamaged }) => !isDamaged).map(({ generation }) => generation),
    objects: copied.length,
    bytes: copied.reduce((sum, { size }) => sum + size, 0),
    problems,
  }
}
