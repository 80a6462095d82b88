import { KafkaBackupError } from '../errors.ts'
import { decompress, decompressAside } from './compression.ts'
import { type BatchHeader, type Codec, codecOf, HEADER_BYTES } from './header.ts'

/** The plain bytes of the batch's records; without compression they are a view, not a copy. */
export function openBody(bytes: Buffer, header: BatchHeader): Buffer {
  const codec = knownCodec(header)
  const body = bytes.subarray(header.position + HEADER_BYTES, header.position + header.sizeBytes)
  try {
    return decompress(codec, body)
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

/** The same beside the main thread. */
export async function openBodyAside(bytes: Buffer, header: BatchHeader): Promise<Buffer> {
  const body = bytes.subarray(header.position + HEADER_BYTES, header.position + header.sizeBytes)
  try {
    return await decompressAside(knownCodec(header), body)
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

export function knownCodec(header: BatchHeader): Codec {
  const codec = codecOf(header.attributes)
  if (codec !== undefined) return codec
  throw new KafkaBackupError('BATCH_INVALID', `the batch at offset ${header.baseOffset} has an unknown compression`)
}

export function undecodable(header: BatchHeader, cause: unknown): KafkaBackupError {
  const what = `the batch at offset ${header.baseOffset} (${codecOf(header.attributes)}) cannot be decoded`
  return new KafkaBackupError('BATCH_INVALID', `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  })
}

export interface SourceBatch {
  bytes: Buffer
  header: BatchHeader
}
