import { giveBackMemory, takeMemory } from '../../lib/recycled-memory.ts'
import type { ObjectWriter, Storage } from '../../storage/storage.ts'
import { type Hasher, openHasher } from '../hash.ts'
import type { Segment } from '../manifest.ts'
import { type ChunkFacts, compressPiece, quickFrame } from '../segment-writer.ts'
import { packKey } from './keys.ts'
import {
  describePiece,
  hashPiece,
  MAX_PACK_BYTES,
  MIN_COMPRESSED_BYTES,
  type PackedPiece,
  type PackOptions,
} from './packed-piece.ts'

/** Pieces are gathered in memory of this size, which is written while the next one fills. */
const CHUNK_BYTES = 1 << 20

interface PlacedPiece extends PackedPiece {
  position: number
  size: number
  blake3: string
}

/** The pack that is being written. */
interface OpenPack {
  key: string
  writer: ObjectWriter
  hasher: Hasher
  pieces: PlacedPiece[]
  size: number
}

/**
 * Packs for pieces that come in the order of their lists, as those of merges do. They are written as they come, so that two chunks are in
 * memory however much is merged. After a failure, and where what it has written is not wanted, call `abort`.
 */
export class PackStream {
  readonly #storage: Storage
  readonly #options: PackOptions
  readonly #signal: AbortSignal
  readonly #segments: Segment[] = []
  readonly #chunks = [takeMemory(CHUNK_BYTES), takeMemory(CHUNK_BYTES)] as [Buffer, Buffer]
  #filled = 0
  #writing: Promise<void> = Promise.resolve()
  #pack: OpenPack | undefined
  #number = 0

  constructor(storage: Storage, options: PackOptions, signal: AbortSignal) {
    this.#storage = storage
    this.#options = options
    this.#signal = signal
  }

  /** Compresses a piece as one frame where that pays, and adds it. Its memory is free when this resolves. */
  async add(piece: { level: number; plain: Buffer; facts: ChunkFacts; compressed: boolean }): Promise<void> {
    const { level, plain, facts, compressed } = piece
    const isFrame = compressed && plain.length >= MIN_COMPRESSED_BYTES
    this.#pack ??= await this.#open()
    const stored = isFrame ? (quickFrame(plain) ?? (await compressPiece(plain))) : plain
    const place = { position: this.#pack.size, size: stored.length, blake3: hashPiece(stored) }
    this.#pack.pieces.push({ plainSize: plain.length, isFrame, facts, level, ...place })
    this.#pack.size += stored.length
    await this.#append(stored, this.#pack)
    if (this.#pack.size >= (this.#options.maxPackBytes ?? MAX_PACK_BYTES)) await this.#close(this.#pack)
  }

  /** Makes all pieces durable, and returns them in the order in which they were added. */
  async finish(): Promise<Segment[]> {
    if (this.#pack) await this.#close(this.#pack)
    for (const chunk of this.#chunks) giveBackMemory(chunk)
    return this.#segments
  }

  /** Packs that are complete stay: nothing names them. */
  async abort(): Promise<void> {
    await this.#writing.catch(() => undefined)
    await this.#pack?.writer.abort()
    this.#pack = undefined
  }

  async #open(): Promise<OpenPack> {
    const key = packKey(this.#options.backupId, this.#options.run, ++this.#number)
    const writer = await this.#storage.openWriter(key, this.#signal)
    return { key, writer, hasher: openHasher(), pieces: [], size: 0 }
  }

  async #append(stored: Buffer, pack: OpenPack): Promise<void> {
    for (let rest = stored; rest.length > 0; ) {
      const copied = rest.copy(this.#chunks[0], this.#filled)
      this.#filled += copied
      if (this.#filled < this.#chunks[0].length) return
      // A quick frame is valid until another one is made, which may happen while the chunk is written.
      rest = Buffer.from(rest.subarray(copied))
      await this.#writeChunk(pack)
    }
  }

  /** Waits for the chunk before it: its memory is filled next. */
  async #writeChunk({ writer, hasher }: OpenPack): Promise<void> {
    await this.#writing
    const chunk = this.#chunks[0].subarray(0, this.#filled)
    hasher.update(chunk)
    this.#writing = writer.write([chunk], this.#signal)
    // It is awaited with the next chunk.
    this.#writing.catch(() => undefined)
    this.#chunks.reverse()
    this.#filled = 0
  }

  async #close(pack: OpenPack): Promise<void> {
    if (this.#filled > 0) await this.#writeChunk(pack)
    await this.#writing
    await pack.writer.commit(this.#signal)
    const { key, size, hasher, pieces } = pack
    const ref = { key, size, blake3: hasher.finish(), stored_at: this.#options.now() }
    for (const piece of pieces) this.#segments.push(describePiece(piece, piece, ref))
    this.#pack = undefined
  }
}
