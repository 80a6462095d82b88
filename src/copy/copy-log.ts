import { newestState, type ScannedGenerations, scanGenerations } from '../archive/catalog.ts'
import { manifestOf } from '../archive/log/as-manifest.ts'
import { type OpenedGeneration, openGeneration } from '../archive/log/open-generation.ts'
import { listSizes } from '../archive/verify-objects.ts'
import { commitCopy } from './commit-copy.ts'
import { compareLogs } from './compare-logs.ts'
import { copyWarnings } from './copy-warnings.ts'
import { assertTargetFits, noGeneration, planObjects } from './draft-copy.ts'
import { logObjectsOf } from './log-objects.ts'
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
  // The target first: what another copy brings there meanwhile is at the source, too.
  const there = await newestState(sides.target, backupId, signal)
  const target = await scanGenerations(sides.target, backupId, signal)
  const source = await scanGenerations(sides.source, backupId, signal)
  const opened = await openChosen(sides, backupId, options, source.commits, signal)
  const manifest = manifestOf(sides.source, opened)
  const { generation } = manifest
  const newestThere = there.manifest
  await compareLogs(sides, { manifest, source, target, newestThere, isThorough: options.verifyExisting }, signal)
  const isThere = target.commits.includes(generation)
  const fresh = await logObjectsOf(sides.source, manifest, signal)
  const warnings = copyWarnings(sides, manifest, there)
  for (const message of warnings) options.onProgress({ type: 'warning', message })
  const sizes = await listSizes(sides.target, backupId, signal)
  const survey = [{ generation, isDamaged: false, fresh }]
  const { objects, existing, misfits } = planObjects(survey, isThere ? [] : [generation], sizes, options.verifyExisting)
  assertTargetFits(sides, misfits)
  const done = options.dryRun
    ? { objects: objects.filter(one => one.action === 'copy'), problems: [] }
    : await copyObjects(sides, objects, options.onProgress, signal)
  const isCommitted = !isThere && done.problems.length === 0
  if (isCommitted && !options.dryRun) await commitCopy(sides, opened, manifest, there, options, signal)
  const newest = Math.max(there.manifest?.generation ?? 0, isCommitted || isThere ? generation : 0)
  return {
    backup_id: backupId,
    from: sides.source.location,
    to: sides.target.location,
    ok: done.problems.length === 0,
    dry_run: options.dryRun,
    generations: isCommitted ? [generation] : [],
    newest_generation: newest || null,
    objects: done.objects.length,
    bytes: done.objects.reduce((sum, { size }) => sum + size, 0),
    existing_objects: existing.length,
    existing_bytes: existing.reduce((sum, { size }) => sum + size, 0),
    existing_verified: options.verifyExisting,
    older_generations: olderOf(source.manifests, target, options, generation),
    problems: done.problems,
    warnings,
  }
}

/** Pure. The generations of version 1 that are left out, where no other one was asked for. */
function olderOf(
  manifests: readonly number[],
  target: ScannedGenerations,
  { generation }: CopyOptions,
  copied: number,
): number[] {
  const [oldest = copied] = [...target.manifests.slice(0, 1), ...target.commits.slice(0, 1)]
  return generation === undefined ? manifests.filter(one => one < Math.min(oldest, copied)) : []
}

async function openChosen(
  { source }: Sides,
  backupId: string,
  { generation }: CopyOptions,
  commits: readonly number[],
  signal: AbortSignal,
): Promise<OpenedGeneration> {
  const chosen = typeof generation === 'number' ? generation : (commits.at(-1) ?? 0)
  if (!commits.includes(chosen)) throw noGeneration(source, backupId, commits, chosen)
  return openGeneration(source, backupId, chosen, signal)
}
