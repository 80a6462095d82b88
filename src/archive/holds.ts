import * as z from 'zod'
import { hasCode } from '../errors.ts'
import { oneLine } from '../lib/one-line.ts'
import type { Storage } from '../storage/storage.ts'
import { damaged } from './damage.ts'
import { parseAs } from './manifest.ts'

/** The most characters that a reason may have. */
export const MAX_REASON_CHARS = 500

export const holdSchema = z.strictObject({
  format: z.literal('kafka-backup-hold'),
  format_version: z.literal(1),
  backup_id: z.string(),
  generation: z.int().positive(),
  created_at: z.string(),
  /** The machine that placed it. */
  host: z.string(),
  tool_version: z.string(),
  /** Why, for people; may be empty. */
  reason: z.string(),
})

export type Hold = z.output<typeof holdSchema>

/** What a listing shows of a hold. A damaged one holds as well, and says what is wrong with it. */
export interface HoldFacts {
  created_at: string | null
  reason: string
}

export function holdsPrefix(backupId: string): string {
  return `${backupId}/holds/`
}

export function holdKey(backupId: string, generation: number): string {
  return `${holdsPrefix(backupId)}${String(generation).padStart(12, '0')}.json`
}

/**
 * The generations that are held, ascending. The key alone counts: what the object contains cannot end a hold, and no key is needed to
 * find out, also in an encrypted backup.
 */
export async function listHolds(storage: Storage, backupId: string, signal: AbortSignal): Promise<Set<number>> {
  const held: number[] = []
  for await (const { key } of storage.list(holdsPrefix(backupId), signal)) {
    const generation = Number(/\/holds\/([0-9]{12})\.json$/.exec(key)?.[1] ?? 0)
    if (generation > 0 && key === holdKey(backupId, generation)) held.push(generation)
  }
  return new Set(held.sort((a, b) => a - b))
}

/** Pure. `generation 5 is held`, for reports. */
export function describeHolds(held: readonly number[]): string {
  const shown = held.slice(0, 5).join(', ')
  const more = held.length > 5 ? ` and ${held.length - 5} more` : ''
  return held.length === 1 ? `generation ${shown} is held` : `generations ${shown}${more} are held`
}

/** False where the generation is held already. */
export async function createHold(storage: Storage, hold: Hold, signal: AbortSignal): Promise<boolean> {
  try {
    await storage.create(
      holdKey(hold.backup_id, hold.generation),
      Buffer.from(`${JSON.stringify(hold, undefined, 1)}\n`),
      signal,
    )
    return true
  } catch (error) {
    if (hasCode(error, 'STORAGE_EXISTS')) return false
    throw error
  }
}

/** Undefined where the generation is not held. */
export async function readHold(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<HoldFacts | undefined> {
  const key = holdKey(backupId, generation)
  try {
    const hold = parseAs(holdSchema, (await storage.read(key, signal)).toString('utf8'), key)
    if (hold.backup_id !== backupId || hold.generation !== generation) {
      throw damaged(key, `belongs to generation ${hold.generation} of backup \`${hold.backup_id}\``)
    }
    return { created_at: oneLine(hold.created_at, 100), reason: oneLine(hold.reason, MAX_REASON_CHARS) }
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) return undefined
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return { created_at: null, reason: `the hold cannot be read: ${error.message}` }
  }
}
