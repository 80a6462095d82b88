import { Blake3Hasher } from '@napi-rs/blake-hash'

/** For what is hashed at once: creating a hasher takes several times as long as hashing a small piece. */
const shared = new Blake3Hasher()

const PIECE_HASH_LENGTH = 32
const scratch = Buffer.alloc(PIECE_HASH_LENGTH)

/** BLAKE3: as strong as SHA-256 and many times faster where the processor has no SHA instructions. */
export function hashOf(bytes: Uint8Array): string {
  shared.reset()
  shared.update(asBuffer(bytes))
  return shared.digest('hex')
}

/** Pieces are many, and their hash is most of what is said of them: the first 128 bits detect damage as well. */
export function pieceHash(hash: string): string {
  // Not a slice, which would keep all of the hash in memory.
  return scratch.toString('latin1', 0, scratch.write(hash, 0, PIECE_HASH_LENGTH, 'latin1'))
}

export interface Hasher {
  update(bytes: Uint8Array): void
  finish(): string
}

export function openHasher(): Hasher {
  const hasher = new Blake3Hasher()
  return {
    update: bytes => {
      hasher.update(asBuffer(bytes))
    },
    finish: () => hasher.digest('hex'),
  }
}

/** The same memory, as the type that the library asks for. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
