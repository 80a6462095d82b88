import { hasCode, KafkaBackupError, type KafkaBackupErrorOptions } from '../errors.ts'
import { type Credential, describeCredential } from './credential.ts'
import { type DataKey, hideName } from './key-wrap.ts'
import type { KeysFile } from './keys-file.ts'
import { describeRecipient, unwrapAll } from './recipients.ts'

/** The keys of a backup, unwrapped. */
export interface OpenKeys {
  file: KeysFile
  byId: ReadonlyMap<string, DataKey>
  /** What is written from now on is encrypted with this one. */
  current: DataKey
  /** What the manifest says. */
  section: { data_key: string; cipher: 'AES-256-GCM'; hide_names: boolean }
  /** The folder of a topic or a subject, where names are hidden. */
  folderOf?: (name: string) => string
}

interface GivenKeys {
  credentials: readonly Credential[]
  /** Where nothing was given, AWS KMS is asked as the keys file says. */
  mayAskKms: boolean
}

/** What failed is the service that has to be asked for a key. */
export const serviceCodes = ['KMS_UNREACHABLE', 'CREDENTIALS_UNREACHABLE', 'CREDENTIALS_REFUSED'] as const

/** Any one recipient is enough. Fails with ENCRYPTION_KEY where nothing that was given is one. */
export async function openKeys(file: KeysFile, given: GivenKeys, signal: AbortSignal): Promise<OpenKeys> {
  const failures: KafkaBackupError[] = []
  for (const credential of credentialsFor(file, given)) {
    for (const recipient of file.recipients) {
      try {
        const keys = await unwrapAll(credential, recipient, file, signal)
        if (keys) return openedOf(file, keys)
      } catch (error) {
        if (!hasCode(error, 'ENCRYPTION_KEY', ...serviceCodes)) throw error
        failures.push(error)
      }
    }
  }
  // The key that was given may be the right one: what failed is the service that has to be asked.
  const down = failures.find(error => hasCode(error, ...serviceCodes))
  if (down && given.credentials.length > 0) throw down
  throw noKey(file, given, failures)
}

/** The keys that the file names; none if the user configured keys. */
function credentialsFor(file: KeysFile, { credentials, mayAskKms }: GivenKeys): readonly Credential[] {
  if (credentials.length > 0 || !mayAskKms) return credentials
  return file.recipients
    .filter(recipient => recipient.kind === 'aws_kms')
    .map(({ key_id, region }) => ({ kind: 'aws_kms', keyId: key_id, region, from: 'the keys file' }))
}

function openedOf(file: KeysFile, keys: readonly DataKey[]): OpenKeys {
  const [first] = keys
  const current = keys.at(-1)
  if (!first || !current) throw new KafkaBackupError('INTERNAL', 'a keys file without data keys was read')
  return {
    file,
    byId: new Map(keys.map(key => [key.id, key])),
    current,
    section: { data_key: current.id, cipher: 'AES-256-GCM', hide_names: file.hide_names },
    ...(file.hide_names && { folderOf: name => hideName(first, name) }),
  }
}

/** No key that was given opens a keys file. `reason` completes the sentence that the name of an encrypted thing begins. */
export class KeyRefusal extends KafkaBackupError {
  readonly reason: string

  constructor(what: string, reason: string, options: KafkaBackupErrorOptions) {
    super('ENCRYPTION_KEY', `${what} ${reason}`, options)
    this.reason = reason
  }

  /** The service that has to be asked may answer later. */
  override get retryable(): boolean {
    return this.cause instanceof KafkaBackupError && this.cause.retryable
  }
}

function noKey(file: KeysFile, { credentials }: GivenKeys, failures: readonly KafkaBackupError[]): KeyRefusal {
  const opening = `is encrypted, and opens with ${file.recipients.map(describeRecipient).join(' or ')}`
  const given = [...new Set(credentials.map(describeCredential))].join(', ')
  const what = given === '' ? 'no key was given' : `none of these matches: ${given}`
  const failure = failures.find(error => hasCode(error, ...serviceCodes)) ?? failures[0]
  const reason = failure ? `${opening}: ${failure.message}` : `${opening}; ${what}`
  const details = { backup_id: file.backup_id }
  return new KeyRefusal(`the backup \`${file.backup_id}\``, reason, { cause: failure, help: failure?.help, details })
}
