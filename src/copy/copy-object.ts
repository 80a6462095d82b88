import { openHasher } from '../archive/hash.ts'
import type { NamedObject } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { readAhead } from '../lib/read-ahead.ts'
import type { ObjectWriter, Storage } from '../storage/storage.ts'

/** What is read at a time. Of each object under way two such pieces are in memory, one arriving and one being written. */
const PIECE_BYTES = 4 << 20

/** Told of the bytes of each piece. */
type OnBytes = (bytes: number) => void

/**
 * Copies an object and hashes it on the way. It appears at the target only when its bytes are those that the archive
 * recorded; ARCHIVE_DAMAGED names it otherwise. One that another copy has made there meanwhile is as good.
 */
export async function copyObject(
  { source, target }: { source: Storage; target: Storage },
  object: NamedObject,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (object.size <= PIECE_BYTES) await copyWhole(source, target, object, onBytes, signal)
    else await copyPieces(source, target, object, onBytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    const there = await target.stat(object.key, signal)
    if (there?.size !== object.size) throw error
  }
}

/** Reads an object that is there already. ARCHIVE_DAMAGED where its bytes are not the recorded ones. */
export async function checkObject(
  storage: Storage,
  object: NamedObject,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of readChecked(storage, object, signal)) onBytes(piece.length)
}

async function copyWhole(
  source: Storage,
  target: Storage,
  object: NamedObject,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of readChecked(source, object, signal)) pieces.push(piece)
  await target.create(object.key, Buffer.concat(pieces), signal)
  onBytes(object.size)
}

async function copyPieces(
  source: Storage,
  target: Storage,
  object: NamedObject,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  let writer: ObjectWriter | undefined
  try {
    for await (const piece of readAhead(readChecked(source, object, signal))) {
      writer ??= await target.openWriter(object.key, signal)
      await writer.write([piece], signal)
      onBytes(piece.length)
    }
    await writer?.commit(signal)
  } catch (error) {
    await writer?.abort()
    throw error
  }
}

/** Throws when the last piece was taken and the hash of all is not the recorded one. */
async function* readChecked(storage: Storage, object: NamedObject, signal: AbortSignal): AsyncGenerator<Buffer> {
  const hasher = openHasher()
  for (let start = 0; start < object.size; start += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, object.size - start)
    const piece = await readPiece(storage, object, start, length, signal)
    hasher.update(piece)
    yield piece
  }
  if (hasher.finish() !== object.blake3) throw damaged(storage, object, 'its BLAKE3 hash is not the recorded one')
}

async function readPiece(
  storage: Storage,
  object: NamedObject,
  start: number,
  length: number,
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    return await storage.readRange(object.key, start, length, signal)
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) throw damaged(storage, object, 'it is missing', error)
    if (hasCode(error, 'STORAGE_SHORT')) throw damaged(storage, object, 'it is shorter than recorded', error)
    throw error
  }
}

function damaged({ location }: Storage, { key }: NamedObject, why: string, cause?: unknown): KafkaBackupError {
  return new KafkaBackupError('ARCHIVE_DAMAGED', `${key} at ${location}: ${why}`, {
    cause,
    details: { key, location, problem: why },
  })
}
