import type { Storage } from '../../storage/storage.ts'
import { freshKey, rereadKey } from '../incarnation.ts'
import { listSegments } from '../indexes.ts'
import type { Manifest } from '../manifest.ts'
import { manifestFrom, stateOf } from './as-manifest.ts'
import { type Change, type ListChange, noChange } from './change.ts'
import { type CommitFacts, CommitLog, emptyStart, type LogStart } from './commit-log.ts'
import { commitKey } from './keys.ts'
import { createMarker } from './start-log.ts'
import { stateAsChange, writeFirstCheckpoint } from './write-checkpoint.ts'

interface CopyParts {
  /** Those of the original. */
  facts: CommitFacts
  newWriter: () => string
  /** Called right before the commit; fails where the copy may no longer commit. */
  confirm: () => void
}

/**
 * Makes a generation of another location one of this backup, with the same number. All that it names is there. Its state is in a checkpoint
 * right before it, so that it needs no generation that was not copied.
 */
export async function copyState(
  storage: Storage,
  { isLog }: { isLog: boolean },
  manifest: Manifest,
  { facts, newWriter, confirm }: CopyParts,
  signal: AbortSignal,
): Promise<Manifest> {
  const { backup_id: backupId, generation } = manifest
  const { start, change } = await writeState(storage, manifest, newWriter(), signal)
  // All generations of version 1 have lower numbers, also those that may be copied later on.
  if (!isLog) await createMarker(storage, backupId, generation, signal)
  const log = new CommitLog(storage, backupId, newWriter, start)
  confirm()
  await log.commit(facts, change, signal)
  return manifestFrom({ ...facts, backup_id: backupId, generation }, log.state, commitKey(backupId, generation))
}

/** Writes a checkpoint of the state, which bears the number before it. The first generation is a change from nothing. */
export async function writeState(
  storage: Storage,
  manifest: Manifest,
  writer: string,
  signal: AbortSignal,
): Promise<{ start: LogStart; change: Change }> {
  if (manifest.generation === 1) return { start: emptyStart, change: await wholeChange(storage, manifest, signal) }
  const generation = manifest.generation - 1
  const { state, ref, bytes, pages } = await writeFirstCheckpoint(storage, { ...manifest, generation }, writer, signal)
  const chain = { checkpoint: ref, rollups: [] }
  return { start: { generation, state, chain, previous: null, checkpointBytes: bytes, pages }, change: noChange }
}

async function wholeChange(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<Change> {
  const change = stateAsChange(stateOf(manifest))
  const lists = new Map<string, ListChange | null>(change.lists)
  for (const topic of manifest.topics) {
    for (const { reread, ...one } of topic.partitions) {
      const own = [[freshKey(topic, one.partition), one] as const]
      const all = reread ? [...own, [rereadKey(topic, one.partition), reread] as const] : own
      for (const [list, partition] of all) {
        const known = lists.get(list)
        const parts = await listSegments(storage, topic, partition, signal)
        if (known) lists.set(list, { ...known, parts })
      }
    }
  }
  return { ...change, lists }
}
