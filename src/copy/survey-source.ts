import { readManifest } from '../archive/catalog.ts'
import { problemOf } from '../archive/damage.ts'
import { indexRefsOf, type OwnedIndex, readIndex } from '../archive/indexes.ts'
import { manifestKey } from '../archive/layout.ts'
import type { Manifest, NamedObject, PartitionIndex } from '../archive/manifest.ts'
import { objectsOf } from '../archive/named-objects.ts'
import type { Problem } from '../archive/verify-objects.ts'
import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import { mapAhead } from '../lib/read-ahead.ts'
import type { Storage } from '../storage/storage.ts'

export interface SurveyedGeneration {
  generation: number
  /** Its manifest or one of its indexes is damaged: it cannot be copied. */
  isDamaged: boolean
  /** What it names and no generation before it does. */
  fresh: NamedObject[]
}

interface Survey {
  /** In the order in which they were asked for. */
  generations: SurveyedGeneration[]
  problems: Problem[]
}

const MANIFESTS_AHEAD = 4
const CONCURRENCY = 16

/** What the generations name. Manifests and indexes are read, each index once; no data is. */
export async function surveySource(
  source: Storage,
  backupId: string,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<Survey> {
  const walk: Walk = { seen: new Map(), damagedIndexes: new Set(), problems: [] }
  const surveyed: SurveyedGeneration[] = []
  const reading = mapAhead(inOrder(generations), MANIFESTS_AHEAD, async generation => {
    const read = await orProblem(manifestKey(backupId, generation), () =>
      readManifest(source, backupId, generation, signal),
    )
    return { generation, read }
  })
  for await (const { generation, read } of reading) {
    if ('value' in read) surveyed.push(await walkGeneration(source, read.value, walk, signal))
    else {
      walk.problems.push(read)
      surveyed.push({ generation, isDamaged: true, fresh: [] })
    }
  }
  return { generations: surveyed, problems: walk.problems }
}

interface Walk {
  /** Every object that a generation has named so far, with its hash. */
  seen: Map<string, string>
  damagedIndexes: Set<string>
  problems: Problem[]
}

async function walkGeneration(
  source: Storage,
  manifest: Manifest,
  walk: Walk,
  signal: AbortSignal,
): Promise<SurveyedGeneration> {
  const refs = indexRefsOf(manifest)
  const unread = refs.filter(({ key }) => !walk.seen.has(key) && !walk.damagedIndexes.has(key))
  const indexes = await runPool(unread, CONCURRENCY, ref => openIndex(source, ref, walk, signal))
  const fresh: NamedObject[] = []
  let isDamaged = refs.some(({ key }) => walk.damagedIndexes.has(key))
  for (const object of objectsOf(manifest, indexes.flat())) {
    const problem = misnamed(object, manifest, walk)
    if (problem) {
      walk.problems.push(problem)
      isDamaged = true
    } else if (!walk.seen.has(object.key) && !walk.damagedIndexes.has(object.key)) {
      walk.seen.set(object.key, object.blake3)
      fresh.push(object)
    }
  }
  return { generation: manifest.generation, isDamaged, fresh }
}

async function openIndex(source: Storage, ref: OwnedIndex, walk: Walk, signal: AbortSignal): Promise<PartitionIndex[]> {
  const read = await orProblem(ref.key, () => readIndex(source, ref, signal))
  if ('value' in read) return [read.value]
  walk.damagedIndexes.add(ref.key)
  walk.problems.push(read)
  return []
}

/** Two generations that record different bytes under one key cannot both be right. */
function misnamed({ key, blake3 }: NamedObject, { backup_id, generation }: Manifest, walk: Walk): Problem | undefined {
  const known = walk.seen.get(key)
  if (known === undefined || known === blake3) return undefined
  const problem = `it names ${JSON.stringify(key)} with another hash than an earlier generation`
  return { key: manifestKey(backup_id, generation), problem }
}

async function orProblem<T>(key: string, read: () => Promise<T>): Promise<{ value: T } | Problem> {
  try {
    return { value: await read() }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    return { key, problem: problemOf(error, key) }
  }
}

async function* inOrder<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
