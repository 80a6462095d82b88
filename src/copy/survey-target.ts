import { type NewestState, readGeneration } from '../archive/catalog.ts'
import { problemOf } from '../archive/damage.ts'
import { manifestOf } from '../archive/log/as-manifest.ts'
import { avoidedBy } from '../archive/log/avoided-damage.ts'
import type { NamedObject } from '../archive/manifest.ts'
import { avoidedWarnings } from '../archive/record-warnings.ts'
import { verifyLog } from '../archive/verify-log.ts'
import { type Problem, uniqueProblems } from '../archive/verify-objects.ts'
import { hasCode } from '../errors.ts'
import { logObjectsOf } from './log-objects.ts'
import type { Sides } from './sides.ts'

export interface TargetSurvey {
  /** What the target's own documents name; undefined where it lacks the generation, or they cannot be read. */
  objects: NamedObject[] | undefined
  problems: Problem[]
  /** Damaged objects that were read around. */
  warnings: string[]
}

interface TargetQuestion {
  backupId: string
  generation: number
  isThere: boolean
  /** Reads the documents of all generations. */
  isThorough: boolean
  /** Of the objects at the target. */
  sizes: ReadonlyMap<string, number>
}

/** Opens the generation that is to be copied at the target, where that has it, with all its lists: its commit alone does not prove that they can be read. */
export async function surveyTarget(
  { target }: Sides,
  there: NewestState,
  { backupId, generation, isThere, isThorough, sizes }: TargetQuestion,
  signal: AbortSignal,
): Promise<TargetSurvey> {
  const own = isThere ? await readOwn(target, there, { backupId, generation }, signal) : undefined
  const log = isThorough ? await verifyLog(target, backupId, signal) : undefined
  const found = [...(own?.problems ?? []), ...(log?.problems ?? [])]
  const avoided = own?.avoided ?? (there.opened ? avoidedBy(there.opened) : [])
  const lost = isThere || isThorough ? [] : findLostPages(there, sizes)
  const locate = <P extends Problem>(one: P): P => ({ ...one, problem: `at ${target.location}: ${one.problem}` })
  return {
    objects: own?.objects,
    problems: uniqueProblems(found.map(locate)),
    warnings: [...avoidedWarnings({ avoided: avoided.map(locate) }), ...lost.map(locate).map(describe)],
  }
}

async function readOwn(
  target: Sides['target'],
  { opened }: NewestState,
  { backupId, generation }: Pick<TargetQuestion, 'backupId' | 'generation'>,
  signal: AbortSignal,
) {
  try {
    const isNewest = opened?.commit.generation === generation
    const manifest = isNewest ? manifestOf(target, opened) : await readGeneration(target, backupId, generation, signal)
    const objects = await logObjectsOf(target, manifest, signal)
    return { objects, problems: [], avoided: manifest.avoided ?? [] }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const key = error.details.key ?? backupId
    return { objects: undefined, problems: [{ key, problem: problemOf(error, key) }], avoided: [] }
  }
}

/** Pure. Pages that the newest generation at the target lacks, which a copy of another one does not need. */
function findLostPages({ opened }: NewestState, sizes: TargetQuestion['sizes']): Problem[] {
  const pages = opened?.checkpoint?.pages ?? []
  return pages
    .filter(({ key, size }) => sizes.get(key) !== size)
    .map(({ key }) => ({
      key,
      problem: `it is missing or truncated: generation ${opened?.commit.generation} cannot be read completely`,
    }))
}

function describe({ key, problem }: Problem): string {
  return `${key}: ${problem}`
}
