import { openBodyAside } from './body.ts'
import type { BatchHeader } from './header.ts'
import { RecordCursor, timestampOf } from './record-cursor.ts'

/** The earliest time of the batch's records, which it has to be opened for; null without records. */
export async function leastTime(bytes: Buffer, header: BatchHeader): Promise<bigint | null> {
  const cursor = new RecordCursor()
  cursor.openBody(await openBodyAside(bytes, header), header)
  let least = Number.POSITIVE_INFINITY
  let wideLeast: bigint | null = null
  while (cursor.next()) {
    if (cursor.time < least) least = cursor.time
    else if (Number.isNaN(cursor.time)) wideLeast = earlier(wideLeast, timestampOf(cursor))
  }
  return least === Number.POSITIVE_INFINITY ? wideLeast : earlier(wideLeast, BigInt(least))
}

function earlier(first: bigint | null, second: bigint): bigint {
  if (first === null || second < first) return second
  return first
}
