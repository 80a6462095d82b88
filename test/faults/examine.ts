import { listGenerations, openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { hasCode } from '../../src/errors.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { hashChain } from '../oracle/records.ts'
import { openPlace, type Place, type Subject } from './lab.ts'

const never = new AbortController().signal

/** What a store holds at a moment: its objects with their sizes, and the newest generation. */
export interface Snapshot {
  generation: number
  sizes: Map<string, number>
}

export async function snapshot(place: Place): Promise<Snapshot> {
  const storage = openPlace(place)
  const sizes = new Map<string, number>()
  for await (const { key, size } of storage.list('b1/', never)) sizes.set(key, size)
  return { generation: (await listGenerations(storage, 'b1', never)).at(-1) ?? 0, sizes }
}

/** After a fault: the old state or a newer one is there, whole, and nothing that was there has changed. */
export async function examine(place: Place, before: Snapshot): Promise<{ unreadable: number; changed: number }> {
  const after = await snapshot(place)
  const stays = ([key, size]: [string, number]) => key === 'b1/manifest.json' || after.sizes.get(key) === size
  const changed = [...before.sizes].filter(entry => !stays(entry)).length
  const isWhole = after.generation >= before.generation && (await isReadable(openPlace(place), before.generation === 0))
  return { unreadable: isWhole ? 0 : 1, changed }
}

async function isReadable(storage: Storage, mayBeEmpty: boolean): Promise<boolean> {
  try {
    return (await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)).ok
  } catch (error) {
    if (hasCode(error, 'BACKUP_NOT_FOUND')) return mayBeEmpty
    if (hasCode(error, 'ARCHIVE_DAMAGED')) return false
    throw error
  }
}

export interface Difference {
  lost: number
  duplicated: number
  /** Partitions whose records are there once each, but are not those of the source, or not in its order. */
  wrong: number
}

/** Holds a finished backup against what the official client reads. What cannot be read is lost. */
export async function compare(place: Place, subject: Subject): Promise<Difference> {
  try {
    return await compareRecords(place, subject)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'BACKUP_NOT_FOUND')) throw error
    return { lost: subject.records, duplicated: 0, wrong: subject.chains.length }
  }
}

async function compareRecords(place: Place, { topic, chains, records }: Subject): Promise<Difference> {
  const storage = openPlace(place)
  const manifest = await openBackup(storage, 'b1', never)
  const archived = await readArchivedTopic(storage, 'b1', topic)
  const wrong = archived.filter((partition, i) => hashChain(partition) !== chains[i]).length
  if (wrong === 0 && manifest.complete && archived.length === chains.length) return { lost: 0, duplicated: 0, wrong }
  const offsets = archived.flatMap((partition, i) => partition.map(record => `${i}/${record.offset}`))
  const unique = new Set(offsets).size
  // What is not said to be complete is no backup of the source, whatever it holds.
  return { lost: manifest.complete ? records - unique : records, duplicated: offsets.length - unique, wrong }
}
