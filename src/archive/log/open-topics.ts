import type { Storage } from '../../storage/storage.ts'
import type { State } from './change.ts'
import { decodeTopics } from './change-document.ts'
import type { Commit } from './documents.ts'
import { openGeneration } from './open-generation.ts'

/** The topics of a generation, without its lists: of many partitions, these are most of the memory. */
export async function openTopics(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<{ commit: Commit; topics: State['topics'] }> {
  const { commit, state } = await openGeneration(storage, backupId, generation, signal, decodeTopics)
  return { commit, topics: state.topics }
}
