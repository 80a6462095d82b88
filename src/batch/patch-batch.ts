import { KafkaBackupError } from '../errors.ts'
import { knownCodec, openBodyAside } from './body.ts'
import { compressAside } from './compression.ts'
import { computeCrc } from './crc.ts'
import { type BatchHeader, HEADER_BYTES, isControl } from './header.ts'
import type { SourceBatch } from './rebuild.ts'
import { type EncodedRecord, RecordCursor } from './record-cursor.ts'

/** Changes bytes of the record where they lie, never their number, and says whether it has. */
export type PatchRecord = (record: EncodedRecord) => boolean

/**
 * The batch with its records patched, packed with the codec that it had, beside the main thread; undefined where no record
 * was changed, and then not a bit of the batch is. An unpacked one is changed where it lies. All else in its header stays:
 * offsets, times, the producer, and that it belongs to a transaction.
 */
export async function patchBatch(
  { bytes, header }: SourceBatch,
  patch: PatchRecord,
  onPatched: () => void = () => undefined,
): Promise<SourceBatch | undefined> {
  if (header.recordCount === 0 || isControl(header.attributes)) return undefined
  const codec = knownCodec(header)
  const whole = bytes.subarray(header.position, header.position + header.sizeBytes)
  const body = await openBodyAside(bytes, header)
  const isChanged = patchRecords(body, header, patch)
  onPatched()
  if (!isChanged) return undefined
  if (codec === 'none') {
    setCrc(whole)
    return { bytes, header }
  }
  const packed = await compressAside(codec, body)
  const patched = Buffer.allocUnsafe(HEADER_BYTES + packed.length)
  whole.copy(patched, 0, 0, HEADER_BYTES)
  packed.copy(patched, HEADER_BYTES)
  patched.writeInt32BE(patched.length - 12, 8)
  setCrc(patched)
  return { bytes: patched, header: { ...header, position: 0, sizeBytes: patched.length } }
}

function patchRecords(body: Buffer, header: BatchHeader, patch: PatchRecord): boolean {
  const cursor = new RecordCursor()
  cursor.openBody(body, header)
  let isChanged = false
  while (cursor.next()) if (applyPatch(cursor, patch)) isChanged = true
  return isChanged
}

/** What a patch refuses by itself comes out as it is; all else are records that are not what their batch says. */
export function applyPatch(cursor: RecordCursor, patch: PatchRecord): boolean {
  try {
    return patch(cursor)
  } catch (cause) {
    throw cause instanceof KafkaBackupError ? cause : cursor.refusal(cause)
  }
}

function setCrc(batch: Buffer): void {
  batch.writeUInt32BE(computeCrc(batch), 17)
}
