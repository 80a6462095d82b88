import { createRequire } from 'node:module'
import { plainLz4Bytes } from './lz4-frame.ts'

/** Loaded when a batch needs it, since most runs never open one; and kept, since looking it up takes longer than its work. */
let loaded: typeof import('lz4-napi') | undefined
function lz4(): typeof import('lz4-napi') {
  loaded ??= createRequire(import.meta.url)('lz4-napi') as typeof import('lz4-napi')
  return loaded
}

const MAGIC = 0x184d2204
/** Magic, version 01 with independent blocks and no checksums, blocks of up to 64 KiB, and the checksum of these two. */
const FRAME_HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82])
const BLOCK_BYTES = 64 << 10
/** Set in the length of a block that holds its bytes as they are. */
const STORED = 0x80000000

/** The frame that Java clients write. Their reader knows no blocks that depend on each other and no dictionary. */
export function compressLz4(plain: Buffer): Buffer {
  const parts: Buffer[] = [FRAME_HEADER]
  for (let start = 0; start < plain.length; start += BLOCK_BYTES) {
    const block = plain.subarray(start, start + BLOCK_BYTES)
    // The library puts the plain length, four bytes, in front of a block.
    const squeezed = lz4().compressSync(block).subarray(4)
    const isSmaller = squeezed.length < block.length
    parts.push(uint32(isSmaller ? squeezed.length : block.length + STORED), isSmaller ? squeezed : block)
  }
  return Buffer.concat([...parts, uint32(0)])
}

/** The decoder takes what is no frame for an empty one, and has no limit of its own. */
export function decompressLz4(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== MAGIC) throw new RangeError('there is no lz4 frame')
  const claimed = plainLz4Bytes(bytes, maxBytes)
  if (claimed > maxBytes) throw new RangeError(`an lz4 frame holds ${claimed} plain bytes or more`)
  return lz4().decompressFrameSync(bytes)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value)
  return bytes
}
