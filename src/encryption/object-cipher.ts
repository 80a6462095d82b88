import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type Decipheriv,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { damagedInside } from '../archive/damage.ts'
import type { KafkaBackupError } from '../errors.ts'
import { freeMemory, giveBackMemory, takeMemory } from '../lib/recycled-memory.ts'
import type { DataKey } from './key-wrap.ts'
import {
  countFrames,
  encodeHeader,
  FRAME_BYTES,
  HEADER_BYTES,
  newerObject,
  type ObjectHeader,
  SALT_BYTES,
  TAG_BYTES,
} from './object-header.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
/** The runtime returns each result in new memory, which is freed at once. Small results would share memory; large ones the system would clear first. */
const PIECE_BYTES = FRAME_BYTES / 2
const COUNTER_AT = 7
const LAST_AT = 11

/**
 * Seals and opens the frames of one object. Each object has a separate key, derived from the data key and a random salt, so
 * that counters may serve as nonces. The nonce holds the number of the frame and whether it is the last one (the STREAM
 * construction); header and storage key are authenticated with every frame. So a frame opens only where it was put.
 */
export class ObjectCipher {
  readonly header: ObjectHeader
  readonly #key: string
  /** Not as bytes, which would be imported again for each frame. */
  readonly #secret: KeyObject
  readonly #bound: Buffer

  constructor(header: ObjectHeader, dataKey: DataKey, key: string) {
    this.header = header
    this.#key = key
    const secret = hkdfSync('sha256', dataKey.bytes, header.salt, 'kafka-backup object v1', 32)
    this.#secret = createSecretKey(Buffer.from(secret))
    this.#bound = Buffer.concat([header.bytes, Buffer.from(key)])
  }

  /** For an object to be. */
  static create(dataKey: DataKey, key: string): ObjectCipher {
    return new ObjectCipher(encodeHeader(dataKey.id, randomBytes(SALT_BYTES)), dataKey, key)
  }

  /** The frame as it is stored: as many bytes as were given, and the tag. */
  seal(index: number, isLast: boolean, plain: Uint8Array): Buffer[] {
    const cipher = createCipheriv(CIPHER, this.#secret, nonceOf(index, isLast))
    cipher.setAAD(this.#bound)
    const sealed = transform(cipher, plain)
    cipher.final()
    return [sealed, cipher.getAuthTag()]
  }

  /** Undefined where it is not the frame that was sealed as this one. */
  tryOpen(index: number, isLast: boolean, stored: Buffer): Buffer | undefined {
    const plain = this.#tryOpen(index, isLast, stored)
    if (plain === undefined || this.header.unknownVersion === undefined) return plain
    throw damagedInside(
      this.#key,
      `its header claims version ${this.header.unknownVersion} of the encryption, and its frames are of version 1`,
    )
  }

  #tryOpen(index: number, isLast: boolean, stored: Buffer): Buffer | undefined {
    if (stored.length < TAG_BYTES) return undefined
    const end = stored.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, this.#secret, nonceOf(index, isLast))
    decipher.setAAD(this.#bound)
    decipher.setAuthTag(stored.subarray(end))
    const plain = transform(decipher, stored.subarray(0, end))
    try {
      decipher.final()
      return plain
    } catch {
      giveBackMemory(plain)
      return undefined
    }
  }

  open(index: number, isLast: boolean, stored: Buffer): Buffer {
    const plain = this.tryOpen(index, isLast, stored)
    if (plain) return plain
    throw this.damage(index, isLast, stored)
  }

  /** Says what it can of a frame that does not open. */
  damage(index: number, isLast: boolean, stored: Buffer): KafkaBackupError {
    if (this.header.unknownVersion !== undefined) return newerObject(this.#key, this.header.unknownVersion)
    const isOther = this.tryOpen(index, !isLast, stored) !== undefined
    const cut = isLast ? 'the object was cut behind it' : 'something was put behind its end'
    const why = isOther
      ? cut
      : 'its bytes are not those that were encrypted, or not for this place: it was changed, exchanged or moved'
    return damagedInside(this.#key, `frame ${index} does not open: ${why}`)
  }
}

/** A whole object as it is stored. */
export function sealObject(cipher: ObjectCipher, plain: Uint8Array): Buffer {
  const frames = countFrames(plain.length)
  const parts: Buffer[] = [cipher.header.bytes]
  for (let index = 0; index < frames; index++) {
    const piece = plain.subarray(index * FRAME_BYTES, (index + 1) * FRAME_BYTES)
    parts.push(...cipher.seal(index, index === frames - 1, piece))
  }
  return Buffer.concat(parts)
}

/** The plain bytes of a whole object. */
export function openObject(cipher: ObjectCipher, stored: Buffer): Buffer {
  const step = FRAME_BYTES + TAG_BYTES
  const frames = Math.max(1, Math.ceil((stored.length - HEADER_BYTES) / step))
  const parts: Buffer[] = []
  for (let index = 0; index < frames; index++) {
    const start = HEADER_BYTES + index * step
    parts.push(cipher.open(index, index === frames - 1, stored.subarray(start, start + step)))
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
}

/** Into memory that its only user can give back: the collector would search the heap for every few frames that are new. */
function transform(cipher: Cipheriv | Decipheriv, bytes: Uint8Array): Buffer {
  const result = takeMemory(bytes.length)
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = cipher.update(bytes.subarray(at, at + PIECE_BYTES))
    result.set(piece, at)
    freeMemory(piece)
  }
  return result
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUInt32BE(index, COUNTER_AT)
  nonce[LAST_AT] = isLast ? 1 : 0
  return nonce
}
