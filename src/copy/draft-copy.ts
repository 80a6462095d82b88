import { backupNotFound, scanGenerations } from '../archive/catalog.ts'
import type { NamedObject } from '../archive/manifest.ts'
import { listSizes, type Problem } from '../archive/verify-objects.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { chooseGenerations, type RequestedGeneration } from './choose-generations.ts'
import { compareHistories, diverged } from './compare-histories.ts'
import type { CopyOptions, CopyPlan, PlannedObject, Sides } from './sides.ts'
import { type SurveyedGeneration, surveySource } from './survey-source.ts'

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
  const { manifests: target, commits: commitsThere } = await scanGenerations(sides.target, backupId, signal)
  const { manifests: source, commits } = await scanGenerations(sides.source, backupId, signal)
  const [own] = commits.length > 0 ? [] : commitsThere
  if (own !== undefined) {
    throw diverged(sides, backupId, `it has generation ${own} of format version 2, and the source has none of these`)
  }
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

function assertThere(
  { source }: Sides,
  backupId: string,
  there: readonly number[],
  requested: RequestedGeneration,
): void {
  if (typeof requested !== 'number' || there.includes(requested)) return
  throw noGeneration(source, backupId, there, requested)
}

export function noGeneration(
  { location }: Storage,
  backupId: string,
  there: readonly number[],
  requested: number,
): KafkaBackupError {
  const message = `the backup \`${backupId}\` at ${location} has no generation ${requested}`
  const which = there.length === 1 ? `generation ${there[0]} only` : `generations from ${there[0]} to ${there.at(-1)}`
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, { help: `It has ${which}; correct \`--generation\`.` })
}

/**
 * Refuses a target where something else has the name of an object of the source. The names of all objects contain the random
 * id of the run that wrote them, so a difference in size is what `misfits` has to show.
 */
export function assertTargetFits({ target }: Sides, [first, ...others]: readonly Problem[]): void {
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` (the same goes for ${others.length} more)`
  const message = `${first.key} at ${target.location} is not the object of the source: ${first.problem}${more}`
  throw new KafkaBackupError('ARCHIVE_DAMAGED', message, {
    help: 'Nothing was written. Remove the object at the target and run the same command again, or copy to another location.',
    details: { key: first.key, problem: first.problem },
  })
}

interface PlannedObjects {
  /** In the order of the generations that name them first. */
  objects: PlannedObject[]
  /** At the target with the recorded size. */
  existing: NamedObject[]
  /** At the target with another size. */
  misfits: Problem[]
}

/**
 * Pure. What of the objects of the source is to be copied, by the sizes of those at the target. `missing` are the
 * generations to be committed; both lists ascend.
 */
export function planObjects(
  generations: readonly SurveyedGeneration[],
  missing: readonly number[],
  sizes: ReadonlyMap<string, number>,
  verifyExisting: boolean,
): PlannedObjects {
  const plan: PlannedObjects = { objects: [], existing: [], misfits: [] }
  let next = 0
  for (const { generation, fresh } of generations) {
    while ((missing[next] ?? generation) < generation) next++
    const neededBy = missing[next]
    for (const object of fresh) {
      const size = sizes.get(object.key)
      if (size === undefined) plan.objects.push({ ...object, neededBy, action: 'copy' })
      else if (size !== object.size) {
        plan.misfits.push({ key: object.key, problem: `it has ${size} bytes instead of ${object.size}` })
      } else {
        plan.existing.push(object)
        if (verifyExisting) plan.objects.push({ ...object, neededBy, action: 'check' })
      }
    }
  }
  return plan
}
