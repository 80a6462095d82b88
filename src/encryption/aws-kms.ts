import type { KMSClient } from '@aws-sdk/client-kms'
import { KafkaBackupError } from '../errors.ts'
import type { WrapContext } from './key-wrap.ts'

/** A key of AWS KMS, and how it is reached; without region and endpoint as the AWS environment says. */
export interface KmsKey {
  keyId: string
  region?: string | undefined
  endpoint?: string | undefined
}

/** The client is loaded when it is used: most backups have no key in KMS. */
export async function wrapByKms(
  key: KmsKey,
  context: WrapContext,
  dataKey: Buffer,
  signal: AbortSignal,
): Promise<{ bytes: string }> {
  return withKms(key, 'Encrypt', signal, async (client, { EncryptCommand }) => {
    const input = { KeyId: key.keyId, Plaintext: dataKey, EncryptionContext: contextOf(context) }
    const { CiphertextBlob } = await client.send(new EncryptCommand(input), { abortSignal: signal })
    if (!CiphertextBlob) throw new Error('the answer holds no ciphertext')
    return { bytes: Buffer.from(CiphertextBlob).toString('base64') }
  })
}

export async function unwrapByKms(
  key: KmsKey,
  context: WrapContext,
  bytes: string,
  signal: AbortSignal,
): Promise<Buffer> {
  return withKms(key, 'Decrypt', signal, async (client, { DecryptCommand }) => {
    const blob = Buffer.from(bytes, 'base64')
    const input = { KeyId: key.keyId, CiphertextBlob: blob, EncryptionContext: contextOf(context) }
    const { Plaintext } = await client.send(new DecryptCommand(input), { abortSignal: signal })
    if (!Plaintext) throw new Error('the answer holds no plaintext')
    return Buffer.from(Plaintext)
  })
}

/** Shows in the audit log of KMS, and policies can be held to it. */
function contextOf({ backupId, dataKeyId, hideNames }: WrapContext): Record<string, string> {
  return {
    'kafka-backup:backup-id': backupId,
    'kafka-backup:data-key': dataKeyId,
    'kafka-backup:hide-names': String(hideNames),
  }
}

type Sdk = typeof import('@aws-sdk/client-kms')

async function withKms<T>(
  { keyId, region, endpoint }: KmsKey,
  operation: string,
  signal: AbortSignal,
  work: (client: KMSClient, sdk: Sdk) => Promise<T>,
): Promise<T> {
  const sdk = await import('@aws-sdk/client-kms')
  const where = region ?? /^arn:[^:]+:kms:([^:]+):/.exec(keyId)?.[1]
  const client = new sdk.KMSClient({ ...(where && { region: where }), ...(endpoint && { endpoint }) })
  try {
    return await work(client, sdk)
  } catch (error) {
    signal.throwIfAborted()
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    throw new KafkaBackupError('ENCRYPTION_KEY', `AWS KMS refused ${operation} with ${keyId}: ${name}: ${message}`, {
      cause: error,
      help: 'Check region and credentials, and that they may use the key (kms:Encrypt to write, kms:Decrypt to read).',
    })
  } finally {
    client.destroy()
  }
}
