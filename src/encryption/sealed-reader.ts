import { damaged } from '../archive/damage.ts'
import { KafkaBackupError } from '../errors.ts'
import { giveBackMemory, takeMemory } from '../lib/recycled-memory.ts'
import type { Storage } from '../storage/storage.ts'
import type { ObjectCipher } from './object-cipher.ts'
import { FRAME_BYTES, frameOf, frameStart, HEADER_BYTES, plainSizeOf, TAG_BYTES } from './object-header.ts'

/** Objects that are being read piece by piece; each holds one frame at most. */
const MAX_OPEN = 32

interface OpenObject {
  cipher: ObjectCipher
  /** The plain size; undefined until it is needed. */
  size?: number
  /** The frame that was opened last: the next range usually begins in it. */
  frame?: { index: number; plain: Buffer }
}

/** Finds the cipher of an object by its beginning. */
type CipherOf = (key: string, begin: Buffer, signal: AbortSignal) => Promise<ObjectCipher>

/**
 * Ranges of encrypted objects. Reading an object from its start in one piece takes one request; in several pieces,
 * two more for the whole object: its size, and the rest of the frame in which the first piece ended.
 */
export class SealedReader {
  readonly #storage: Storage
  readonly #cipherOf: CipherOf
  readonly #open = new Map<string, OpenObject>()

  constructor(storage: Storage, cipherOf: CipherOf) {
    this.#storage = storage
    this.#cipherOf = cipherOf
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    if (length === 0) return this.#readNothing(key, start, signal)
    const first = frameOf(start)
    const known = this.#known(key)
    const cached = known?.frame?.index === first ? known.frame : undefined
    if (cached && start + length <= first * FRAME_BYTES + cached.plain.length) {
      return cut([cached.plain], start - first * FRAME_BYTES, length)
    }
    const frames = await this.#readFrames(key, cached ? first + 1 : first, start + length, known, signal)
    const range = cut(cached ? [cached.plain, ...frames] : frames, start - first * FRAME_BYTES, length)
    // The last one is kept for the next range.
    for (const frame of frames.slice(0, -1)) giveBackMemory(frame)
    return range
  }

  /** Its objects may be written again. */
  forget(key: string): void {
    this.#open.delete(key)
  }

  /** The plain bytes of the frames from `first` up to the one in which `end` lies. */
  async #readFrames(
    key: string,
    first: number,
    end: number,
    known: OpenObject | undefined,
    signal: AbortSignal,
  ): Promise<Buffer[]> {
    if (known?.size !== undefined && end > known.size) throw this.#short(key, known.size)
    const last = frameOf(end - 1)
    const stored = await this.#readStored(key, first, { end, last, known }, signal)
    const object = known ?? (await this.#begin(key, first, stored, signal))
    const from = known || first > 0 ? 0 : HEADER_BYTES
    const frames: Buffer[] = []
    for (let index = first; index <= last; index++) {
      const at = from + (index - first) * (FRAME_BYTES + TAG_BYTES)
      const bytes = stored.subarray(at, at + FRAME_BYTES + TAG_BYTES)
      frames.push(
        index < last
          ? object.cipher.open(index, false, bytes)
          : await this.#openLast(key, object, bytes, { last, end }, signal),
      )
    }
    const plain = frames.at(-1)
    if (plain) object.frame = { index: last, plain }
    this.#keep(key, object)
    giveBackMemory(stored)
    return frames
  }

  /** Of an object that is not known yet, the header too where it is near. As if the object ended with the range. */
  #readStored(
    key: string,
    first: number,
    { end, last, known }: { end: number; last: number; known: OpenObject | undefined },
    signal: AbortSignal,
  ): Promise<Buffer> {
    const start = known || first > 0 ? frameStart(first) : 0
    const isWhole = known?.size === undefined ? end : Math.min(known.size, (last + 1) * FRAME_BYTES)
    return this.#storage.readRange(key, start, HEADER_BYTES + isWhole + TAG_BYTES * (last + 1) - start, signal)
  }

  async #begin(key: string, first: number, stored: Buffer, signal: AbortSignal): Promise<OpenObject> {
    const begin = first === 0 ? stored : await this.#storage.readRange(key, 0, HEADER_BYTES, signal)
    return { cipher: await this.#cipherOf(key, begin, signal) }
  }

  /** The frame of which the range wants the end, or a part: only the size of the object tells which. */
  async #openLast(
    key: string,
    object: OpenObject,
    stored: Buffer,
    { last, end }: { last: number; end: number },
    signal: AbortSignal,
  ): Promise<Buffer> {
    if (object.size === undefined) {
      const plain = object.cipher.tryOpen(last, true, stored)
      if (plain) {
        object.size = end
        return plain
      }
      object.size = await this.#sizeOf(key, signal)
      if (end > object.size) throw this.#short(key, object.size)
    }
    const frameEnd = Math.min(object.size, (last + 1) * FRAME_BYTES)
    const missing = frameEnd - last * FRAME_BYTES + TAG_BYTES - stored.length
    const at = frameStart(last) + stored.length
    const rest = missing > 0 ? await this.#storage.readRange(key, at, missing, signal) : Buffer.alloc(0)
    const isLast = frameEnd === object.size
    return object.cipher.open(last, isLast, rest.length > 0 ? Buffer.concat([stored, rest]) : stored)
  }

  async #readNothing(key: string, start: number, signal: AbortSignal): Promise<Buffer> {
    const size = this.#known(key)?.size ?? (await this.#sizeOf(key, signal))
    if (start > size) throw this.#short(key, size)
    return Buffer.alloc(0)
  }

  async #sizeOf(key: string, signal: AbortSignal): Promise<number> {
    const found = await this.#storage.stat(key, signal)
    if (!found)
      throw new KafkaBackupError('STORAGE_NOT_FOUND', `${key} is not at ${this.#storage.location}`, {
        details: { key, location: this.#storage.location },
      })
    return plainSize(key, found.size)
  }

  #short(key: string, size: number): KafkaBackupError {
    return new KafkaBackupError('STORAGE_SHORT', `${key} at ${this.#storage.location} ends at byte ${size}`, {
      details: { key, location: this.#storage.location },
    })
  }

  #known(key: string): OpenObject | undefined {
    return this.#open.get(key)
  }

  #keep(key: string, object: OpenObject): void {
    this.#open.delete(key)
    this.#open.set(key, object)
    const oldest = this.#open.size > MAX_OPEN ? this.#open.keys().next().value : undefined
    if (oldest !== undefined) this.#open.delete(oldest)
  }
}

function plainSize(key: string, storedSize: number): number {
  const size = plainSizeOf(storedSize)
  if (size !== undefined) return size
  throw damaged(key, `has ${storedSize} bytes, which no encrypted object has: it was cut, or is not encrypted`)
}

/** A copy: a restore changes batches where they lie, and the frame is kept for the next range. */
function cut(frames: readonly Buffer[], start: number, length: number): Buffer {
  const range = takeMemory(length)
  let filled = 0
  for (const frame of frames) {
    const from = filled === 0 ? start : 0
    const part = frame.subarray(from, from + length - filled)
    range.set(part, filled)
    filled += part.length
  }
  return range.subarray(0, filled)
}
