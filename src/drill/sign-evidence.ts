import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { type Evidence, sha256 } from './evidence.ts'

/** Reads an ed25519 private key (PKCS #8, PEM). */
export async function readSigningKey(path: string): Promise<KeyObject> {
  return readKey(path, 'private', text => createPrivateKey(text))
}

/** Reads an ed25519 public key (SPKI, PEM). */
export async function readPublicKey(path: string): Promise<KeyObject> {
  return readKey(path, 'public', text => {
    // A private key contains the public one, but a verifier must not have it.
    if (text.includes('PRIVATE KEY')) throw new Error('it is a private key')
    return createPublicKey(text)
  })
}

async function readKey(path: string, kind: string, parse: (text: string) => KeyObject): Promise<KeyObject> {
  const text = await readFile(path, 'utf8').catch(cause => {
    throw new KafkaBackupError('USAGE', `the key file ${path} cannot be read: ${cause.message}`, { cause })
  })
  try {
    const key = parse(text)
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it is of type ${key.asymmetricKeyType}`)
    return key
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new KafkaBackupError('USAGE', `${path} is not an ed25519 ${kind} key in PEM form: ${reason}`, {
      cause,
      help:
        'Create the keys with `openssl genpkey -algorithm ed25519 -out drill.key` and ' +
        '`openssl pkey -in drill.key -pubout -out drill.pub`.',
    })
  }
}

export function signerOf(key: KeyObject): NonNullable<Evidence['signer']> {
  const der = publicDer(key)
  return { algorithm: 'ed25519', key_id: keyIdOf(key), public_key: der.toString('base64') }
}

/** Names a key pair, by its public key. */
export function keyIdOf(key: KeyObject): string {
  return sha256(publicDer(key)).slice(0, 16)
}

function publicDer(key: KeyObject): Buffer {
  const shown = key.type === 'private' ? createPublicKey(key) : key
  return shown.export({ type: 'spki', format: 'der' })
}

/** 64 bytes over the document as it is stored. */
export function signBytes(bytes: Uint8Array, key: KeyObject): Buffer {
  return sign(null, bytes, key)
}

export function isSigned(bytes: Uint8Array, signature: Uint8Array, key: KeyObject): boolean {
  return verify(null, bytes, key, signature)
}
