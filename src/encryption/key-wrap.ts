import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { DATA_KEY_ID_BYTES } from './object-header.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** What a wrapped data key belongs to; moved elsewhere it does not open. */
export interface WrapContext {
  backupId: string
  dataKeyId: string
  hideNames: boolean
}

interface SealedKey {
  nonce: string
  bytes: string
}

/** Names a key without telling anything of it. */
export function fingerprintOf(key: Buffer): string {
  return Buffer.from(hkdfSync('sha256', key, '', 'kafka-backup key id v1', 8)).toString('hex')
}

export function wrapKey(secret: Buffer, recipient: string, context: WrapContext, dataKey: Buffer): SealedKey {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, wrappingKeyOf(secret), nonce)
  cipher.setAAD(bind(recipient, context))
  const bytes = Buffer.concat([cipher.update(dataKey), cipher.final(), cipher.getAuthTag()])
  return { nonce: nonce.toString('base64'), bytes: bytes.toString('base64') }
}

/** Undefined where the key is another one, or something was changed. */
export function unwrapKey(
  secret: Buffer,
  recipient: string,
  context: WrapContext,
  { nonce, bytes }: SealedKey,
): Buffer | undefined {
  const [stored, iv] = [Buffer.from(bytes, 'base64'), Buffer.from(nonce, 'base64')]
  const end = stored.length - TAG_BYTES
  // The cipher would take shorter tags as well, which are easier to guess.
  if (end !== DATA_KEY_BYTES || iv.length !== NONCE_BYTES) return undefined
  try {
    const decipher = createDecipheriv(CIPHER, wrappingKeyOf(secret), iv)
    decipher.setAAD(bind(recipient, context))
    decipher.setAuthTag(stored.subarray(end))
    return Buffer.concat([decipher.update(stored.subarray(0, end)), decipher.final()])
  } catch {
    return undefined
  }
}

function wrappingKeyOf(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'kafka-backup key wrap v1', 32))
}

function bind(recipient: string, { backupId, dataKeyId, hideNames }: WrapContext): Buffer {
  return Buffer.from(JSON.stringify(['kafka-backup-keys', 1, backupId, dataKeyId, CIPHER_NAME, hideNames, recipient]))
}

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
