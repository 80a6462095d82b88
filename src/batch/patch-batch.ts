import { freeMemory } from '../lib/recycled-memory.ts'
import type { SourceBatch } from './compression.ts'
import { bodyOf, compressQuickly, knownCodec, openBody, openBodyBriefly } from './compression.ts'
import { computeCrc } from './crc.ts'
import { type BatchHeader, type Codec, codecNames, HEADER_BYTES, isControl } from './header.ts'
import { PatchedBeginning } from './patched-beginning.ts'
import { type EncodedRecord, RecordCursor } from './record-cursor.ts'
import { ZstdEditor } from './zstd-editor.ts'
import { ZstdWriter } from './zstd-writer.ts'

/** Changes bytes of the record where they lie, never their number, and says whether it has. */
export type PatchRecord = (record: EncodedRecord) => boolean

interface PatchOptions {
  patch: PatchRecord
  /** That a changed batch is packed with; `keep` is the one that it had. */
  codec: Codec | 'keep'
}

export interface PackedBatch extends SourceBatch {
  /** It was compressed again, which takes longest. */
  isPacked: boolean
}

/**
 * The batch with its records patched; undefined where no record was changed, and then not a bit of the batch is. A batch
 * that is not packed is changed where it lies. All else in the header stays: offsets, times, the producer, and that it
 * belongs to a transaction.
 */
export function patchBatch({ bytes, header }: SourceBatch, { patch, codec }: PatchOptions): PackedBatch | undefined {
  if (header.recordCount === 0 || isControl(header.attributes)) return undefined
  const own = knownCodec(header)
  const wanted = codec === 'keep' ? own : codec
  const frame = own === 'zstd' && wanted === 'zstd' ? bodyOf(bytes, header) : undefined
  const kept = (frame && editor.open(frame)) ?? openBodyBriefly(bytes, header)
  const body = kept ?? openBody(bytes, header)
  const staysZstd = kept !== undefined && frame !== undefined
  if (staysZstd) beginning.note(body)
  try {
    const end = patchRecords(body, header, patch)
    if (end === 0) return undefined
    const whole = bytes.subarray(header.position, header.position + header.sizeBytes)
    if (own === 'none' && wanted === 'none') {
      setCrc(whole)
      return { bytes, header, isPacked: false }
    }
    const attributes = (header.attributes & ~0x07) | codecNames.indexOf(wanted)
    const edited = staysZstd ? editor.edit(frame, beginning.editOf(body, end), body) : undefined
    const patched = edited ? withBody(whole, attributes, edited) : replaceBody(whole, attributes, wanted, body)
    if (edited) freeMemory(edited)
    const other = { ...header, attributes, position: 0, sizeBytes: patched.length }
    return { bytes: patched, header: other, isPacked: edited === undefined }
  } finally {
    if (!kept) release(own, body)
  }
}

/** Of this thread: a batch is patched in one go. */
const writer = new ZstdWriter()
const editor = new ZstdEditor()
const beginning = new PatchedBeginning()

/** Returns where the first record ends that was changed; 0 where none was. */
function patchRecords(body: Buffer, header: BatchHeader, patch: PatchRecord): number {
  const cursor = new RecordCursor()
  cursor.openBody(body, header)
  let end = 0
  while (cursor.next()) if (applyPatch(cursor, patch) && end === 0) end = cursor.tailEnd
  return end
}

/** Bytes that are beyond their bounds mean records that are not what their batch says. All else comes out as it is. */
export function applyPatch(cursor: RecordCursor, patch: PatchRecord): boolean {
  try {
    return patch(cursor)
  } catch (cause) {
    throw cause instanceof RangeError ? cursor.refusal(cause) : cause
  }
}

function replaceBody(batch: Buffer, attributes: number, codec: Codec, plain: Buffer): Buffer {
  const kept = codec === 'zstd' ? writer.write(plain) : undefined
  if (kept) return withBody(batch, attributes, kept)
  const packed = compressQuickly(codec, plain, batch.length)
  const replaced = withBody(batch, attributes, packed)
  release(codec, packed)
  return replaced
}

/** The batch with other records, which are packed as the attributes say. */
function withBody(batch: Buffer, attributes: number, body: Buffer): Buffer {
  // Separate memory, which can be transferred to another thread.
  const replaced = Buffer.allocUnsafeSlow(HEADER_BYTES + body.length)
  batch.copy(replaced, 0, 0, HEADER_BYTES)
  body.copy(replaced, HEADER_BYTES)
  replaced.writeInt32BE(replaced.length - 12, 8)
  replaced.writeInt16BE(attributes, 21)
  setCrc(replaced)
  return replaced
}

function setCrc(batch: Buffer): void {
  batch.writeUInt32BE(computeCrc(batch), 17)
}

/** The codecs of the runtime return unshared memory, except for small results. */
function release(codec: Codec, bytes: Buffer): void {
  if (codec === 'gzip' || codec === 'zstd') freeMemory(bytes)
}
