import { backwardBits } from './bit-readers.ts'
import { type HuffmanCodes, readHuffmanCodes } from './huffman-codes.ts'
import { readZstdBlocks, ZSTD_BLOCK, type ZstdBlock } from './zstd-frame.ts'
import { LITERALS, type Literals, readLiterals } from './zstd-literals.ts'

/** Bytes of the beginning of what a frame holds, as they are and as they are to be. */
export interface PlainEdit {
  before: Buffer
  after: Buffer
}

const JUMP_BYTES = 6

/**
 * A frame that holds other bytes at its beginning, and wherever the decoder copies them from there. So the ID in the first record of a batch,
 * which the others repeat, is edited in all of them at once, without compressing them again. Whether nothing else has changed is for the
 * caller to see.
 *
 * The first bytes of a frame are literals, each at its own place, because there is nothing to copy yet. They are stored as they are, or each
 * as a code in front of the codes of those that follow.
 *
 * Undefined where the beginning is stored in another way, has no code for a new byte, or would need more room than a block may have.
 * `plainBytes` is what the frame holds.
 */
export function editZstdFrame(frame: Buffer, edit: PlainEdit, plainBytes: number): Buffer | undefined {
  const blocks = readZstdBlocks(frame)
  const block = blocks?.[0]
  if (!block) return undefined
  if (block.type === ZSTD_BLOCK.raw) return overwrite(frame, block.start, block.end, edit)
  const literals = readLiterals(frame, block)
  if (!literals || edit.before.length > literals.plainBytes) return undefined
  if (literals.type === LITERALS.raw) return overwrite(frame, literals.start, literals.end, edit)
  if (literals.type !== LITERALS.huffman) return undefined
  // A compressed block is smaller than what it holds: at least its literals, and all that the other blocks cannot.
  const held = Math.max(literals.plainBytes, plainBytes - (blocks.length - 1) * ZSTD_BLOCK.maxBytes)
  return editHuffman(frame, block, literals, edit, held)
}

function overwrite(frame: Buffer, start: number, end: number, { before, after }: PlainEdit): Buffer | undefined {
  const isThere = start + before.length <= end && before.compare(frame, start, start + before.length) === 0
  if (!isThere) return undefined
  const edited = Buffer.from(frame)
  after.copy(edited, start)
  return edited
}

/**
 * Literals_Section_Header, tree, then one stream; or three UINT16 LE sizes of the first of four streams, and these, of which each has a
 * quarter of the literals. All sizes that contain the first stream follow its change.
 */
function editHuffman(
  frame: Buffer,
  block: ZstdBlock,
  { headerAt, headerBytes, sizeBits, plainBytes, streams, start, end }: Literals,
  edit: PlainEdit,
  held: number,
): Buffer | undefined {
  const codes = readHuffmanCodes(frame, start, end)
  if (!codes) return undefined
  const first = codes.end + (streams === 4 ? JUMP_BYTES : 0)
  if (first > end) return undefined
  const firstEnd = streams === 4 ? first + frame.readUInt16LE(codes.end) : end
  if (firstEnd > end || edit.before.length > (streams === 4 ? (plainBytes + 3) >> 2 : plainBytes)) return undefined
  const stream = editStream(frame.subarray(first, firstEnd), codes, edit)
  if (!stream) return undefined
  const growth = stream.length - (firstEnd - first)
  const stored = end - start + growth
  const hasRoom = growth <= 0 || (block.end - block.start + growth < held && stored < plainBytes)
  if (!hasRoom || stored >= 2 ** sizeBits) return undefined
  // Parts of shared memory are copied by their places: as buffers of their own they would be copied byte by byte.
  const edited = Buffer.allocUnsafeSlow(frame.length + growth)
  frame.copy(edited, 0, 0, first)
  stream.copy(edited, first)
  frame.copy(edited, first + stream.length, firstEnd)
  if (streams === 4) edited.writeUInt16LE(stream.length, codes.end)
  edited.writeUIntLE(frame.readUIntLE(headerAt, headerBytes) + growth * 2 ** (4 + sizeBits), headerAt, headerBytes)
  const header = frame.readUIntLE(block.headerAt, ZSTD_BLOCK.headerBytes) + growth * 8
  edited.writeUIntLE(header, block.headerAt, ZSTD_BLOCK.headerBytes)
  return edited
}

/** The first symbols have the highest bits, below the one that marks the end: all that is behind them stays where it is. */
function editStream(stream: Buffer, codes: HuffmanCodes, { before, after }: PlainEdit): Buffer | undefined {
  const read = backwardBits(stream, 0, stream.length)
  if (!read) return undefined
  for (const symbol of before) {
    const bits = codes.bits[symbol] ?? 0
    if (bits === 0 || read.take(bits) !== codes.codes[symbol]) return undefined
  }
  let at = read.left()
  if (at < 0 || after.some(symbol => codes.bits[symbol] === 0)) return undefined
  const added = after.reduce((sum, symbol) => sum + (codes.bits[symbol] ?? 0), 0)
  const edited = Buffer.alloc(((at + added) >> 3) + 1)
  stream.copy(edited, 0, 0, Math.min((at + 7) >> 3, edited.length))
  if (at % 8 > 0) edited[at >> 3] = (edited[at >> 3] ?? 0) & ((1 << (at & 7)) - 1)
  for (let i = after.length - 1; i >= 0; i--) {
    const symbol = after[i] ?? 0
    at = writeBits(edited, at, codes.codes[symbol] ?? 0, codes.bits[symbol] ?? 0)
  }
  writeBits(edited, at, 1, 1)
  return edited
}

function writeBits(bytes: Buffer, at: number, value: number, count: number): number {
  for (let i = 0; i < count; i++) {
    const position = at + i
    bytes[position >> 3] = (bytes[position >> 3] ?? 0) | (((value >> i) & 1) << (position & 7))
  }
  return at + count
}
