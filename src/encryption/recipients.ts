import { randomBytes, scrypt } from 'node:crypto'
import { KafkaBackupError } from '../errors.ts'
import { unwrapByKms, wrapByKms } from './aws-kms.ts'
import type { Credential } from './credential.ts'
import { DATA_KEY_BYTES, type DataKey, fingerprintOf, unwrapKey, type WrapContext, wrapKey } from './key-wrap.ts'
import type { KeysFile, ScryptParameters, StoredRecipient, Wrapped } from './keys-file.ts'

/** A recipient with what it takes to wrap for it. */
interface OpenRecipient {
  stored: StoredRecipient
  wrap(context: WrapContext, dataKey: DataKey, signal: AbortSignal): Promise<Omit<Wrapped, 'recipient'>>
}

type Head = Pick<KeysFile, 'backup_id' | 'hide_names'>

/** The part of a keys file that credentials make: who can open it, and the data keys wrapped for each of them. */
export async function wrapAll(
  credentials: readonly Credential[],
  head: Head,
  dataKeys: readonly (DataKey & { createdAt: string })[],
  signal: AbortSignal,
): Promise<Pick<KeysFile, 'recipients' | 'data_keys'>> {
  const recipients: OpenRecipient[] = []
  for (const credential of credentials) recipients.push(await openRecipient(credential, recipients))
  const data_keys: KeysFile['data_keys'] = []
  for (const dataKey of dataKeys) {
    const context = contextOf(head, dataKey.id)
    const wrapped: Wrapped[] = []
    for (const { stored, wrap } of recipients) {
      wrapped.push({ recipient: stored.id, ...(await wrap(context, dataKey, signal)) })
    }
    data_keys.push({ id: dataKey.id, cipher: 'AES-256-GCM', created_at: dataKey.createdAt, wrapped })
  }
  return { recipients: recipients.map(({ stored }) => stored), data_keys }
}

/** All data keys of a file, by one recipient; undefined where the credential is not that one. */
export async function unwrapAll(
  credential: Credential,
  recipient: StoredRecipient,
  file: KeysFile,
  signal: AbortSignal,
): Promise<DataKey[] | undefined> {
  const unwrap = await unwrapper(credential, recipient, signal)
  if (!unwrap) return undefined
  const keys: DataKey[] = []
  for (const { id, wrapped } of file.data_keys) {
    const own = wrapped.find(one => one.recipient === recipient.id)
    const bytes = own && (await unwrap(contextOf(file, id), own))
    if (bytes?.length !== DATA_KEY_BYTES) return undefined
    keys.push({ id, bytes })
  }
  return keys
}

/** What a recipient is called in a message. */
export function describeRecipient(recipient: StoredRecipient): string {
  const name = 'name' in recipient && recipient.name !== undefined ? ` (${recipient.name})` : ''
  const kinds = { key: 'key', passphrase: 'passphrase', aws_kms: 'AWS KMS key' } as const
  // The ID of a passphrase without a name is the word itself.
  return recipient.id === 'passphrase' ? 'a passphrase' : `${kinds[recipient.kind]} ${recipient.id}${name}`
}

/** What a credential is called in a keys file. */
export function recipientId(credential: Credential): string {
  switch (credential.kind) {
    case 'key':
      return fingerprintOf(credential.key)
    case 'passphrase':
      return credential.name ?? 'passphrase'
    case 'aws_kms':
      return credential.keyId
    default:
      return credential satisfies never
  }
}

function contextOf({ backup_id, hide_names }: Head, dataKeyId: string): WrapContext {
  return { backupId: backup_id, hideNames: hide_names, dataKeyId }
}

async function openRecipient(credential: Credential, others: readonly OpenRecipient[]): Promise<OpenRecipient> {
  const named = credential.name === undefined ? {} : { name: credential.name }
  switch (credential.kind) {
    case 'key': {
      const id = distinct(recipientId(credential), credential.from, others)
      const { key } = credential
      return {
        stored: { kind: 'key', id, ...named },
        wrap: async (context, one) => wrapKey(key, id, context, one.bytes),
      }
    }
    case 'passphrase': {
      assertStrong(credential.passphrase, credential.from)
      const id = distinct(recipientId(credential), credential.from, others)
      const scrypt = newScryptParameters()
      const secret = await stretch(credential.passphrase, scrypt)
      return {
        stored: { kind: 'passphrase', id, scrypt },
        wrap: async (context, one) => wrapKey(secret, id, context, one.bytes),
      }
    }
    case 'aws_kms': {
      const { keyId, region } = credential
      const id = distinct(recipientId(credential), credential.from, others)
      return {
        // Not the endpoint: an attacker who can write to the store could redirect readers to a service with other keys.
        stored: { kind: 'aws_kms', id, key_id: keyId, ...(region && { region }), ...named },
        wrap: (context, one, signal) => wrapByKms(credential, context, one.bytes, signal),
      }
    }
    default:
      return credential satisfies never
  }
}

function distinct(id: string, from: string, others: readonly OpenRecipient[]): string {
  if (others.every(({ stored }) => stored.id !== id)) return id
  throw new KafkaBackupError('CONFIG_INVALID', `two recipients have the id ${id}; the second is ${from}`, {
    help: 'Give each passphrase its own `name`, and each key once.',
  })
}

type Unwrap = (context: WrapContext, wrapped: Wrapped) => Promise<Buffer | undefined>

async function unwrapper(
  credential: Credential,
  recipient: StoredRecipient,
  signal: AbortSignal,
): Promise<Unwrap | undefined> {
  if (credential.kind === 'key' && recipient.kind === 'key') {
    return fingerprintOf(credential.key) === recipient.id ? withSecret(credential.key) : undefined
  }
  if (credential.kind === 'passphrase' && recipient.kind === 'passphrase') {
    return withSecret(await stretch(credential.passphrase, recipient.scrypt))
  }
  if (credential.kind === 'aws_kms' && recipient.kind === 'aws_kms' && credential.keyId === recipient.key_id) {
    return (context, { bytes }) => unwrapByKms(credential, context, bytes, signal)
  }
  return undefined
}

function withSecret(secret: Buffer): Unwrap {
  return async (context, { recipient, nonce = '', bytes }) => unwrapKey(secret, recipient, context, { nonce, bytes })
}

const SALT_BYTES = 32
const SHORTEST = 12

/** Some tenths of a second and 128 MiB for each guess. */
function newScryptParameters(): ScryptParameters {
  return { n: 2 ** 17, r: 8, p: 1, salt: randomBytes(SALT_BYTES).toString('base64') }
}

/** For what is to be encrypted from now on; one that opens something is taken as it is. */
function assertStrong(passphrase: string, where: string): void {
  if ([...passphrase].length >= SHORTEST) return
  throw new KafkaBackupError('CONFIG_INVALID', `the passphrase of ${where} is shorter than ${SHORTEST} characters`, {
    help: 'Take several random words, or a key file of `kafka-backup key new`.',
  })
}

/** The secret that wraps, made of a passphrase. The parameters are within the bounds of `keys-file.ts`. */
function stretch(passphrase: string, { n, r, p, salt }: ScryptParameters): Promise<Buffer> {
  const options = { N: n, r, p, maxmem: 129 * n * r + 2 ** 20 }
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 32, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
