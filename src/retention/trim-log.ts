import { newestState, readGeneration } from '../archive/catalog.ts'
import { damaged } from '../archive/damage.ts'
import { freshKey } from '../archive/incarnation.ts'
import { listSegments } from '../archive/indexes.ts'
import { commitState } from '../archive/log/commit-state.ts'
import type { Manifest, ManifestPartition, Segment } from '../archive/manifest.ts'
import type { StoredObject } from '../storage/storage.ts'
import { type BackupOutcome, trimmedOf } from './outcome.ts'
import { judgeTrim, trimPartition } from './plan-trim.ts'
import type { PruneContext } from './prune-context.ts'
import { renewCopy } from './trim-backup.ts'

/** What is cut off a backup of version 2: the state without it, and how many segments go of each list. */
export interface LogTrim {
  manifest: Manifest
  cut: Map<string, number>
  trimmed: BackupOutcome['trimmed']
}

/** Undefined where nothing is cut off. */
export async function planLogTrim(
  { parts, backupId, policy, outcome, nowMs }: PruneContext,
  generation: number,
  objects: readonly StoredObject[],
  signal: AbortSignal,
): Promise<LogTrim | undefined> {
  if (policy.olderThanMs === undefined) return undefined
  const newest = await readGeneration(parts.storage, backupId, generation, signal)
  const modified = new Map(objects.map(({ key, modifiedMs }) => [key, modifiedMs]))
  // What the newest run has stored is current, however old it is.
  const cutoffMs = Math.min(nowMs - policy.olderThanMs, Date.parse(newest.started_at))
  const judged = Map.groupBy(newest.topics, judgeTrim)
  const namesOf = (verdict: 'compacted' | 'unknown') => (judged.get(verdict) ?? []).map(({ name }) => name)
  const [compacted, unknown] = [namesOf('compacted'), namesOf('unknown')]
  if (compacted.length > 0) outcome.notes.push(`compacted, and so not cut: ${compacted.join(', ')}`)
  if (unknown.length > 0) {
    const why = 'not cut, since the backup does not say whether they are compacted'
    outcome.notes.push(`${why} (the next run of it stores that): ${unknown.join(', ')}`)
  }
  const avoidedBefore = newest.avoided?.length ?? 0
  const cuttable = new Set(judged.get('cut'))
  const cut = new Map<string, number>()
  const removed: Segment[] = []
  const topics: Manifest['topics'] = []
  for (const topic of newest.topics) {
    const partitions: ManifestPartition[] = []
    for (const partition of topic.partitions) {
      const segments = cuttable.has(topic) ? await listSegments(parts.storage, topic, partition, signal) : []
      const trim = trimPartition(partition, segments, segment => storedMs(segment, modified), cutoffMs)
      partitions.push(trim ? { ...trim.partition, indexes: [] } : partition)
      if (!trim) continue
      cut.set(freshKey(topic, partition.partition), trim.removed.length)
      for (const segment of trim.removed) removed.push(segment)
    }
    topics.push({ ...topic, partitions })
  }
  if (cut.size === 0) return undefined
  const [page] = newest.avoided?.slice(avoidedBefore) ?? []
  // A new checkpoint names the pages of the old one again.
  if (page) throw damaged(page.key, 'is damaged or missing, so that nothing can be cut off')
  if (!newest.complete) {
    outcome.notes.push('nothing is cut off: its newest generation is not complete')
    return undefined
  }
  return { manifest: { ...newest, topics }, cut, trimmed: trimmedOf(cut.size, removed) }
}

/** Merging keeps the time at which the newest of the records was stored. */
function storedMs({ key, stored_at, piece }: Segment, modified: ReadonlyMap<string, number>): number | undefined {
  const stated = stored_at ?? piece?.pack.stored_at
  return stated === undefined ? modified.get(key) : Date.parse(stated)
}

/**
 * Commits the same state, or what is left of it, behind a checkpoint. A writer that slept, and was taken for dead, then gets
 * WRITER_CONFLICT instead of naming objects that go; and a later prune finds a cut here.
 */
export async function commitLogAgain(
  context: PruneContext,
  trim: LogTrim | undefined,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const { parts, backupId, lease } = context
  lease.assertHeld()
  const base = await newestState(parts.storage, backupId, signal)
  const state = trim?.manifest ?? base.manifest
  if (!state) return undefined
  const { format: _, format_version: __, ...manifest } = state
  const next = { ...manifest, run: context.run.run, tool_version: context.run.toolVersion }
  const own = {
    newRun: parts.newRun,
    nowMs: () => lease.storeNow(),
    isCheckpoint: true,
    ...(trim && { cut: trim.cut }),
  }
  const committed = await commitState(parts.storage, base, next, own, signal)
  await renewCopy(parts.storage, committed, signal)
  return committed
}
