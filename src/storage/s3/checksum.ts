import { createHash } from 'node:crypto'
import { crc32, crc32c } from '@node-rs/crc32'
import type { S3Checksum } from './options.ts'

/** The fields of a request that let the store check the body. It refuses a body that they do not fit. */
export function checksumFields(kind: S3Checksum, body: Uint8Array): Record<string, string> {
  switch (kind) {
    case 'crc32c':
      return { ChecksumCRC32C: base64Of(crc32c(body)) }
    case 'crc32':
      return { ChecksumCRC32: base64Of(crc32(body)) }
    case 'sha256':
      return { ChecksumSHA256: createHash('sha256').update(body).digest('base64') }
    case 'md5':
      return { ContentMD5: createHash('md5').update(body).digest('base64') }
    case 'none':
      return {}
    default:
      return kind satisfies never
  }
}

/** What a multipart upload is begun with, so that its parts may carry checksums. */
export function uploadChecksumFields(kind: S3Checksum): { ChecksumAlgorithm?: 'CRC32C' | 'CRC32' | 'SHA256' } {
  switch (kind) {
    case 'crc32c':
      return { ChecksumAlgorithm: 'CRC32C' }
    case 'crc32':
      return { ChecksumAlgorithm: 'CRC32' }
    case 'sha256':
      return { ChecksumAlgorithm: 'SHA256' }
    default:
      return {}
  }
}

function base64Of(sum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(sum)
  return bytes.toString('base64')
}
