import type { KMSClient } from '@aws-sdk/client-kms'
import { awsCredentials, awsRequestLimits, isOfServer } from '../aws-credentials.ts'
import { KafkaBackupError } from '../errors.ts'
import { untilAborted } from '../lib/abort.ts'
import { oneLine } from '../lib/one-line.ts'
import type { WrapContext } from './key-wrap.ts'

/** A key of AWS KMS, and how it is reached; without region and endpoint as the AWS environment says. */
export interface KmsKey {
  keyId: string
  region?: string | undefined
  endpoint?: string | undefined
}

/** How long a request may connect, and be silent. The SDK sends it three times. */
type KmsLimits = Record<keyof typeof awsRequestLimits, number>

/** The client is loaded when it is used: most backups have no key in KMS. */
export async function wrapByKms(
  key: KmsKey,
  context: WrapContext,
  dataKey: Buffer,
  signal: AbortSignal,
  limits?: KmsLimits,
): Promise<{ bytes: string }> {
  return withKms({ ...key, limits }, 'Encrypt', signal, async (client, { EncryptCommand }) => {
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
  limits?: KmsLimits,
): Promise<Buffer> {
  return withKms({ ...key, limits }, 'Decrypt', signal, async (client, { DecryptCommand }) => {
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
  { keyId, region, endpoint, limits = awsRequestLimits }: KmsKey & { limits: KmsLimits | undefined },
  operation: string,
  signal: AbortSignal,
  work: (client: KMSClient, sdk: Sdk) => Promise<T>,
): Promise<T> {
  const sdk = await import('@aws-sdk/client-kms')
  const where = region ?? /^arn:[^:]+:kms:([^:]+):/.exec(keyId)?.[1]
  const client = new sdk.KMSClient({
    ...(where && { region: where }),
    ...(endpoint && { endpoint }),
    requestHandler: limits,
    credentials: awsCredentials({ clientConfig: { requestHandler: limits, ...(where && { region: where }) } }),
  })
  try {
    return await untilAborted(work(client, sdk), signal)
  } catch (error) {
    signal.throwIfAborted()
    throw explained(error, `${operation} with ${keyId}`)
  } finally {
    client.destroy()
  }
}

function explained(thrown: unknown, request: string): KafkaBackupError {
  if (thrown instanceof KafkaBackupError) return thrown
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { $metadata, code } = error as Error & { $metadata?: { httpStatusCode?: number }; code?: unknown }
  const status = $metadata?.httpStatusCode
  const text = oneLine(`${error.name}: ${error.message}`)
  const isDown =
    status === undefined ? typeof code === 'string' || error.name === 'TimeoutError' : isOfServer(status, error)
  if (isDown)
    return new KafkaBackupError('KMS_UNREACHABLE', `AWS KMS did not answer ${request}: ${text}`, { cause: error })
  const what = status === undefined ? `no request could be sent to AWS KMS: ${request}` : `AWS KMS refused ${request}`
  return new KafkaBackupError('ENCRYPTION_KEY', `${what}: ${text}`, {
    cause: error,
    help: 'Check region and credentials, and that they may use the key (kms:Encrypt to write, kms:Decrypt to read).',
  })
}
