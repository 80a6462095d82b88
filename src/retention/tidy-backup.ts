import { readManifest, scanManifests } from '../archive/catalog.ts'
import type { FoundLease } from '../archive/lease.ts'
import type { Manifest } from '../archive/manifest.ts'
import { readShards, segmentsOf } from '../archive/shard.ts'
import { KafkaBackupError } from '../errors.ts'
import type { StoredObject } from '../storage/storage.ts'
import { findKept } from './kept-generations.ts'
import { amountOf, trimmedOf } from './outcome.ts'
import { classify, planSuperseded, planSweep, type SweepPlan, shardGeneration } from './plan-objects.ts'
import type { PruneContext } from './prune-context.ts'
import { ReferenceReader } from './reference-reader.ts'
import { readNewest } from './survey.ts'
import { tidyLog } from './tidy-log.ts'
import { commitAgain, commitTrim, namesCut, planTrim, renewCopy } from './trim-backup.ts'

/**
 * A backup that stays: leading segments that are too old are cut off by a new generation, generations that were followed
 * by another long ago go, and then the objects that nothing names. Manifests go before the data, and the leases are read
 * after the manifests went: a reader has written its lease before it reads a manifest, so that either it is seen here or
 * it finds only manifests whose objects stay.
 */
export async function tidyBackup(context: PruneContext, signal: AbortSignal): Promise<void> {
  const { backupId, outcome, parts } = context
  const objects = await context.listObjects(signal)
  const found = await readNewest(parts.storage, backupId, await scanManifests(parts.storage, backupId, signal), signal)
  if (!found.newest) return
  outcome.state = 'kept'
  if (found.isPending) {
    const why = 'a run has begun with format version 2, and has not committed yet'
    outcome.notes.push(`nothing of it is removed: ${why}`)
    return
  }
  const waits = objects.some(({ key }) => isWaitingShard(backupId, key, found.newest?.generation ?? 0))
  if (found.isLog) {
    if (isHeldUp(context, await context.users(signal))) return
    return tidyLog(context, objects, { newest: found.newest, newestComplete: found.newestComplete, waits }, signal)
  }
  const { newest, foreseen } = await trim(context, found.newest, objects, waits, signal)
  const complete = newest.complete ? newest : found.newestComplete
  if (isHeldUp(context, await context.users(signal))) return
  const references = new ReferenceReader(parts.storage)
  const freed = await removeSuperseded(context, newest, complete?.generation, references, signal)
  if (isHeldUp(context, await context.users(signal))) return
  const named = await readReferences(context, freed.generations, references, newest.generation, signal)
  if (foreseen) for (const key of await references.read(found.newest, signal)) if (!foreseen.has(key)) named.add(key)
  const nowMs = context.nowMs
  const { graceMs } = context.policy
  const facts = { backupId, references: named, freed: freed.keys, newestGeneration: newest.generation }
  const plan = planSweep(objects, { ...facts, nowMs, graceMs })
  await sweep(context, plan, { newest, isFenced: newest !== found.newest, waits, freed: freed.keys }, signal)
  await context.removeDeadLeases(objects, signal)
}

interface Trimmed {
  /** In a dry run one that is not there. */
  newest: Manifest
  /** In a dry run what the cut takes away from those that it names. */
  foreseen?: ReadonlySet<string>
}

async function trim(
  context: PruneContext,
  newest: Manifest,
  objects: readonly StoredObject[],
  waits: boolean,
  signal: AbortSignal,
): Promise<Trimmed> {
  const { policy, parts, outcome, lease } = context
  if (policy.olderThanMs === undefined) return { newest }
  const stored = new Map(objects.map(({ key, modifiedMs }) => [key, modifiedMs]))
  // Objects of the newest run are current, however old they are.
  const cutoffMs = Math.min(context.nowMs - policy.olderThanMs, Date.parse(newest.started_at))
  const cut = await planTrim(parts.storage, newest, key => stored.get(key), cutoffMs, signal)
  if (cut.compacted.length > 0) outcome.notes.push(`compacted, and so not cut: ${cut.compacted.join(', ')}`)
  if (cut.unknown.length > 0) {
    const why = 'not cut, since the backup does not say whether they are compacted'
    outcome.notes.push(`${why} (the next run of it stores that): ${cut.unknown.join(', ')}`)
  }
  if (cut.partitions.length === 0) return { newest }
  if (!newest.complete || waits) {
    const why = waits ? 'shards wait to be committed' : 'its newest generation is not complete'
    outcome.notes.push(`nothing is cut off: ${why}`)
    return { newest }
  }
  // What a cut commits cannot be undone: what ends the work with this backup is found before.
  const { manifests } = await scanManifests(parts.storage, context.backupId, signal)
  await findKept(context, manifests, newest.generation, signal)
  const removed = cut.partitions.flatMap(one => one.removed)
  const trimmed = trimmedOf(cut.partitions.length, removed)
  if (context.isDryRun) {
    outcome.trimmed = trimmed
    return { newest: { ...newest, generation: newest.generation + 1 }, foreseen: namesCut(cut) }
  }
  lease.assertHeld()
  const committed = await commitTrim(parts.storage, newest, cut, context.run, signal)
  outcome.trimmed = trimmed
  return { newest: committed }
}

/** A reader needs all that was there when it began; it does not say which generation it reads. */
function isHeldUp({ outcome }: PruneContext, users: readonly FoundLease[]): boolean {
  if (users.length > 0) outcome.notes.push('it is in use, so that nothing of it is removed now')
  return users.length > 0
}

interface Freed {
  generations: number[]
  /** What they named. */
  keys: Set<string>
}

async function removeSuperseded(
  context: PruneContext,
  newest: Manifest,
  newestComplete: number | undefined,
  references: ReferenceReader,
  signal: AbortSignal,
): Promise<Freed> {
  const { parts, backupId, policy, outcome } = context
  const { manifests } = await scanManifests(parts.storage, backupId, signal)
  const facts = { nowMs: context.nowMs, graceMs: policy.graceMs }
  const foreseen = { modifiedMs: facts.nowMs }
  const all = new Map([...manifests, [newest.generation, manifests.get(newest.generation) ?? foreseen]])
  const kept = await findKept(context, manifests, newestComplete, signal)
  const generations = planSuperseded(all, kept, facts)
  const keys = new Set<string>()
  // A run that died between its commit and the copy has left that of an older generation.
  if (generations.length > 0 && !context.isDryRun && !(await renewCopy(parts.storage, newest, signal))) {
    outcome.notes.push('its older generations stay: the store does not let manifest.json be replaced')
    return { generations: [], keys }
  }
  for (const generation of generations) {
    for (const key of await readFreed(context, generation, references, signal)) keys.add(key)
    const object = manifests.get(generation)
    if (object) await context.remove([object], signal)
  }
  outcome.generationsRemoved = generations.length
  return { generations, keys }
}

/** What a generation named that goes; one that is damaged says nothing, and keeps nothing. */
async function readFreed(
  { parts, backupId }: PruneContext,
  generation: number,
  references: ReferenceReader,
  signal: AbortSignal,
): Promise<Iterable<string>> {
  try {
    return await references.read(await readManifest(parts.storage, backupId, generation, signal), signal)
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || error.retryable || signal.aborted) throw error
    return []
  }
}

/** All that is named by what stays: a manifest among it that cannot be read ends the work with this backup. */
async function readReferences(
  { parts, backupId, isDryRun }: PruneContext,
  gone: readonly number[],
  reader: ReferenceReader,
  newestGeneration: number,
  signal: AbortSignal,
): Promise<Set<string>> {
  const { manifests } = await scanManifests(parts.storage, backupId, signal)
  const named = new Set<string>()
  for (const generation of manifests.keys()) {
    if (isDryRun && gone.includes(generation)) continue
    const manifest = await readManifest(parts.storage, backupId, generation, signal)
    for (const key of await reader.read(manifest, signal)) named.add(key)
  }
  const shards = await readShards(parts.storage, { backupId, generation: newestGeneration + 1 }, signal)
  for (const { key } of [...segmentsOf(shards).values()].flat()) named.add(key)
  return named
}

interface SweepState {
  newest: Manifest
  /** A generation was committed by this very prune. */
  isFenced: boolean
  /** Shards wait for the next generation, which is theirs. */
  waits: boolean
  freed: ReadonlySet<string>
}

/**
 * A writer that slept, and so was taken for dead, may wake up and commit objects that nothing names yet. So before such
 * objects go, a generation is committed: it takes the number that the sleeper wants.
 */
async function sweep(
  context: PruneContext,
  plan: SweepPlan,
  { newest, isFenced, waits, freed }: SweepState,
  signal: AbortSignal,
): Promise<void> {
  const { outcome, parts, isDryRun, lease } = context
  const isSafe = ({ key }: StoredObject) => freed.has(key) || classify(context.backupId, key) === 'shard'
  const remove = waits ? plan.remove.filter(isSafe) : plan.remove
  outcome.waiting = amountOf([...plan.waiting, ...plan.remove.filter(object => !remove.includes(object))])
  outcome.unknown = plan.unknown.map(({ key }) => key)
  if (plan.hasStrays && !waits && !isFenced && !isDryRun) {
    lease.assertHeld()
    await commitAgain(parts.storage, newest, context.run, signal)
  }
  await context.remove(remove, signal)
}

function isWaitingShard(backupId: string, key: string, newestGeneration: number): boolean {
  return classify(backupId, key) === 'shard' && shardGeneration(key) > newestGeneration
}
