import { behindTree } from './huffman-codes.ts'
import { withRoom } from './room.ts'
import { readZstdBlocks, writeSizedHeader, ZSTD_BLOCK, type ZstdBlock } from './zstd-frame.ts'
import { LITERALS, type Literals, RAW_HEADER_BYTES, readLiterals, writeRawHeader } from './zstd-literals.ts'
import { ZstdReader } from './zstd-reader.ts'

/** A block, and its literals where it is compressed. What others hold counts as literals, too. */
export interface ZstdPart extends ZstdBlock {
  literals: Literals | undefined
}

interface Parted {
  frame: Buffer
  parts: readonly ZstdPart[]
}

/** Frames of larger batches are not taken apart. */
const MAX_ROOM_BYTES = 2 << 20
const MIN_ROOM_BYTES = 128 << 10
/** Nor are those with more literals than the header can say: a small frame may claim any number. */
const MAX_LITERALS = 2 ** 32 - 1
/** A header with the size, and the end of the sequences of a block that has none. */
const HEADER_BYTES = 9
const NO_SEQUENCES = 0

/** Undefined where `readZstdBlocks` is, and where a block is damaged. */
export function readParts(frame: Buffer): ZstdPart[] | undefined {
  const parts = readZstdBlocks(frame)?.map(block => ({ ...block, literals: readLiterals(frame, block) }))
  return parts?.every(({ type, literals }) => literals || type !== ZSTD_BLOCK.compressed) ? parts : undefined
}

/** Takes the literals of frames out of them, and puts others in. */
export class ZstdParts {
  readonly #reader = new ZstdReader()
  #room: Buffer = Buffer.alloc(0)

  /** All literals of a frame, one behind the other, valid until the next call. They are what it would hold if it had no sequences. */
  readLiterals(frame: Buffer, parts: readonly ZstdPart[]): Buffer | undefined {
    const room = this.#roomOf(HEADER_BYTES + frame.length + parts.length)
    if (!room) return undefined
    let size = 0
    for (const part of parts) size += literalBytes(part)
    if (size > MAX_LITERALS) return undefined
    let at = writeSizedHeader(room, size)
    for (const [i, { type, start, end, plainBytes, literals }] of parts.entries()) {
      const isLast = i === parts.length - 1
      if (!literals) {
        at = writeBlockHeader(room, at, { isLast, type, bytes: plainBytes })
        at += frame.copy(room, at, start, end)
      } else if (literals.type === LITERALS.raw || literals.type === LITERALS.rle) {
        at = writeBlockHeader(room, at, { isLast, type: plainTypes[literals.type], bytes: literals.plainBytes })
        at += frame.copy(room, at, literals.start, literals.end)
      } else {
        const bytes = literals.end - literals.headerAt + 1
        at = writeBlockHeader(room, at, { isLast, type: ZSTD_BLOCK.compressed, bytes })
        at += frame.copy(room, at, literals.headerAt, literals.end)
        at = room.writeUInt8(NO_SEQUENCES, at)
      }
    }
    const read = this.#reader.read(room.subarray(0, at))
    return read?.length === size ? read : undefined
  }

  /** The frame with these literals, stored as they are, valid until the next call. Undefined where a block would be larger than one may be. */
  withLiterals(frame: Buffer, parts: readonly ZstdPart[], literals: Buffer): Buffer | undefined {
    const room = this.#roomOf(frame.length + literals.length + parts.length * RAW_HEADER_BYTES)
    if (!room) return undefined
    let at = frame.copy(room, 0, 0, parts[0]?.headerAt)
    let from = 0
    for (const [i, part] of parts.entries()) {
      const start = at + ZSTD_BLOCK.headerBytes
      const own = part.literals
      const size = literalBytes(part)
      let end = own ? writeRawHeader(room, start, size) : start
      end += literals.copy(room, end, from, from + size)
      from += size
      if (own) end += frame.copy(room, end, own.end, part.end)
      if (end - start > ZSTD_BLOCK.maxBytes) return undefined
      const type = own ? ZSTD_BLOCK.compressed : ZSTD_BLOCK.raw
      writeBlockHeader(room, at, { isLast: i === parts.length - 1, type, bytes: end - start })
      at = end
    }
    return room.subarray(0, at)
  }

  #roomOf(bytes: number): Buffer | undefined {
    if (bytes > MAX_ROOM_BYTES) return undefined
    this.#room = withRoom(this.#room, bytes, MIN_ROOM_BYTES)
    return this.#room
  }
}

/** Whether all but the literals of the first block is the same, and these have the same number and tree, which later blocks may use. */
export function differInFirstLiterals(one: Parted, other: Parted): boolean {
  const [own, others] = [one.parts[0], other.parts[0]]
  if (!own || !others || one.parts.length !== other.parts.length) return false
  return (
    own.type === others.type &&
    own.literals?.type === others.literals?.type &&
    literalBytes(own) === literalBytes(others) &&
    one.frame.subarray(0, own.headerAt).equals(other.frame.subarray(0, others.headerAt)) &&
    treeOf(one.frame, own).equals(treeOf(other.frame, others)) &&
    behindLiterals(one.frame, own).equals(behindLiterals(other.frame, others))
  )
}

const plainTypes = { [LITERALS.raw]: ZSTD_BLOCK.raw, [LITERALS.rle]: ZSTD_BLOCK.rle } as const

function literalBytes({ literals, plainBytes }: ZstdPart): number {
  return literals ? literals.plainBytes : plainBytes
}

function treeOf(frame: Buffer, { literals }: ZstdPart): Buffer {
  const { type, start = 0, end = 0 } = literals ?? {}
  return frame.subarray(start, type === LITERALS.huffman ? Math.min(behindTree(frame, start), end) : start)
}

function behindLiterals(frame: Buffer, { literals, end }: ZstdPart): Buffer {
  return frame.subarray(literals?.end ?? end)
}

/** Last 1 bit, type 2 bits, size 21 bits. */
function writeBlockHeader(
  frame: Buffer,
  at: number,
  { isLast, type, bytes }: { isLast: boolean; type: number; bytes: number },
): number {
  return frame.writeUIntLE(Number(isLast) | (type << 1) | (bytes << 3), at, ZSTD_BLOCK.headerBytes)
}
