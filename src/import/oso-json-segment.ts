import { zstdDecompressSync } from 'node:zlib'
import * as z from 'zod'
import { decompressLz4Block } from '../batch/lz4.ts'
import { parseJson } from '../lib/json.ts'
import type { OsoRecord } from './oso-record.ts'

const int64 = z.union([z.int(), z.bigint()]).transform(BigInt)
const bytes = z
  .base64()
  .nullish()
  .transform(text => (text === null || text === undefined ? null : Buffer.from(text, 'base64')))

const recordsSchema = z.array(
  z.object({
    key: bytes,
    value: bytes,
    headers: z.array(z.object({ key: z.string().transform(name => Buffer.from(name)), value: bytes })).optional(),
    timestamp: int64,
    offset: int64,
  }),
)

/**
 * A segment of the first versions of OSO kafka-backup: a JSON array of records with keys and values in base64, compressed as the extension
 * of its key says. Undefined for other bytes.
 */
export function decodeJsonSegment(segment: Buffer, key: string, maxBytes: number): OsoRecord[] | undefined {
  const document = tryParse(segment, key, maxBytes)
  const parsed = recordsSchema.safeParse(document)
  return parsed.success ? parsed.data.map(one => ({ ...one, headers: one.headers ?? [] })) : undefined
}

function tryParse(segment: Buffer, key: string, maxBytes: number): unknown {
  try {
    return parseJson(decompress(segment, key, maxBytes).toString('utf8'))
  } catch {
    return undefined
  }
}

function decompress(segment: Buffer, key: string, maxBytes: number): Buffer {
  if (key.endsWith('.zst')) return zstdDecompressSync(segment, { maxOutputLength: maxBytes })
  return key.endsWith('.lz4') ? decompressLz4Block(segment, maxBytes) : segment
}
