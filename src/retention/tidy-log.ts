import { readManifest, scanManifests } from '../archive/catalog.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import type { Manifest } from '../archive/manifest.ts'
import { readShards, segmentsOf } from '../archive/shard.ts'
import { hasCode } from '../errors.ts'
import type { StoredObject } from '../storage/storage.ts'
import { findKept } from './kept-generations.ts'
import { findCut, findOldDocuments, isSectionSince, type LogCut, readLogReferences } from './log-references.ts'
import { amountOf } from './outcome.ts'
import { classify, isGraceOver, planSuperseded } from './plan-objects.ts'
import type { PruneContext } from './prune-context.ts'
import { ReferenceReader } from './reference-reader.ts'
import { commitLogAgain, planLogTrim } from './trim-log.ts'

export interface FoundLog {
  newest: Manifest
  newestComplete?: Manifest | undefined
  /** Shards wait for the next generation, which is theirs. */
  waits: boolean
}

/**
 * A backup of version 2 that stays. Generations that were followed by another long ago go, as far as all that stay can be opened without
 * them: up to a cut. Commits go first, the newest of them first, so that those which are left can be opened whenever this is cut
 * short. Then the leases are read again, and what nothing names goes: documents of the log, packs, segments and files of sections.
 */
export async function tidyLog(
  context: PruneContext,
  before: readonly StoredObject[],
  state: FoundLog,
  signal: AbortSignal,
): Promise<void> {
  const { backupId, outcome, policy, parts } = context
  const { storage } = parts
  if (state.waits) {
    outcome.notes.push('nothing of it is cut off or removed: shards wait to be committed')
    return
  }
  const trim = await planLogTrim(context, state.newest.generation, before, signal)
  const newest = trim && !context.isDryRun ? await commitLogAgain(context, trim, signal) : undefined
  const found = newest ? { ...state, newest, ...(newest.complete && { newestComplete: newest }) } : state
  const objects = newest ? await context.listObjects(signal) : before
  const kept = await removeGenerations(context, objects, found, signal)
  if (!kept || (await isInUse(context, signal))) return
  const named = await readNamed(context, kept, found.newest.generation, signal)
  const facts = { storeNowMs: context.lease.storeNow(), graceMs: policy.graceMs }
  const orphans = objects.filter(
    ({ key }) =>
      classify(backupId, key) === 'data' && !named.has(key) && !isSectionSince(backupId, key, kept.cut.generation),
  )
  const shards = objects.filter(({ key }) => classify(backupId, key) === 'shard')
  const over = [...orphans, ...shards].filter(object => isGraceOver(object, facts))
  const documents = await findOldDocuments(storage, backupId, objects, kept.cut, signal)
  const old = documents.filter(({ key }) => parseLogKey(backupId, key)?.kind !== 'commit')
  outcome.waiting = amountOf([...orphans, ...shards].filter(object => !over.includes(object)))
  outcome.unknown = objects.filter(({ key }) => classify(backupId, key) === 'unknown').map(({ key }) => key)
  // What generations named that have just gone is not what a writer that sleeps may want to name.
  const hasStrays = over.some(({ key }) => classify(backupId, key) === 'data' && !kept.freed.has(key))
  if ((hasStrays || kept.isStuck) && !trim && !context.isDryRun) await commitLogAgain(context, undefined, signal)
  await context.remove([...over, ...old], signal)
  await context.removeDeadLeases(objects, signal)
}

interface KeptGenerations {
  cut: LogCut
  /** From the cut on. */
  commits: number[]
  manifests: number[]
  /** What generations named that have gone. */
  freed: ReadonlySet<string>
  /** Generations could go, and no cut lies behind them. */
  isStuck: boolean
}

/** Undefined where the store protects a generation, which then needs all that it names. */
async function removeGenerations(
  context: PruneContext,
  objects: readonly StoredObject[],
  { newest, newestComplete }: FoundLog,
  signal: AbortSignal,
): Promise<KeptGenerations | undefined> {
  const { parts, backupId, policy, lease, outcome, isDryRun } = context
  const { storage } = parts
  const { manifests, commits } = await generationsOf(context, objects, newest.generation, signal)
  const facts = { storeNowMs: lease.storeNow(), graceMs: policy.graceMs }
  const all = new Map([...manifests, ...commits])
  const stays = await findKept(context, all, newestComplete?.generation, signal)
  const superseded = new Set(planSuperseded(all, stays, facts))
  const [oldest = newest.generation] = [...commits.keys()]
  const firstKept = [...commits.keys()].find(one => !superseded.has(one)) ?? newest.generation
  if (policy.generations && [...superseded].some(one => one > firstKept)) {
    const why = 'in format version 2 only those before the oldest one that is kept can go'
    outcome.notes.push(`generations that no rule keeps stay in between: ${why}`)
  }
  const found = await findCut(storage, backupId, objects, firstKept, signal)
  const cut = found ?? { generation: oldest, checkpoint: 0 }
  const goes = ([generation]: [number, StoredObject]) => generation < cut.generation
  // Those of version 1 go one by one; commits only up to the cut.
  const oldManifests = [...manifests].filter(([generation]) => superseded.has(generation))
  const oldCommits = [...commits].filter(goes).reverse()
  const freed = await readFreed(context, oldCommits.length > 0 ? [...commits.keys()] : [], signal)
  for (const [, object] of [...oldCommits, ...oldManifests]) await context.remove([object], signal)
  outcome.generationsRemoved = oldCommits.length + oldManifests.length
  const gone = new Set(oldManifests.map(([generation]) => generation))
  const left = [...manifests.keys()].filter(generation => !gone.has(generation))
  if (!isDryRun && outcome.retained.objects > 0) {
    outcome.notes.push('the store protects generations that could go, and so all that they name stays')
    return undefined
  }
  const later = [...commits.keys()].filter(one => one >= cut.generation)
  return { cut, commits: later, manifests: left, freed, isStuck: cut.generation < firstKept && firstKept > oldest }
}

/** All that these generations name; where one of them is damaged, nothing is known of them. */
async function readFreed(
  { parts: { storage }, backupId }: PruneContext,
  commits: readonly number[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const [cut] = commits
  if (cut === undefined) return new Set()
  try {
    return await readLogReferences(storage, backupId, { cut, commits }, signal)
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
): Promise<{ manifests: Map<number, StoredObject>; commits: Map<number, StoredObject> }> {
  const commits = objects.flatMap((object): [number, StoredObject][] => {
    const parsed = parseLogKey(backupId, object.key)
    return parsed?.kind === 'commit' && parsed.to <= newest ? [[parsed.to, object]] : []
  })
  const { manifests } = await scanManifests(parts.storage, backupId, signal)
  const marker = [...manifests.keys()].at(-1)
  const older = [...manifests].filter(([generation]) => generation !== marker)
  return { manifests: new Map(older), commits: new Map(commits.sort(([a], [b]) => a - b)) }
}

async function isInUse(context: PruneContext, signal: AbortSignal): Promise<boolean> {
  const users = await context.users(signal)
  if (users.length > 0) context.outcome.notes.push('it is in use, so that nothing of it is removed now')
  return users.length > 0
}

async function readNamed(
  { parts: { storage }, backupId }: PruneContext,
  { cut, commits, manifests }: KeptGenerations,
  newest: number,
  signal: AbortSignal,
): Promise<Set<string>> {
  const named = await readLogReferences(storage, backupId, { cut: cut.generation, commits }, signal)
  const reader = new ReferenceReader(storage)
  for (const generation of manifests) {
    const manifest = await readManifest(storage, backupId, generation, signal)
    for (const key of await reader.read(manifest, signal)) named.add(key)
  }
  const shards = await readShards(storage, { backupId, generation: newest + 1 }, signal)
  for (const { key } of [...segmentsOf(shards).values()].flat()) named.add(key)
  return named
}
