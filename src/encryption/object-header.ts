import { damaged, tooNew } from '../archive/damage.ts'
import type { KafkaBackupError } from '../errors.ts'

/** No text, no record batch (its offset would be negative) and no zstd frame begins like this. */
const MAGIC = Buffer.from([0x89, 0x4b, 0x42, 0x45, 0x4e, 0x43, 0x0d, 0x0a])
const VERSION = 1
const ID_AT = 16
const SALT_AT = 32
export const HEADER_BYTES = 64
export const DATA_KEY_ID_BYTES = 16
export const SALT_BYTES = 32

/** The bytes before the frames: 8 bytes magic, version, 7 zeros, 16 bytes id of the data key, 32 bytes salt. */
export interface ObjectHeader {
  /** In hex. */
  dataKeyId: string
  salt: Buffer
  /** As stored; the frames vouch for it. Of one that claims a newer version, as this version would have it. */
  bytes: Buffer
  /** The version that it claims, where this program does not know it: either it is newer, or the byte is damaged. */
  unknownVersion?: number
}

export function encodeHeader(dataKeyId: string, salt: Buffer): ObjectHeader {
  const bytes = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(bytes)
  bytes[MAGIC.length] = VERSION
  bytes.write(dataKeyId, ID_AT, 'hex')
  salt.copy(bytes, SALT_AT)
  return { dataKeyId, salt, bytes }
}

/** Whether this is the beginning of an encrypted object. */
export function isSealed(begin: Uint8Array): boolean {
  return begin.length >= MAGIC.length && MAGIC.every((byte, at) => begin[at] === byte)
}

/** Of bytes that begin with the magic. */
export function decodeHeader(begin: Buffer, key: string): ObjectHeader {
  if (begin.length < HEADER_BYTES) {
    throw damaged(key, 'is cut: it ends inside the header of its encryption')
  }
  const version = begin[MAGIC.length] ?? 0
  const bytes = Buffer.from(begin.subarray(0, HEADER_BYTES))
  const header = { dataKeyId: bytes.toString('hex', ID_AT, SALT_AT), salt: bytes.subarray(SALT_AT), bytes }
  if (version <= VERSION) return header
  // A frame that opens shows that the object is of this version.
  bytes[MAGIC.length] = VERSION
  return { ...header, unknownVersion: version }
}

/** Of an object that claims this version, and does not open as one of the version that this program knows. */
export function newerObject(key: string, version: number): KafkaBackupError {
  const known = `this version of kafka-backup reads up to ${VERSION}`
  return tooNew(key, `is encrypted in version ${version} of the format, or its header is damaged; ${known}`)
}

/** Plain bytes of every frame but the last. Part of the format: sizes and places follow from it without a look inside. */
export const FRAME_BYTES = 256 * 1024
export const TAG_BYTES = 16
const STORED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES

/** Pure. An object has at least one frame: the empty one of an empty object is what says that nothing was cut off. */
export function countFrames(plainSize: number): number {
  return Math.max(1, Math.ceil(plainSize / FRAME_BYTES))
}

/** Pure. The reverse; undefined for a size that no encrypted object has. */
export function plainSizeOf(storedSize: number): number | undefined {
  const body = storedSize - HEADER_BYTES
  const frames = Math.ceil(body / STORED_FRAME_BYTES)
  const plainSize = body - TAG_BYTES * frames
  return frames >= 1 && plainSize >= 0 && countFrames(plainSize) === frames ? plainSize : undefined
}

/** Pure. Where a frame begins in the store. */
export function frameStart(index: number): number {
  return HEADER_BYTES + index * STORED_FRAME_BYTES
}

/** Pure. The frame that holds a plain byte; that of the end of an object whose last frame is full is the one behind. */
export function frameOf(position: number): number {
  return Math.floor(position / FRAME_BYTES)
}
