import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type * as z from 'zod'
import { hasCode } from '../../errors.ts'
import { formatJson } from '../../lib/json.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged } from '../damage.ts'
import { hashOf } from '../hash.ts'
import { type NamedObject, parseAs } from '../manifest.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: 1 }

/** The newest version of the documents of the log that this program writes, and reads. */
export const LOG_VERSION = 2

/** Of a document, uncompressed. Writers divide what is larger. */
export const MAX_DOCUMENT_BYTES = 128 << 20

/** One line of JSON and one with its hash, compressed. `zstd -dc` shows it. */
export async function packDocument(document: object): Promise<Buffer> {
  const line = formatJson(document)
  return compress(Buffer.from(`${line}\n${hashOf(Buffer.from(line))}\n`), { params: ZSTD_PARAMS })
}

/** Refuses what is larger than a document may be, has another hash than it claims, or is not of the schema. */
export async function unpackDocument<T>(schema: z.ZodType<T>, bytes: Buffer, key: string): Promise<T> {
  let plain: Buffer
  try {
    plain = await decompress(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES })
  } catch (cause) {
    throw damaged(key, 'cannot be decompressed', { cause })
  }
  const end = plain.indexOf(0x0a)
  const line = plain.subarray(0, Math.max(0, end))
  if (plain.toString('latin1', end) !== `\n${hashOf(line)}\n`)
    throw damaged(key, 'does not have the hash that it claims')
  return parseAs(schema, line.toString('utf8'), key, undefined, LOG_VERSION)
}

/** Creates it, and returns what names it. */
export async function createDocument(
  storage: Storage,
  key: string,
  document: object,
  signal: AbortSignal,
): Promise<NamedObject> {
  const bytes = await packDocument(document)
  await storage.create(key, bytes, signal)
  return { key, size: bytes.length, blake3: hashOf(bytes) }
}

/** As another document vouches for it: one that is gone or has other bytes is damage. */
export async function readDocument<T>(
  storage: Storage,
  schema: z.ZodType<T>,
  { key, size, blake3 }: NamedObject,
  signal: AbortSignal,
): Promise<T> {
  let bytes: Buffer
  try {
    bytes = await storage.read(key, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    throw damaged(key, 'is missing', { cause: error })
  }
  if (bytes.length !== size || hashOf(bytes) !== blake3) throw damaged(key, 'is not the object that was recorded')
  return unpackDocument(schema, bytes, key)
}
