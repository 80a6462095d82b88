import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import type { KmsKey } from './aws-kms.ts'
import type { Credential } from './credential.ts'
import { fingerprintOf } from './key-wrap.ts'

/** Where a key is: exactly one of these, and a name for people. */
export interface KeySource {
  keyFile?: string | undefined
  /** The name of an environment variable. */
  keyEnv?: string | undefined
  passphraseFile?: string | undefined
  passphraseEnv?: string | undefined
  awsKms?: KmsKey | undefined
  name?: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

const KEY_BYTES = 32

/** Reads the secrets. A KMS key has none: it is asked when something is wrapped or unwrapped. */
export function loadCredentials(sources: readonly KeySource[], env: Environment): Promise<Credential[]> {
  return Promise.all(sources.map(source => loadCredential(source, env)))
}

/** What the environment gives to commands that have no job: KAFKA_BACKUP_KEY and its like. */
export function environmentSources(env: Environment): KeySource[] {
  return [
    ...(env.KAFKA_BACKUP_KEY ? [{ keyEnv: 'KAFKA_BACKUP_KEY' }] : []),
    ...(env.KAFKA_BACKUP_KEY_FILE ? [{ keyFile: env.KAFKA_BACKUP_KEY_FILE }] : []),
    ...(env.KAFKA_BACKUP_PASSPHRASE ? [{ passphraseEnv: 'KAFKA_BACKUP_PASSPHRASE' }] : []),
    ...(env.KAFKA_BACKUP_PASSPHRASE_FILE ? [{ passphraseFile: env.KAFKA_BACKUP_PASSPHRASE_FILE }] : []),
  ]
}

async function loadCredential(source: KeySource, env: Environment): Promise<Credential> {
  const { keyFile, keyEnv, passphraseFile, passphraseEnv, awsKms, name } = source
  if (keyFile !== undefined) {
    return { kind: 'key', key: parseKeyFile(await readSecret(keyFile), keyFile), from: keyFile, name }
  }
  if (keyEnv !== undefined) {
    return { kind: 'key', key: parseKey(fromEnvironment(keyEnv, env), keyEnv), from: keyEnv, name }
  }
  if (passphraseFile !== undefined) {
    const passphrase = (await readSecret(passphraseFile)).toString('utf8').replace(/\r?\n$/, '')
    return { kind: 'passphrase', passphrase: given(passphrase, passphraseFile), from: passphraseFile, name }
  }
  if (passphraseEnv !== undefined) {
    return { kind: 'passphrase', passphrase: fromEnvironment(passphraseEnv, env), from: passphraseEnv, name }
  }
  if (awsKms !== undefined) return { kind: 'aws_kms', ...awsKms, from: 'AWS KMS', name }
  throw new KafkaBackupError('CONFIG_INVALID', 'a recipient of the encryption names no key')
}

async function readSecret(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new KafkaBackupError('ENCRYPTION_KEY', `the key file ${path} cannot be read (${code})`, { cause })
  }
}

function fromEnvironment(name: string, env: Environment): string {
  return given(env[name] ?? '', `the environment variable ${name}`)
}

function given(text: string, where: string): string {
  if (text !== '') return text
  throw new KafkaBackupError('ENCRYPTION_KEY', `${where} is empty or not set`)
}

/** 32 bytes as they are, or a text. */
function parseKeyFile(bytes: Buffer, where: string): Buffer {
  return bytes.length === KEY_BYTES ? bytes : parseKey(bytes.toString('latin1'), where)
}

/** Base64 or hex. What is wrong with it is not shown. */
function parseKey(text: string, where: string): Buffer {
  const digits = text.trim()
  if (/^[0-9a-fA-F]{64}$/.test(digits)) return Buffer.from(digits, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(digits)) return Buffer.from(digits, 'base64')
  throw new KafkaBackupError(
    'ENCRYPTION_KEY',
    `${where} does not contain a key: a key has 32 bytes, in binary form, in base64 or in hex`,
    {
      help: 'Create one with `kafka-backup key new --out <file>`.',
    },
  )
}

interface NewKey {
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
