import { backupNotFound, expiredBackup, scanManifests } from '../archive/catalog.ts'
import { listSizes } from '../archive/verify-objects.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { assertTargetFits } from './assert-target-fits.ts'
import { chooseGenerations, type RequestedGeneration } from './choose-generations.ts'
import { compareHistories } from './compare-histories.ts'
import { planObjects } from './plan-copy.ts'
import type { CopyOptions, CopyPlan, Sides } from './sides.ts'
import { surveySource } from './survey-source.ts'

/**
 * Looks at both sides and says what is to be copied. A target that holds something else is refused here, by name, before
 * anything is written. The source is fixed at the newest generation that it has now.
 */
export async function draftCopy(
  sides: Sides,
  backupId: string,
  { generation, verifyExisting }: Pick<CopyOptions, 'generation' | 'verifyExisting'>,
  signal: AbortSignal,
): Promise<CopyPlan> {
  // The target first: what another copy brings there meanwhile is at the source, too.
  const target = await generationsOf(sides.target, backupId, signal)
  const source = await generationsOf(sides.source, backupId, signal)
  if (source.length === 0) throw await backupNotFound(sides.source, backupId, signal)
  assertThere(sides, backupId, source, generation)
  const chosen = chooseGenerations(source, target, generation, verifyExisting)
  const history = { backupId, source, target, shared: chosen.shared }
  const problems = await compareHistories(sides, history, verifyExisting, signal)
  const survey = await surveySource(sides.source, backupId, chosen.walked, signal)
  const sizes = await listSizes(sides.target, backupId, signal)
  const { objects, existing, misfits } = planObjects(survey.generations, chosen.missing, sizes, verifyExisting)
  assertTargetFits(sides, misfits)
  const missing = new Set(chosen.missing)
  return {
    backupId,
    generations: survey.generations.filter(one => missing.has(one.generation)),
    objects,
    existing: { objects: existing.length, bytes: existing.reduce((sum, { size }) => sum + size, 0) },
    older: chosen.older,
    newestThere: target.at(-1),
    problems: [...problems, ...survey.problems.filter(({ key }) => problems.every(known => known.key !== key))],
  }
}

/** An expired backup is removed after its grace period, including copied objects. */
async function generationsOf(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  if (mark) throw expiredBackup(storage, backupId)
  return [...manifests.keys()]
}

function assertThere(
  { source }: Sides,
  backupId: string,
  there: readonly number[],
  requested: RequestedGeneration,
): void {
  if (typeof requested !== 'number' || there.includes(requested)) return
  const message = `the backup \`${backupId}\` at ${source.location} has no generation ${requested}`
  const help = `It has ${there.length}, from ${there[0]} to ${there.at(-1)}.`
  throw new KafkaBackupError('BACKUP_NOT_FOUND', message, { help })
}
