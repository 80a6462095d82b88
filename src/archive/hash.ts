import { Blake3Hasher, blake3 } from '@napi-rs/blake-hash'

/** BLAKE3: as strong as SHA-256 and many times faster where the processor has no SHA instructions. */
export function hashOf(bytes: Uint8Array): string {
  return blake3(asBuffer(bytes)).toString('hex')
}

/** Pieces are many, and their hash is most of what is said of them: the first 128 bits detect damage as well. */
export function pieceHash(hash: string): string {
  return hash.slice(0, 32)
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
