import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { KafkaBackupError } from '../../errors.ts'
import { readSecret } from './secret.ts'
import type { PasswordLogin, SaslMechanism } from './security-options.ts'

/** RFC 7677 asks for at least this many; a server that wants fewer makes the password cheap to guess. */
const MIN_ITERATIONS = 4096
/** About a second of work; a server that wants more only keeps us busy. */
const MAX_ITERATIONS = 1_000_000
const hashes = { 'SCRAM-SHA-256': 'sha256', 'SCRAM-SHA-512': 'sha512' } as const
const deriveKey = promisify(pbkdf2)

type ScramName = keyof typeof hashes

/**
 * RFC 5802 without channel binding, as Kafka has it:
 *
 *   client-first  n,,n=<user>,r=<nonce>
 *   server-first  r=<nonce><more nonce>,s=<salt>,i=<iterations>
 *   client-final  c=biws,r=<both nonces>,p=<proof>
 *   server-final  v=<signature> or e=<error>
 *
 * Names and passwords are used as they are: Kafka's brokers and tools do not apply SASLprep, so a text that it would
 * change would no longer match what they stored. For all other texts there is no difference.
 */
export function scram(
  name: ScramName,
  login: Omit<PasswordLogin, 'mechanism'>,
  makeNonce = () => randomBytes(24).toString('base64url'),
): SaslMechanism {
  return {
    name,
    identity: login.username,
    async *converse() {
      const password = await readSecret(login.password, login.passwordFile, 'password')
      const nonce = makeNonce()
      const first = `n=${escapeName(login.username)},r=${nonce}`
      const serverFirst = (yield Buffer.from(`n,,${first}`)).toString()
      const { serverNonce, salt, iterations } = parseServerFirst(serverFirst, nonce, name)
      const salted = await deriveKey(password, salt, iterations, digestBytes(name), hashes[name])
      const withoutProof = `c=biws,r=${serverNonce}`
      const { proof, serverSignature } = sign(name, salted, `${first},${serverFirst},${withoutProof}`)
      const serverFinal = yield Buffer.from(`${withoutProof},p=${proof.toString('base64')}`)
      checkServerFinal(serverFinal.toString(), serverSignature, name)
    },
  }
}

/** `=` and `,` have a meaning in messages. */
function escapeName(user: string): string {
  return user.replaceAll('=', '=3D').replaceAll(',', '=2C')
}

function parseServerFirst(message: string, nonce: string, name: ScramName) {
  const match = /^r=([^,]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,9})(?:,.*)?$/.exec(message)
  const [, serverNonce = '', salt = '', count = ''] = match ?? []
  if (!match) throw untrusted(name, 'its first answer cannot be read')
  if (!serverNonce.startsWith(nonce) || serverNonce.length === nonce.length) {
    throw untrusted(name, 'its answer does not belong to our request')
  }
  const iterations = Number(count)
  if (iterations < MIN_ITERATIONS || iterations > MAX_ITERATIONS) {
    throw untrusted(
      name,
      `it asks for ${iterations} iterations, which is outside ${MIN_ITERATIONS} to ${MAX_ITERATIONS}`,
    )
  }
  return { serverNonce, salt: Buffer.from(salt, 'base64'), iterations }
}

function sign(name: ScramName, salted: Buffer, message: string): { proof: Buffer; serverSignature: Buffer } {
  const hash = hashes[name]
  const hmac = (key: Buffer, text: string) => createHmac(hash, key).update(text).digest()
  const clientKey = hmac(salted, 'Client Key')
  const clientSignature = hmac(createHash(hash).update(clientKey).digest(), message)
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (clientSignature[at] ?? 0)))
  return { proof, serverSignature: hmac(hmac(salted, 'Server Key'), message) }
}

/** Only who knows the password can make this signature: what cannot is not the broker. */
function checkServerFinal(message: string, expected: Buffer, name: ScramName): void {
  const error = /^e=([^,]*)/.exec(message)?.[1]
  if (error !== undefined) throw new KafkaBackupError('KAFKA_AUTH', `the broker refused the ${name} login: ${error}`)
  const signature = Buffer.from(/^v=([A-Za-z0-9+/=]+)/.exec(message)?.[1] ?? '', 'base64')
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw untrusted(name, 'it does not know the password')
  }
}

function digestBytes(name: ScramName): number {
  return name === 'SCRAM-SHA-256' ? 32 : 64
}

function untrusted(name: ScramName, why: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_AUTH', `the server did not prove itself in the ${name} login: ${why}`, {
    help: 'Something other than the broker may be answering at this address; the password itself was not sent.',
  })
}

/** RFC 4616: `[authzid] NUL authcid NUL passwd`. The password itself goes to the broker. */
export function plain(login: PasswordLogin): SaslMechanism {
  return {
    name: 'PLAIN',
    identity: login.username,
    async *converse() {
      const password = await readSecret(login.password, login.passwordFile, 'password')
      if (`${login.username}${password}`.includes('\0')) {
        throw new KafkaBackupError('CONFIG_INVALID', 'the user name or password for PLAIN contains a NUL character')
      }
      yield Buffer.from(`\0${login.username}\0${password}`)
    },
  }
}
