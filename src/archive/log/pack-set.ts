import { formatUtc } from '../../lib/clock.ts'
import type { Storage } from '../../storage/storage.ts'
import { openHasher } from '../hash.ts'
import type { PackRef, Segment } from '../manifest.ts'
import { type BatchWriter, type ChunkFacts, compressToFrame, joinFacts, quickFrame } from '../segment-writer.ts'
import { packKey } from './keys.ts'
import {
  describePiece,
  hashPiece,
  MAX_PACK_BYTES,
  MIN_COMPRESSED_BYTES,
  type PackedPiece,
  type PackOptions,
} from './packed-piece.ts'

/** Small pieces are joined for the store and for the hash of the pack. */
const CHUNK_BYTES = 1 << 20
/** Open pieces hold so much together; one that grows beyond it becomes a segment, unless it is small itself. */
const MAX_OPEN_BYTES = 32 << 20
const SMALL_PIECE_BYTES = 64 << 10

/** What waits for a piece to become durable. */
export interface PieceOwner {
  /** Its pack is durable. */
  onWritten(segment: Segment): void
  onLost(error: unknown): void
}

/** A piece that waits for its pack to be written. */
interface WaitingPiece extends PackedPiece {
  /** Pieces lie in the order of their lists: those who merge packs read each of them from its begin to its end. */
  list: string
  stored: Buffer
  owner: PieceOwner
}

/** The packs of a round. Small appends of many partitions become pieces of one object. */
export class PackSet {
  readonly maxPieceBytes: number
  readonly #storage: Storage
  readonly #options: PackOptions
  readonly #storeSignal: AbortSignal
  #openBytes = 0
  #waiting: WaitingPiece[] = []
  #waitingBytes = 0
  #writing: Promise<void> = Promise.resolve()
  #number = 0
  /** Packs that are written or wait to be. */
  #unwritten = 0

  constructor(storage: Storage, options: PackOptions, storeSignal: AbortSignal) {
    this.maxPieceBytes = options.maxPieceBytes
    this.#storage = storage
    this.#options = options
    this.#storeSignal = storeSignal
  }

  /** A writer for the next batches of a partition. `openSegment` opens a segment, for the case that they are many. */
  open(list: string, compressed: boolean, openSegment: () => Promise<BatchWriter>): BatchWriter {
    return new PieceWriter(this, list, compressed, openSegment)
  }

  /** Whether an open piece of this size may stay one when it gets `more` bytes. */
  hasRoom(plainSize: number, more: number): boolean {
    if (plainSize + more >= this.maxPieceBytes) return false
    const { maxOpenBytes = MAX_OPEN_BYTES } = this.#options
    return plainSize + more < SMALL_PIECE_BYTES || this.#openBytes + more <= maxOpenBytes
  }

  /** Counts what open pieces hold. */
  count(bytes: number): void {
    this.#openBytes += bytes
  }

  /** Calls its owner when the pack is durable that holds the piece. Its memory must not change until then. */
  add(piece: WaitingPiece): void {
    this.#waiting.push(piece)
    this.#waitingBytes += piece.stored.length
    if (this.#waitingBytes >= (this.#options.maxPackBytes ?? MAX_PACK_BYTES)) this.#writeWaiting()
  }

  /** Adds a small piece, of which it makes a copy. False where that has to wait, or the piece has to become a segment; nothing is done then. */
  addNow(list: string, plain: Buffer, compressed: boolean, facts: ChunkFacts, owner: PieceOwner): boolean {
    if (this.isFull || !this.hasRoom(0, plain.length)) return false
    const isFrame = compressed && plain.length >= MIN_COMPRESSED_BYTES
    const stored = isFrame ? quickFrame(plain) : plain
    if (!stored) return false
    this.add({ list, stored: Buffer.from(stored), isFrame, plainSize: plain.length, facts, level: 0, owner })
    return true
  }

  /** Two packs are not written yet. */
  get isFull(): boolean {
    return this.#unwritten > 1
  }

  /** Waits while it is full, so that a slow store does not fill the memory. */
  async room(): Promise<void> {
    while (this.isFull) await this.#writing
  }

  /** Makes all pieces durable that were handed over. Failures reach those who wait for their pieces. */
  async flush(): Promise<void> {
    this.#writeWaiting()
    await this.#writing
  }

  #writeWaiting(): void {
    const pieces = this.#waiting.sort((a, b) => (a.list < b.list ? -1 : a.list > b.list ? 1 : 0))
    if (pieces.length === 0) return
    this.#waiting = []
    this.#waitingBytes = 0
    const key = packKey(this.#options.backupId, this.#options.run, ++this.#number)
    this.#unwritten++
    // One after the other.
    this.#writing = this.#writing.then(() => this.#writePack(key, pieces))
  }

  async #writePack(key: string, pieces: readonly WaitingPiece[]): Promise<void> {
    let pack: PackRef
    try {
      pack = await this.#write(key, pieces)
    } catch (error) {
      for (const { owner } of pieces) owner.onLost(error)
      return
    } finally {
      this.#unwritten--
    }
    let position = 0
    for (const piece of pieces) {
      const { stored, owner } = piece
      const place = { position, size: stored.length, blake3: hashPiece(stored) }
      owner.onWritten(describePiece(piece, place, pack))
      position += stored.length
    }
  }

  async #write(key: string, pieces: readonly WaitingPiece[]): Promise<PackRef> {
    const writer = await this.#storage.openWriter(key, this.#storeSignal)
    const hasher = openHasher()
    let size = 0
    try {
      const chunks = joinChunks(pieces.map(({ stored }) => stored))
      const writing = writer.write(chunks, this.#storeSignal)
      for (const chunk of chunks) {
        hasher.update(chunk)
        size += chunk.length
      }
      await writing
      await writer.commit(this.#storeSignal)
    } catch (error) {
      await writer.abort()
      throw error
    }
    return { key, size, blake3: hasher.finish(), stored_at: await this.#storedAt(key) }
  }

  /**
   * As the store says: a host that pauses this machine stops the clock of the process, and a prune would expire early what was stored since.
   * Not before that clock says, because the store's own may have been set back.
   */
  async #storedAt(key: string): Promise<string> {
    const knownAt = this.#options.now()
    const found = await this.#storage.stat(key, this.#storeSignal).catch(() => undefined)
    const storedAt = found ? formatUtc(found.modifiedMs) : knownAt
    this.#options.onBehind?.(Math.max(0, Date.parse(storedAt) - Date.parse(knownAt)))
    return storedAt > knownAt ? storedAt : knownAt
  }
}

function joined(buffers: readonly Buffer[]): Buffer {
  const [first] = buffers
  return buffers.length === 1 && first ? first : Buffer.concat(buffers)
}

/** Pure. The same bytes in fewer buffers. */
function joinChunks(buffers: readonly Buffer[]): Buffer[] {
  const chunks: Buffer[] = []
  let begin = 0
  let bytes = 0
  for (const [i, { length }] of buffers.entries()) {
    bytes += length
    if (bytes < CHUNK_BYTES && i < buffers.length - 1) continue
    chunks.push(joined(buffers.slice(begin, i + 1)))
    begin = i + 1
    bytes = 0
  }
  return chunks
}

/** Compresses a piece as one frame where that pays, and adds it. Resolves before it is durable. Its memory must not be used again. */
export async function storePiece(
  packs: PackSet,
  { list, plain, facts, compressed }: { list: string; plain: Buffer; facts: ChunkFacts; compressed: boolean },
): Promise<{ durable: Promise<Segment> }> {
  if (packs.isFull) await packs.room()
  const isFrame = compressed && plain.length >= MIN_COMPRESSED_BYTES
  const stored = isFrame ? await compressToFrame(plain) : plain
  const { promise: durable, resolve: onWritten, reject: onLost } = Promise.withResolvers<Segment>()
  packs.add({ list, stored, isFrame, plainSize: plain.length, facts, level: 0, owner: { onWritten, onLost } })
  return { durable }
}

/** Gathers the batches of a partition in memory; a segment takes over when they become many. */
class PieceWriter implements BatchWriter {
  readonly #packs: PackSet
  readonly #list: string
  readonly #compressed: boolean
  readonly #openSegment: () => Promise<BatchWriter>
  #segment: BatchWriter | undefined
  #batches: Buffer[] = []
  #facts: ChunkFacts | undefined
  #plainSize = 0

  constructor(packs: PackSet, list: string, compressed: boolean, openSegment: () => Promise<BatchWriter>) {
    this.#packs = packs
    this.#list = list
    this.#compressed = compressed
    this.#openSegment = openSegment
  }

  get plainSize(): number {
    return this.#segment?.plainSize ?? this.#plainSize
  }

  async append(pieces: readonly Buffer[], facts: ChunkFacts, signal: AbortSignal): Promise<void> {
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    if (!this.#segment && !this.#packs.hasRoom(this.#plainSize, bytes)) await this.#becomeSegment(signal)
    if (this.#segment) return this.#segment.append(pieces, facts, signal)
    // The caller uses the memory again.
    for (const piece of pieces) this.#batches.push(Buffer.from(piece))
    this.#plainSize += bytes
    this.#packs.count(bytes)
    this.#facts = this.#facts ? joinFacts(this.#facts, facts) : facts
  }

  async hand(signal: AbortSignal): Promise<{ durable: Promise<Segment> }> {
    if (this.#segment) return this.#segment.hand(signal)
    const facts = this.#facts
    if (!facts) throw new Error('a piece without batches is never opened')
    const [list, compressed, plain] = [this.#list, this.#compressed, joined(this.#batches)]
    try {
      return await storePiece(this.#packs, { list, plain, facts, compressed })
    } finally {
      this.#leave()
    }
  }

  async abort(): Promise<void> {
    this.#leave()
    await this.#segment?.abort()
  }

  async #becomeSegment(signal: AbortSignal): Promise<void> {
    this.#segment = await this.#openSegment()
    if (this.#facts) await this.#segment.append(this.#batches, this.#facts, signal)
    this.#leave()
  }

  #leave(): void {
    this.#packs.count(-this.#batches.reduce((sum, { length }) => sum + length, 0))
    this.#batches = []
  }
}
