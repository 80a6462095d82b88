import { hasCode } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { manifestCopyKey } from '../layout.ts'
import { avoidedWarnings } from '../record-warnings.ts'
import { avoidedBy } from './avoided-damage.ts'
import type { OpenedGeneration } from './open-generation.ts'

/** The number of the generation is among the first fields of a copy, which may have megabytes. */
const HEAD_BYTES = 4096

/** For a writer that is about to continue a generation: what was damaged or lost since the last run is not seen any more once it has committed. */
export async function writerWarnings(
  storage: Storage,
  backupId: string,
  { manifest, opened }: { manifest: { generation: number } | undefined; opened?: OpenedGeneration | undefined },
  signal: AbortSignal,
): Promise<string[]> {
  const lost = await describeLost(storage, backupId, manifest?.generation ?? 0, signal)
  return [...(lost === undefined ? [] : [lost]), ...(opened ? avoidedWarnings({ avoided: avoidedBy(opened) }) : [])]
}

/**
 * A warning for a writer that continues a generation, where `manifest.json` is the copy of a later one. The copy is written after its commit: the
 * commits of the generations in between are lost, and a run that continues would hide that.
 */
async function describeLost(
  storage: Storage,
  backupId: string,
  newest: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const key = manifestCopyKey(backupId)
  const copied = await readGenerationOfCopy(storage, key, signal)
  if (copied === undefined || copied <= newest) return undefined
  const left = newest === 0 ? 'no generation is left' : `the newest one that is left is generation ${newest}`
  const next = newest === 0 ? 'begins the backup again' : `continues generation ${newest}`
  const what = 'restore it from a copy of the backup, or from an earlier version of the objects in the bucket'
  return `generation ${copied} is lost: ${key} is a copy of it, and ${left}. This run ${next}, with the number ${newest + 1}; to keep what is lost, stop the run and ${what}`
}

async function readGenerationOfCopy(storage: Storage, key: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const found = await storage.stat(key, signal)
    if (!found) return undefined
    const head = await storage.readRange(key, 0, Math.min(found.size, HEAD_BYTES), signal)
    const [, number] =
      /^\{\s*"format":\s*"kafka-backup",[^{[]*?"generation":\s*(\d{1,15}),/.exec(head.toString('latin1')) ?? []
    return number === undefined ? undefined : Number(number)
  } catch (error) {
    // The copy is only a hint.
    if (hasCode(error, 'STORAGE_NOT_FOUND', 'STORAGE_SHORT', 'ARCHIVE_DAMAGED')) return undefined
    throw error
  }
}
