import * as z from 'zod'
import { count, int64 } from './scalars.ts'

/** Of a partition whose log is compacted: how far its list of segments can be trusted to know what was deleted. */
export const compactionSchema = z.strictObject({
  /** When the reading of the list began, at the start of the log; null where that is not known. */
  began_at: z.string().nullable(),
  /** All that was written before this time is in the list; `began_at` until the list first reaches the end. */
  current_at: z.string(),
  /** The end that was observed at that time. */
  current_end: int64,
  /** Tombstones may have been removed before they were read. */
  may_hold_deleted_keys: z.boolean(),
  /** The bytes of the list when it first reached the end; absent where no run has written that down. */
  base_bytes: count.exactOptional(),
  /** The bytes of the log that the source reported when the list was begun; absent where it did not, or was not asked. */
  source_bytes: count.exactOptional(),
})
