import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type * as z from 'zod'
import { readZstdFrame } from '../../batch/zstd-frame.ts'
import { hasCode, KafkaBackupError } from '../../errors.ts'
import { formatJsonItems } from '../../lib/json.ts'
import { fieldRanges, type TextRange } from '../../lib/json-text.ts'
import { freeMemory } from '../../lib/recycled-memory.ts'
import type { Storage } from '../../storage/storage.ts'
import { damaged, readNamed, unlessDamaged } from '../damage.ts'
import { hashOf } from '../hash.ts'
import { type NamedObject, parseAs } from '../manifest.ts'

const compress = promisify(zstdCompress)
const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: 1 }

/** The newest version of the documents of the log that this program writes, and reads. */
export const LOG_VERSION = 2

/** Of a document, uncompressed. Writers divide what is larger. */
export const MAX_DOCUMENT_BYTES = 128 << 20

/** Nothing that is written compresses as well, and what does could fill the memory of a reader with a few kilobytes. */
const MAX_RATIO = 128
const MAX_OF_ANY = 16 << 20
/** Of the buffers that an unusual document is decompressed into: with the default of 16 kB, many small ones are left behind. */
const CHUNK_BYTES = 1 << 20
/** Up to this, documents are compressed in this thread, which takes some milliseconds: each of the others would keep the memory that it once needed. */
const SMALL_BYTES = 8 << 20
/** The runtime takes none that is smaller. */
const MIN_CHUNK_BYTES = 64

/** Pure. How large a document may become that is stored in so many bytes. */
export function maxPlainBytes(storedBytes: number): number {
  return Math.min(MAX_DOCUMENT_BYTES, Math.max(MAX_OF_ANY, MAX_RATIO * storedBytes))
}

/** One line of JSON and one with its hash, compressed. `zstd -dc` shows it. `key` is for the error of one that is too large. */
export async function packDocument(document: object, key: string): Promise<Buffer> {
  const plain = formatLines(document)
  const { length } = plain
  const options = { params: ZSTD_PARAMS }
  const packed = length <= SMALL_BYTES ? zstdCompressSync(plain, options) : await compress(plain, options)
  freeMemory(plain)
  const most = maxPlainBytes(packed.length)
  if (length <= most) return packed
  const problem = `it has ${length} bytes before it is compressed, and could be read with ${most} at most`
  throw new KafkaBackupError('STORAGE_REFUSED', `${key} is not written: ${problem}`, {
    help: 'Divide the topics, groups or subjects of the job over several backups.',
  })
}

/** Bytes of a hash between two line breaks. */
const HASH_LINE_BYTES = 66

/** Memory for a document before its size is known. */
const FIRST_BYTES = 256 << 10
/** Of a unit of a text in UTF-8. */
const MAX_UNIT_BYTES = 3

/** Both lines, in memory that holds nothing else. Not as one text, which would be in memory as well. */
function formatLines(document: object): Buffer {
  let memory: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let bytes = 0
  for (const text of formatJsonItems(document)) {
    const most = bytes + MAX_UNIT_BYTES * text.length + HASH_LINE_BYTES
    if (most > memory.length) memory = enlarged(memory, bytes, most)
    bytes += memory.write(text, bytes)
  }
  const end = bytes + memory.write(`\n${hashOf(memory.subarray(0, bytes))}\n`, bytes, 'latin1')
  return memory.subarray(0, end)
}

function enlarged(memory: Buffer, usedBytes: number, leastBytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * memory.length, leastBytes))
  memory.copy(larger, 0, 0, usedBytes)
  freeMemory(memory)
  return larger
}

/** In this thread: each of the others would keep the memory that it once needed. */
function decompress(bytes: Buffer, maxOutputLength: number): Buffer {
  // Into one buffer, where the blocks say how large it can be: several would be left behind when they are joined. A full one asks for another.
  const most = readZstdFrame(bytes)?.maxPlainBytes ?? CHUNK_BYTES
  const chunkSize = Math.max(MIN_CHUNK_BYTES, Math.min(most, maxOutputLength) + 1)
  return zstdDecompressSync(bytes, { maxOutputLength, chunkSize })
}

/** Refuses what is larger than a document may be, has another hash than it claims, or is not of the schema. `asText` may leave out what the caller does not need. */
export async function unpackDocument<T>(
  schema: z.ZodType<T>,
  bytes: Buffer,
  key: string,
  asText: AsText = line => line.toString('utf8'),
): Promise<T> {
  const line = unpackLine(bytes, key)
  const text = asText(line)
  freeMemory(line)
  return parseAs(schema, text, key, undefined, LOG_VERSION)
}

type AsText = (line: Buffer) => string

/** The JSON of a document, which is not read yet. */
export function unpackLine(bytes: Buffer, key: string): Buffer {
  let plain: Buffer
  try {
    plain = decompress(bytes, maxPlainBytes(bytes.length))
  } catch (cause) {
    throw damaged(key, 'cannot be decompressed', { cause })
  }
  const end = plain.indexOf(0x0a)
  const line = plain.subarray(0, Math.max(0, end))
  if (plain.toString('latin1', end) !== `\n${hashOf(line)}\n`)
    throw damaged(key, 'does not have the hash that it claims')
  return line
}

/** The text of a document, with an empty array for the lists of its change. Pure. */
export function withoutLists(document: Buffer): string {
  const lists = findLists(document)
  if (!lists) return document.toString('utf8')
  return `${document.toString('utf8', 0, lists.start)}[]${document.toString('utf8', lists.end)}`
}

function findLists(document: Buffer): TextRange | undefined {
  try {
    const change = fieldRanges(document).get('change')
    return change && fieldRanges(document, change.start).get('lists')
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // Parsing it finds the same.
    return undefined
  }
}

/**
 * Creates it, and returns what names it. The key is the caller's alone: one that exists is there by an attempt without a reply, or by one that was killed. Another
 * build of zstd may have compressed that one: the content counts.
 */
export async function createDocument(
  storage: Storage,
  key: string,
  document: object,
  signal: AbortSignal,
): Promise<NamedObject> {
  const bytes = await packDocument(document, key)
  try {
    await storage.create(key, bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    // One that cannot be decrypted has other content.
    const existing = await unlessDamaged(storage.read(key, signal))
    if (!existing || !hasSameContent(existing, bytes)) throw error
    return nameDocument(key, existing)
  }
  return nameDocument(key, bytes)
}

function hasSameContent(existing: Buffer, bytes: Buffer): boolean {
  if (existing.equals(bytes)) return true
  const plain = decompress(bytes, maxPlainBytes(bytes.length))
  try {
    return decompress(existing, plain.length).equals(plain)
  } catch {
    return false
  }
}

/** Names to try before the conflict is reported. */
const MAX_NAMES = 5

/**
 * Runs the work with a name for its documents that depends on the seed alone: after a kill, the next attempt finds what this one has written. Where
 * a damaged document has that name, or one of another program with another content, the work runs again with another name.
 */
export async function withStableName<T>(seed: string, work: (name: string) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const name = hashOf(Buffer.from(attempt === 1 ? seed : `${seed} ${attempt}`)).slice(0, 12)
    try {
      return await work(name)
    } catch (error) {
      if (!hasCode(error, 'STORAGE_EXISTS') || attempt === MAX_NAMES) throw error
    }
  }
}

/** Pure. What names a document. */
export function nameDocument(key: string, bytes: Buffer): NamedObject {
  return { key, size: bytes.length, blake3: hashOf(bytes) }
}

/** As another document vouches for it: one that is gone or has other bytes is damage. */
export async function readDocument<T>(
  storage: Storage,
  schema: z.ZodType<T>,
  ref: NamedObject,
  signal: AbortSignal,
  asText?: AsText,
): Promise<T> {
  return unpackDocument(schema, await readRecorded(storage, ref, signal), ref.key, asText)
}

/** Its bytes. */
export async function readRecorded(
  storage: Storage,
  { key, size, blake3 }: NamedObject,
  signal: AbortSignal,
): Promise<Buffer> {
  const bytes = await readNamed(storage, key, signal)
  if (bytes.length !== size || hashOf(bytes) !== blake3) throw damaged(key, 'is not the object that was recorded')
  return bytes
}
