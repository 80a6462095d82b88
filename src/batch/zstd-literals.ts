import { ZSTD_BLOCK, type ZstdBlock } from './zstd-frame.ts'

/** The literals of a compressed block: where they lie, and where their sizes do. Behind them are the sequences, which copy. */
export interface Literals {
  type: number
  headerAt: number
  headerBytes: number
  /** Of each of the two sizes in the header; 0 where there is one. */
  sizeBits: number
  plainBytes: number
  streams: 1 | 4
  /** Of what is stored. */
  start: number
  end: number
}

const RAW = 0
const RLE = 1
const HUFFMAN = 2
export const LITERALS = { raw: RAW, rle: RLE, huffman: HUFFMAN } as const

/**
 * Literals_Section_Header (RFC 8878, 3.1.1.3.1.1), a number whose lowest bits are first: type 2 bits, size format 2 bits, plain size, and where
 * the literals are compressed also the stored size. The fourth type has the tree of an earlier block.
 */
export function readLiterals(frame: Buffer, block: ZstdBlock): Literals | undefined {
  const { start: headerAt, end: blockEnd, type: blockType } = block
  if (blockType !== ZSTD_BLOCK.compressed || headerAt >= blockEnd) return undefined
  const first = frame.readUInt8(headerAt)
  const [type, format] = [first & 0x03, (first >> 2) & 0x03]
  const [headerBytes, sizeBits] = type <= RLE ? plainHeader(format) : packedHeader(format)
  const start = headerAt + headerBytes
  if (start > blockEnd) return undefined
  const header = frame.readUIntLE(headerAt, headerBytes)
  const plainBytes = sizeBits === 0 ? header >> (headerBytes === 1 ? 3 : 4) : Math.floor(header / 16) % 2 ** sizeBits
  const stored = sizeBits > 0 ? Math.floor(header / 2 ** (4 + sizeBits)) : type === RLE ? 1 : plainBytes
  const end = start + stored
  const streams = type <= RLE || format === 0 ? 1 : 4
  return end > blockEnd ? undefined : { type, headerAt, headerBytes, sizeBits, plainBytes, streams, start, end }
}

/** Bytes of the header, and bits of each of its two sizes. */
type HeaderSizes = [headerBytes: number, sizeBits: number]

function plainHeader(format: number): HeaderSizes {
  return [format % 2 === 0 ? 1 : format === 1 ? 2 : 3, 0]
}

function packedHeader(format: number): HeaderSizes {
  return format < 2 ? [3, 10] : format === 2 ? [4, 14] : [5, 18]
}

/** A header of three bytes for literals that are stored as they are. */
export const RAW_HEADER_BYTES = 3

export function writeRawHeader(frame: Buffer, at: number, plainBytes: number): number {
  return frame.writeUIntLE(RAW | (3 << 2) | (plainBytes << 4), at, RAW_HEADER_BYTES)
}
