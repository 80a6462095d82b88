import { scanManifests } from '../archive/catalog.ts'
import { keepGeneration } from '../archive/log/keep-generation.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode } from '../errors.ts'
import type { StoredObject } from '../storage/storage.ts'
import { findKept } from './kept-generations.ts'
import { addState, findCut, type LogCut, readLogReferences } from './log-references.ts'
import { planSuperseded } from './plan-objects.ts'
import type { PruneContext } from './prune-context.ts'

export interface FoundLog {
  newest: Manifest
  newestComplete?: Manifest | undefined
}

/** The generations that are left of a backup of version 2. */
export interface LeftGenerations {
  cut: LogCut
  /** From the cut on. */
  commits: number[]
  /** Those before the cut that are kept for longer. */
  kept: number[]
  /** Of version 1. */
  manifests: number[]
  /** What generations named that have gone. */
  freed: ReadonlySet<string>
  /** Generations could go, and no cut lies behind them. */
  isStuck: boolean
}

type Generations = Map<number, StoredObject>

/** Undefined where the store protects a generation, which then needs all that it names. */
export async function removeGenerations(
  context: PruneContext,
  objects: readonly StoredObject[],
  { newest, newestComplete }: FoundLog,
  signal: AbortSignal,
): Promise<LeftGenerations | undefined> {
  const { parts, backupId, policy, lease, outcome, isDryRun } = context
  const { manifests, commits, kept } = await generationsOf(context, objects, newest.generation, signal)
  const facts = { storeNowMs: lease.storeNow(), graceMs: policy.graceMs }
  const all = new Map([...manifests, ...kept, ...commits])
  const stays = await findKept(context, all, newestComplete?.generation, signal)
  // Those that were kept have been followed long ago; what keeps them was stored later.
  const timed = new Map([...manifests, ...commits])
  const superseded = new Set(planSuperseded(timed, stays, facts))
  const followed = new Set(planSuperseded(timed, new Set(), facts))
  const numbers = [...commits.keys()]
  const [oldest = newest.generation] = numbers
  const firstRecent = numbers.find(one => !followed.has(one)) ?? newest.generation
  const found = await findCut(parts.storage, backupId, objects, firstRecent, signal)
  const cut = found ?? { generation: oldest, checkpoint: 0 }
  const before = numbers.filter(one => one < cut.generation)
  await keep(
    context,
    before.filter(one => stays.has(one) && !kept.has(one)),
    signal,
  )
  const old = {
    manifests: [...manifests.keys()].filter(one => superseded.has(one)),
    kept: [...kept.keys()].filter(one => !stays.has(one)),
  }
  const freed = await readFreed(context, before.length > 0 ? numbers : [], old.kept, signal)
  // The newest first: those before it can be opened as long as they are there.
  const gone = [...take(commits, before.toReversed()), ...take(kept, old.kept), ...take(manifests, old.manifests)]
  for (const object of gone) await context.remove([object], signal)
  outcome.generationsRemoved = gone.length - before.filter(one => stays.has(one)).length
  if (!isDryRun && outcome.retained.objects > 0) {
    outcome.notes.push('the store protects generations that could go, and so all that they name stays')
    return undefined
  }
  return {
    cut,
    commits: numbers.filter(one => one >= cut.generation),
    kept: [...new Set([...kept.keys(), ...before])].filter(one => one < cut.generation && stays.has(one)),
    manifests: [...manifests.keys()].filter(one => !superseded.has(one)),
    freed,
    isStuck: cut.generation < firstRecent && firstRecent > oldest,
  }
}

/** So that they can be opened without the commits that go. */
async function keep({ parts, backupId, lease, isDryRun }: PruneContext, generations: number[], signal: AbortSignal) {
  for (const generation of isDryRun ? [] : generations) {
    lease.assertHeld()
    await keepGeneration(parts.storage, backupId, generation, signal)
  }
}

function take(from: Generations, generations: readonly number[]): StoredObject[] {
  return generations.flatMap(one => from.get(one) ?? [])
}

/** All that these generations name; where one of them is damaged, nothing is known of them. */
async function readFreed(
  { parts: { storage }, backupId }: PruneContext,
  commits: readonly number[],
  kept: readonly number[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const [cut] = commits
  try {
    const freed =
      cut === undefined ? new Set<string>() : await readLogReferences(storage, backupId, { cut, commits }, signal)
    for (const generation of kept) await addState(storage, backupId, generation, freed, signal)
    return freed
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    return new Set()
  }
}

/** Both versions by generation, oldest first; without the marker, which is not a generation. */
async function generationsOf(
  { parts, backupId }: PruneContext,
  objects: readonly StoredObject[],
  newest: number,
  signal: AbortSignal,
): Promise<{ manifests: Generations; commits: Generations; kept: Generations }> {
  const [commits, kept] = (['commit', 'kept'] as const).map(kind => {
    const some = objects.flatMap((object): [number, StoredObject][] => {
      const parsed = parseLogKey(backupId, object.key)
      return parsed?.kind === kind && parsed.to <= newest ? [[parsed.to, object]] : []
    })
    return new Map(some.sort(([a], [b]) => a - b))
  })
  const { manifests } = await scanManifests(parts.storage, backupId, signal)
  const marker = [...manifests.keys()].at(-1)
  const older = [...manifests].filter(([generation]) => generation !== marker)
  return { manifests: new Map(older), commits: commits ?? new Map(), kept: kept ?? new Map() }
}
