import { randomBytes, scrypt } from 'node:crypto'
import { KafkaBackupError } from '../errors.ts'
import type { ScryptParameters } from './keys-file.ts'

const SALT_BYTES = 32
const SHORTEST = 12

/** Some tenths of a second and 128 MiB for each guess. */
export function newScryptParameters(): ScryptParameters {
  return { n: 2 ** 17, r: 8, p: 1, salt: randomBytes(SALT_BYTES).toString('base64') }
}

/** For what is to be encrypted from now on; one that opens something is taken as it is. */
export function assertStrong(passphrase: string, where: string): void {
  if ([...passphrase].length >= SHORTEST) return
  throw new KafkaBackupError('CONFIG_INVALID', `the passphrase of ${where} is shorter than ${SHORTEST} characters`, {
    help: 'Take several random words, or a key file of `kafka-backup key new`.',
  })
}

/** The secret that wraps, made of a passphrase. The parameters are within the bounds of `keys-file.ts`. */
export function stretch(passphrase: string, { n, r, p, salt }: ScryptParameters): Promise<Buffer> {
  const options = { N: n, r, p, maxmem: 129 * n * r + 2 ** 20 }
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 32, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
