import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { fingerprintOf } from './key-wrap.ts'

const KEY_BYTES = 32

export interface NewKey {
  /** What messages call it. */
  id: string
  /** In base64. A secret. */
  text: string
}

export function newKey(): NewKey {
  const key = randomBytes(KEY_BYTES)
  return { id: fingerprintOf(key), text: key.toString('base64') }
}

/** Into a file that only its owner can read, and that is not there yet. */
export async function writeKeyFile(path: string, { text }: NewKey): Promise<void> {
  try {
    await using file = await open(path, 'wx', 0o600)
    await file.writeFile(`${text}\n`)
    await file.sync()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'EEXIST' ? 'it exists already, and a key is never overwritten' : code
    throw new KafkaBackupError('USAGE', `the key file ${path} cannot be written: ${why}`, { cause })
  }
}
