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
  frame?: Frame
}

interface Frame {
  index: number
  plain: Buffer
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
    const range = new Range(start, length)
    const known = this.#known(key)
    const cached = known?.frame?.index === range.first ? known.frame : undefined
    if (cached && range.end <= range.first * FRAME_BYTES + cached.plain.length) range.add(cached)
    else await this.#readFrames(key, range, { known, cached }, signal)
    return range.bytes
  }

  /** Its objects may be written again. */
  forget(key: string): void {
    this.#open.delete(key)
  }

  /** Adds all frames of the range to it: the one that is cached, and those behind it from the store. */
  async #readFrames(
    key: string,
    range: Range,
    { known, cached }: { known: OpenObject | undefined; cached: Frame | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { end } = range
    const first = cached ? cached.index + 1 : range.first
    if (known?.size !== undefined && end > known.size) throw this.#short(key, known.size)
    const last = frameOf(end - 1)
    const stored = await this.#readStored(key, first, { end, last, known }, signal)
    const object = known ?? (await this.#begin(key, first, stored, signal))
    const from = known || first > 0 ? 0 : HEADER_BYTES
    const bytesOf = (index: number) => {
      const at = from + (index - first) * (FRAME_BYTES + TAG_BYTES)
      return stored.subarray(at, at + FRAME_BYTES + TAG_BYTES)
    }
    if (cached) range.add(cached)
    for (let index = first; index < last; index++) {
      const plain = object.cipher.open(index, false, bytesOf(index))
      range.add({ index, plain })
      giveBackMemory(plain)
    }
    const plain = await this.#openLast(key, object, bytesOf(last), { last, end }, signal)
    object.frame = { index: last, plain }
    range.add(object.frame)
    this.#keep(key, object)
    giveBackMemory(stored)
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

/** A copy of parts of frames: a restore changes batches where they lie, and the last frame is kept for the next range. */
class Range {
  readonly first: number
  readonly end: number
  readonly #start: number
  readonly #length: number
  /** Not before the first frame is there: many ranges wait for the store. */
  #memory: Buffer | undefined
  #filled = 0

  constructor(start: number, length: number) {
    this.first = frameOf(start)
    this.end = start + length
    this.#start = start
    this.#length = length
  }

  /** The frames come in order, each with the bytes that follow those of the one before. */
  add({ index, plain }: Frame): void {
    this.#memory ??= takeMemory(this.#length)
    const from = this.#start + this.#filled - index * FRAME_BYTES
    const part = plain.subarray(from, from + this.#length - this.#filled)
    this.#memory.set(part, this.#filled)
    this.#filled += part.length
  }

  get bytes(): Buffer {
    return (this.#memory ?? Buffer.alloc(0)).subarray(0, this.#filled)
  }
}
