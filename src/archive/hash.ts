import { Blake3Hasher, blake3 } from '@napi-rs/blake-hash'

/** BLAKE3: as strong as SHA-256 and many times faster where the processor has no SHA instructions. */
export function hashOf(bytes: Uint8Array): string {
  return blake3(bytes).toString('hex')
}

export interface Hasher {
  update(bytes: Uint8Array): void
  finish(): string
}

export function openHasher(): Hasher {
  const hasher = new Blake3Hasher()
  return {
    update: bytes => {
      hasher.update(bytes)
    },
    finish: () => hasher.digest('hex'),
  }
}
