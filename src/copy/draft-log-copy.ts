import { type NewestState, newestState, type ScannedGenerations, scanGenerations } from '../archive/catalog.ts'
import { manifestOf } from '../archive/log/as-manifest.ts'
import { type OpenedGeneration, openGeneration } from '../archive/log/open-generation.ts'
import type { Manifest } from '../archive/manifest.ts'
import { avoidedWarnings } from '../archive/record-warnings.ts'
import { listSizes } from '../archive/verify-objects.ts'
import { compareLogs } from './compare-logs.ts'
import { fromSource, fromTarget } from './damage-at.ts'
import { assertTargetFits, noGeneration, planObjects } from './draft-copy.ts'
import { logObjectsOf } from './log-objects.ts'
import type { CopyOptions, CopyPlan, Sides } from './sides.ts'
import { surveyTarget } from './survey-target.ts'

/** The work for one generation of version 2. Nothing is written yet. */
export interface LogCopyPlan extends Pick<CopyPlan, 'objects' | 'existing' | 'problems' | 'older'> {
  opened: OpenedGeneration
  manifest: Manifest
  /** The newest state at the target. */
  there: NewestState
  /** The target has the generation already. */
  isThere: boolean
  warnings: string[]
}

/** Reads both sides, and refuses a target that is not a copy of the source. */
export async function draftLogCopy(
  sides: Sides,
  backupId: string,
  options: CopyOptions,
  signal: AbortSignal,
): Promise<LogCopyPlan> {
  // The target first: what another copy brings there meanwhile is at the source, too.
  const there = await fromTarget(sides, backupId, newestState(sides.target, backupId, signal))
  const target = await scanGenerations(sides.target, backupId, signal)
  const source = await scanGenerations(sides.source, backupId, signal)
  const opened = await fromSource(sides, openChosen(sides, backupId, options, source.commits, signal))
  const manifest = manifestOf(sides.source, opened)
  const { generation } = manifest
  const isThorough = options.verifyExisting
  await compareLogs(sides, { manifest, source, target, newestThere: there.manifest, isThorough }, signal)
  const isThere = target.commits.includes(generation)
  const sizes = await listSizes(sides.target, backupId, signal)
  const own = await surveyTarget(sides, there, { backupId, generation, isThere, isThorough, sizes }, signal)
  const fresh = own.objects ?? (await fromSource(sides, logObjectsOf(sides.source, manifest, signal)))
  const survey = [{ generation, isDamaged: false, fresh }]
  const { objects, existing, misfits } = planObjects(survey, isThere ? [] : [generation], sizes, isThorough)
  assertTargetFits(sides, misfits)
  return {
    ...{ opened, manifest, there, isThere, objects },
    existing: { objects: existing.length, bytes: existing.reduce((sum, { size }) => sum + size, 0) },
    problems: own.problems,
    warnings: [...avoidedWarnings(manifest), ...own.warnings],
    older: olderOf(source.manifests, target, options, generation),
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
