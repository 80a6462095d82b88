import { decompress, knownCodec, openBody } from '../batch/compression.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, HEADER_BYTES } from '../batch/header.ts'
import type { ZstdReader } from '../batch/zstd-reader.ts'

/** A larger batch is left to the caller, who opens one at a time. */
const MAX_SIFTED_BYTES = 16 << 20

/** What a batch holds, unpacked; undefined if it does not equal its checksum. Throws if it cannot be unpacked or holds too much. */
export function openIntact(bytes: Buffer, header: BatchHeader, zstd: ZstdReader): Buffer | undefined {
  if (!hasValidCrc(bytes, header.position, header.sizeBytes)) return undefined
  const codec = knownCodec(header)
  if (codec === 'none') return openBody(bytes, header)
  const body = bytes.subarray(header.position + HEADER_BYTES, header.position + header.sizeBytes)
  return (codec === 'zstd' ? zstd.read(body) : undefined) ?? decompress(codec, body, MAX_SIFTED_BYTES)
}
