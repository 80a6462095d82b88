import { scanManifests } from '../archive/catalog.ts'
import { isKept, keepGeneration } from '../archive/log/keep-generation.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { rangesOf } from '../archive/log/survey-log.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode } from '../errors.ts'
import type { StoredObject } from '../storage/storage.ts'
import { assertCut } from './assert-cut.ts'
import { findKept } from './kept-generations.ts'
import { addState, findCut, type LogCut, readLogReferences } from './log-references.ts'
import { planSuperseded } from './plan-objects.ts'
import type { PruneContext } from './prune-context.ts'
import { type RemovedCommits, removeCommits } from './remove-commits.ts'

export interface FoundLog {
  newest: Manifest
  newestComplete?: Manifest | undefined
}

/** The generations that are left of a backup of version 2. */
export interface LeftGenerations {
  cut: LogCut
  /** From the cut on. */
  commits: number[]
  /** Those whose commit has gone and that are kept for longer. */
  kept: number[]
  /** Of version 1. */
  manifests: number[]
  /** What generations named that have gone. */
  freed: ReadonlySet<string>
  /** Generations could go, and no cut lies behind them. */
  isStuck: boolean
}

type Generations = Map<number, StoredObject>

/** Fails as `removeGenerations` does, where it cannot be found out which generations stay. */
export async function assertKeptReadable(
  context: PruneContext,
  objects: readonly StoredObject[],
  { newest, newestComplete }: FoundLog,
  signal: AbortSignal,
): Promise<void> {
  const { manifests, commits, kept } = await generationsOf(context, objects, newest.generation, signal)
  await findKept(context, new Map([...manifests, ...kept, ...commits]), newestComplete?.generation, signal)
}

/** What the store protects stays readable, with all that it names. */
export async function removeGenerations(
  context: PruneContext,
  objects: readonly StoredObject[],
  { newest, newestComplete }: FoundLog,
  signal: AbortSignal,
): Promise<LeftGenerations> {
  const { parts, backupId, policy, outcome } = context
  const { manifests, commits, kept } = await generationsOf(context, objects, newest.generation, signal)
  const facts = { nowMs: context.nowMs, graceMs: policy.graceMs }
  const all = new Map([...manifests, ...kept, ...commits])
  // The newest may be one that was kept, if its commit and all behind it are lost.
  const stays = (await findKept(context, all, newestComplete?.generation, signal)).add(newest.generation)
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
  await assertCut(parts.storage, backupId, { cut: cut.generation, commits: numbers }, signal)
  const toKeep = before.filter(one => stays.has(one))
  await keep(context, toKeep, kept, signal)
  const old = {
    manifests: [...manifests.keys()].filter(one => superseded.has(one)),
    kept: [...kept.keys()].filter(one => !stays.has(one)),
  }
  const freed = await readFreed(context, before.length > 0 ? numbers : [], old.kept, signal)
  const commitsGone = await removeCommits(context, objects, commits, cut, signal)
  const [keptStay, manifestsStay] = [
    await removeEach(context, kept, old.kept, signal),
    await removeEach(context, manifests, old.manifests, signal),
  ]
  noteRefused(context, commitsGone, numbers, [...keptStay, ...manifestsStay])
  const gone = [...commitsGone.removed].filter(one => !stays.has(one)).length
  outcome.generationsRemoved = gone + old.kept.length + old.manifests.length - keptStay.size - manifestsStay.size
  const left = new Set(numbers.filter(one => one >= commitsGone.cut.generation && !commitsGone.removed.has(one)))
  // The cut may lie before them, too, where the store protects an older commit.
  const isKept = (one: number) => !left.has(one) && (stays.has(one) || keptStay.has(one))
  return {
    cut: commitsGone.cut,
    commits: [...left],
    kept: [...new Set([...kept.keys(), ...before])].filter(isKept),
    manifests: [...manifests.keys()].filter(one => !superseded.has(one) || manifestsStay.has(one)),
    freed,
    isStuck: cut.generation < firstRecent && firstRecent > oldest,
  }
}

/** One after the other; returns those that the store protects. */
async function removeEach(
  context: PruneContext,
  from: Generations,
  generations: readonly number[],
  signal: AbortSignal,
): Promise<Set<number>> {
  const refused = new Set<number>()
  for (const generation of generations) {
    const object = from.get(generation)
    if (object && (await context.remove([object], signal)).length > 0) refused.add(generation)
  }
  return refused
}

function noteRefused(
  { outcome }: PruneContext,
  { refused, removed, cut }: RemovedCommits,
  commits: readonly number[],
  others: readonly number[],
): void {
  const until = 'until it releases them, with all that they name; a later prune removes them'
  if (refused !== undefined) {
    const stay = commits.filter(one => !removed.has(one) && one >= cut.generation && one <= refused)
    const [from = refused] = stay
    outcome.notes.push(
      `the store refused to remove generation ${refused}, so generations ${from} to ${refused} stay ${until}`,
    )
  }
  if (others.length > 0) {
    const named = rangesOf(others.toSorted((a, b) => a - b)).map(({ from, to }) =>
      from === to ? from : `${from} to ${to}`,
    )
    outcome.notes.push(`the store refused to remove generations ${named.join(', ')}: they stay ${until}`)
  }
}

/** So that they can be opened without the commits that go. What an earlier prune has written may be damaged by now. */
async function keep(
  { parts: { storage }, backupId, lease, isDryRun }: PruneContext,
  generations: readonly number[],
  kept: Generations,
  signal: AbortSignal,
): Promise<void> {
  for (const generation of isDryRun ? [] : generations) {
    if (kept.has(generation) && (await isKept(storage, backupId, generation, signal))) continue
    lease.assertHeld()
    await keepGeneration(storage, backupId, generation, signal)
  }
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
