import { commitCopy } from './commit-copy.ts'
import { draftLogCopy } from './draft-log-copy.ts'
import { copyObjects } from './run-copy.ts'
import type { CopyOptions, CopyReport, Sides } from './sides.ts'

/**
 * Brings one generation of a backup of version 2 to the target: the newest one, or the one that is asked for. What it names is copied as it is. At
 * the target it is a checkpoint and a commit, which need no other generation.
 */
export async function copyLog(
  sides: Sides,
  backupId: string,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<CopyReport> {
  const plan = await draftLogCopy(sides, backupId, options, signal)
  const { opened, manifest, there, isThere, objects, warnings } = plan
  for (const message of warnings) options.onProgress({ type: 'warning', message })
  const done = options.dryRun
    ? { objects: objects.filter(one => one.action === 'copy'), problems: [] }
    : await copyObjects(sides, objects, options.onProgress, signal)
  const isCommitted = !isThere && done.problems.length === 0
  if (isCommitted && !options.dryRun) await commitCopy(sides, opened, manifest, there, options, signal)
  const { generation } = manifest
  const newest = Math.max(there.manifest?.generation ?? 0, isCommitted || isThere ? generation : 0)
  const problems = [...plan.problems, ...done.problems]
  return {
    backup_id: backupId,
    from: sides.source.location,
    to: sides.target.location,
    ok: problems.length === 0,
    dry_run: options.dryRun,
    generations: isCommitted ? [generation] : [],
    newest_generation: newest || null,
    objects: done.objects.length,
    bytes: done.objects.reduce((sum, { size }) => sum + size, 0),
    existing_objects: plan.existing.objects,
    existing_bytes: plan.existing.bytes,
    existing_verified: options.verifyExisting,
    older_generations: plan.older,
    problems,
    warnings,
  }
}
