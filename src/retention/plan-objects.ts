import { manifestCopyKey, prunedMarkKey } from '../archive/layout.ts'
import type { StoredObject } from '../storage/storage.ts'

/** What an object of a backup is, by its key alone. */
type ObjectClass = 'manifest' | 'mark' | 'lease' | 'hold' | 'data' | 'shard' | 'log' | 'kept' | 'unknown'

const patterns: readonly (readonly [ObjectClass, RegExp])[] = [
  ['manifest', /^manifests\/\d+\.json$/],
  ['hold', /^holds\/\d{12}\.json$/],
  ['lease', /^leases\/[^/]+\.json$/],
  ['data', /^kafka\/[^/]+\/\d+\/(\d{20}\.[\w-]+\.log(\.zst)?|index-\d+\.[\w-]+\.json)$/],
  ['data', /^packs\/[\w-]+\.pack$/],
  // Positions of groups and whatever else belongs to a whole generation.
  ['data', /^kafka\/[a-z]+-\d+\.[\w-]+\.json$/],
  ['data', /^schema-registry\/generations\/.+$/],
  ['shard', /^shards\/\d+\/shard-\d+-of-\d+\.[\w-]+\.json$/],
  // Documents of version 2: they go when no generation that is kept needs them to be opened.
  [
    'log',
    /^(commits\/\d{9}\/\d{12}|kept\/\d{12}|(changes|checkpoints)\/\d{12}\.[\w-]+|rollups\/\d{12}-\d{12}\.[\w-]+)\.json\.zst$/,
  ],
  // Journals of restores, reports of runs, keys, and the current files of the registry: they live as long as the backup.
  ['kept', /^(restores|reports|keys|schema-registry)\/.+$/],
]

export function classify(backupId: string, key: string): ObjectClass {
  if (key === manifestCopyKey(backupId)) return 'manifest'
  if (key === prunedMarkKey(backupId)) return 'mark'
  const path = key.slice(backupId.length + 1)
  return patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'unknown'
}

/** The generation that a document of a shard is for. */
export function shardGeneration(key: string): number {
  return Number(/\/shards\/(\d+)\//.exec(key)?.[1] ?? 0)
}

/** Clocks may tell whole seconds only: nothing is younger than no time at all. */
interface GraceFacts {
  /** By the clock that says less, that of the store or that of this machine. */
  nowMs: number
  graceMs: number
}

export function isGraceOver({ modifiedMs }: Pick<StoredObject, 'modifiedMs'>, facts: GraceFacts): boolean {
  return Math.max(0, facts.nowMs - modifiedMs) >= facts.graceMs
}

interface SweepFacts extends GraceFacts {
  backupId: string
  /** What manifests and waiting shards name. */
  references: ReadonlySet<string>
  /** What generations named that have just been removed. */
  freed: ReadonlySet<string>
  newestGeneration: number
}

export interface SweepPlan {
  remove: StoredObject[]
  /** Nothing names them, but their grace period is not over. */
  waiting: StoredObject[]
  unknown: StoredObject[]
  /** Among what goes is something that a run which is taken for dead may yet want to name. */
  hasStrays: boolean
}

/** Pure. What of the objects of a backup nothing needs any more. */
export function planSweep(objects: readonly StoredObject[], facts: SweepFacts): SweepPlan {
  const plan: SweepPlan = { remove: [], waiting: [], unknown: [], hasStrays: false }
  for (const object of objects) {
    const kind = classify(facts.backupId, object.key)
    if (kind === 'unknown') plan.unknown.push(object)
    const isOrphan =
      (kind === 'data' && !facts.references.has(object.key)) ||
      (kind === 'shard' && shardGeneration(object.key) <= facts.newestGeneration)
    if (!isOrphan) continue
    if (!isGraceOver(object, facts)) plan.waiting.push(object)
    else {
      plan.remove.push(object)
      plan.hasStrays ||= kind === 'data' && !facts.freed.has(object.key)
    }
  }
  return plan
}

/**
 * Pure. The generations that may go: each has had a successor for longer than the grace period. The newest stays, and so
 * do those that are to be kept.
 */
export function planSuperseded(
  manifests: ReadonlyMap<number, Pick<StoredObject, 'modifiedMs'>>,
  kept: ReadonlySet<number>,
  facts: GraceFacts,
): number[] {
  const generations = [...manifests].toSorted(([a], [b]) => a - b)
  return generations
    .filter(([generation], at) => {
      const successor = generations[at + 1]?.[1]
      return successor && !kept.has(generation) && isGraceOver(successor, facts)
    })
    .map(([generation]) => generation)
}
