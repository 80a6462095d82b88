import { crc32 } from 'node:zlib'
import { type Codec, codecNames } from '../../src/batch/header.ts'
import { headerChecksum } from '../../src/batch/lz4-header.ts'
import { compress } from './batches.ts'

/** Written from Kafka's description of the message formats v0 and v1, apart from the reader under test. */
export interface OldMessageSpec {
  offset?: bigint
  magic?: 0 | 1
  timestamp?: bigint
  logAppendTime?: boolean
  key?: Buffer | null
  value?: Buffer | null
  codec?: Codec
}

export function encodeOldMessage(spec: OldMessageSpec = {}): Buffer {
  const { magic = 1, key = null, value = Buffer.from('v'), codec = 'none' } = spec
  const time = Buffer.alloc(magic === 0 ? 0 : 8)
  if (magic === 1) time.writeBigInt64BE(spec.timestamp ?? 1_400_000_000_000n)
  const attributes = codecNames.indexOf(codec) | (spec.logAppendTime ? 8 : 0)
  const content = Buffer.concat([Buffer.from([magic, attributes]), time, encodeBytes(key), encodeBytes(value)])
  const head = Buffer.alloc(16)
  head.writeBigInt64BE(spec.offset ?? 0n, 0)
  head.writeInt32BE(content.length + 4, 8)
  head.writeUInt32BE(crc32(content), 12)
  return Buffer.concat([head, content])
}

/** A compressed message with these inside; without an offset it has that of the last, by the rules of its format. */
export function encodeWrapper(codec: Codec, inner: readonly OldMessageSpec[], spec: OldMessageSpec = {}): Buffer {
  const { magic = 1 } = spec
  const first = inner[0]?.offset ?? 0n
  const relative = inner.map(one => ({ magic, ...one, offset: (one.offset ?? 0n) - (magic === 0 ? 0n : first) }))
  const plain = Buffer.concat(relative.map(encodeOldMessage))
  const packed = compress(codec, plain)
  const value = codec === 'lz4' && magic === 0 ? withBrokenChecksum(packed) : packed
  return encodeOldMessage({ offset: inner.at(-1)?.offset ?? 0n, ...spec, magic, codec, value })
}

/** As Kafka's clients of format v0 wrote LZ4 frames: the checksum of the header includes the magic. */
function withBrokenChecksum(frame: Buffer): Buffer {
  const broken = Buffer.from(frame)
  const flags = frame[4] ?? 0
  const end = 6 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0)
  broken[end] = (headerChecksum(frame.subarray(4, end)) + 1) & 0xff
  return broken
}

function encodeBytes(bytes: Buffer | null): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes?.length ?? -1)
  return Buffer.concat([length, bytes ?? Buffer.alloc(0)])
}
