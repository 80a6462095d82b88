import { createHmac, randomBytes } from 'node:crypto'
import { DATA_KEY_ID_BYTES } from './object-header.ts'

/** What the objects of a backup are encrypted with. It exists in memory only; the store holds it wrapped. */
export interface DataKey {
  /** Random, in hex: it says nothing of the key. */
  id: string
  bytes: Buffer
}

export const DATA_KEY_BYTES = 32
export const CIPHER_NAME = 'AES-256-GCM'

export function newDataKey(): DataKey {
  return { id: randomBytes(DATA_KEY_ID_BYTES).toString('hex'), bytes: randomBytes(DATA_KEY_BYTES) }
}

/** The name of a folder that tells nothing of the name that it stands for, and is always the same for it. */
export function hideName({ bytes }: DataKey, name: string): string {
  return createHmac('sha256', bytes).update(`kafka-backup name v1\0${name}`).digest('hex').slice(0, 32)
}
