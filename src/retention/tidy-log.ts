import { readManifest } from '../archive/catalog.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { readCommit } from '../archive/log/read-commit.ts'
import { readShards, segmentsOf } from '../archive/shard.ts'
import type { StoredObject } from '../storage/storage.ts'
import { assertKeptReadable, type FoundLog, type LeftGenerations, removeGenerations } from './log-generations.ts'
import { addState, findOldDocuments, isSectionSince, readLogReferences } from './log-references.ts'
import { amountOf } from './outcome.ts'
import { classify, isGraceOver } from './plan-objects.ts'
import type { PruneContext } from './prune-context.ts'
import { ReferenceReader } from './reference-reader.ts'
import { commitLogAgain, planLogTrim } from './trim-log.ts'

/**
 * A backup of version 2 that stays. Generations that were followed by another long ago go, up to a cut; those before it that are kept for
 * longer get a commit that needs no other. Commits go first, the newest of them first, so that those which are left can be opened whenever
 * this is cut short. Then the leases are read again, and what nothing names goes: documents of the log, packs, segments and files of sections.
 */
export async function tidyLog(
  context: PruneContext,
  before: readonly StoredObject[],
  state: FoundLog & { waits: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { backupId, outcome, policy, parts } = context
  const { storage } = parts
  if (state.waits) {
    outcome.notes.push('nothing of it is cut off or removed: shards wait to be committed')
    return
  }
  const trim = await planLogTrim(context, state.newest.generation, before, signal)
  // What a cut commits cannot be undone: what ends the work with this backup is found before.
  if (trim) await assertKeptReadable(context, before, state, signal)
  const newest = trim && !context.isDryRun ? await commitLogAgain(context, trim, signal) : undefined
  if (trim) outcome.trimmed = trim.trimmed
  const found = newest ? { ...state, newest, ...(newest.complete && { newestComplete: newest }) } : state
  const objects = newest ? await context.listObjects(signal) : before
  const kept = await removeGenerations(context, objects, found, signal)
  if (await isInUse(context, signal)) return
  const named = await readNamed(context, kept, found.newest.generation, signal)
  const facts = { nowMs: context.nowMs, graceMs: policy.graceMs }
  const orphans = objects.filter(
    ({ key }) =>
      classify(backupId, key) === 'data' && !named.has(key) && !isSectionSince(backupId, key, kept.cut.generation),
  )
  const shards = objects.filter(({ key }) => classify(backupId, key) === 'shard')
  const isCopy = await isCopied(context, found.newest.generation, signal)
  // What generations named that have just gone is not what a writer that sleeps may want to name.
  const isStray = ({ key }: StoredObject) => classify(backupId, key) === 'data' && !kept.freed.has(key)
  const unfenced = { ...facts, graceMs: Math.max(policy.graceMs, UNFENCED_MS) }
  const over = [...orphans, ...shards].filter(one => isGraceOver(one, isCopy && isStray(one) ? unfenced : facts))
  const documents = await findOldDocuments(storage, backupId, objects, kept, signal)
  const old = documents.filter(({ key }) => parseLogKey(backupId, key)?.kind !== 'commit')
  outcome.waiting = amountOf([...orphans, ...shards].filter(object => !over.includes(object)))
  outcome.unknown = objects.filter(({ key }) => classify(backupId, key) === 'unknown').map(({ key }) => key)
  const isFenceDue = (over.some(isStray) || kept.isStuck) && !trim && !context.isDryRun && !isCopy
  if (isFenceDue) await commitLogAgain(context, undefined, signal)
  await context.remove([...over, ...old], signal)
  await context.removeDeadLeases(objects, signal)
}

/** Without a fence, a writer that slept between the check of its lease and its commit is given so long. */
const UNFENCED_MS = 24 * 3_600_000

/**
 * The newest generation is a copy. Then a commit of the prune's own would be one that the source does not have, and the next copy would be refused. The
 * writer here is a copy, which checks its lease right before it commits; and each copied generation is a cut by itself.
 */
async function isCopied({ parts, backupId }: PruneContext, newest: number, signal: AbortSignal): Promise<boolean> {
  const { commit } = await readCommit(parts.storage, backupId, newest, signal)
  return commit.previous === null && commit.originals !== undefined
}

async function isInUse(context: PruneContext, signal: AbortSignal): Promise<boolean> {
  const users = await context.users(signal)
  if (users.length > 0) context.outcome.notes.push('it is in use, so that nothing of it is removed now')
  return users.length > 0
}

async function readNamed(
  { parts: { storage }, backupId }: PruneContext,
  { cut, commits, kept, manifests }: LeftGenerations,
  newest: number,
  signal: AbortSignal,
): Promise<Set<string>> {
  const named = await readLogReferences(storage, backupId, { cut: cut.generation, commits }, signal)
  // Whatever the commits in between say.
  if (newest !== cut.generation) await addState(storage, backupId, newest, named, signal)
  for (const generation of kept) await addState(storage, backupId, generation, named, signal)
  const reader = new ReferenceReader(storage)
  for (const generation of manifests) {
    const manifest = await readManifest(storage, backupId, generation, signal)
    for (const key of await reader.read(manifest, signal)) named.add(key)
  }
  const shards = await readShards(storage, { backupId, generation: newest + 1 }, signal)
  for (const { key } of [...segmentsOf(shards).values()].flat()) named.add(key)
  return named
}
