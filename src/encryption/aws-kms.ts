import type { KMSClient } from '@aws-sdk/client-kms'
import { awsCredentials, awsRequestLimits, isOfServer } from '../aws-credentials.ts'
import { type ErrorDetails, KafkaBackupError } from '../errors.ts'
import { startTimeLimit, untilAborted } from '../lib/abort.ts'
import { systemClock } from '../lib/clock.ts'
import { oneLine } from '../lib/one-line.ts'
import type { WrapContext } from './key-wrap.ts'

/** A key of AWS KMS, and how it is reached; without region and endpoint as the AWS environment says. */
export interface KmsKey {
  keyId: string
  region?: string | undefined
  endpoint?: string | undefined
}

/** How long a request may connect, and be silent. The SDK sends it three times, and `totalMs` limits all of them and their answers. */
type KmsLimits = Record<keyof typeof awsRequestLimits | 'totalMs', number>

const requestLimits: KmsLimits = { ...awsRequestLimits, totalMs: 60_000 }

/** The client is loaded when it is used: most backups have no key in KMS. */
export async function wrapByKms(
  key: KmsKey,
  context: WrapContext,
  dataKey: Buffer,
  signal: AbortSignal,
  limits?: KmsLimits,
): Promise<{ bytes: string }> {
  return withKms({ ...key, limits }, 'Encrypt', signal, async (client, { EncryptCommand }, abortSignal) => {
    const input = { KeyId: key.keyId, Plaintext: dataKey, EncryptionContext: contextOf(context) }
    const { CiphertextBlob } = await client.send(new EncryptCommand(input), { abortSignal })
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
  return withKms({ ...key, limits }, 'Decrypt', signal, async (client, { DecryptCommand }, abortSignal) => {
    const blob = Buffer.from(bytes, 'base64')
    const input = { KeyId: key.keyId, CiphertextBlob: blob, EncryptionContext: contextOf(context) }
    const { Plaintext } = await client.send(new DecryptCommand(input), { abortSignal })
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
  { limits = requestLimits, ...key }: KmsKey & { limits: KmsLimits | undefined },
  operation: string,
  signal: AbortSignal,
  work: (client: KMSClient, sdk: Sdk, abortSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  const sdk = await import('@aws-sdk/client-kms')
  const client = openClient(sdk, key, limits)
  const request = `${operation} with ${key.keyId}`
  try {
    // Loading credentials has a separate time limit, long enough for a person at a prompt.
    await untilAborted(client.config.credentials(), signal)
    return await inLimit(abortSignal => work(client, sdk, abortSignal), request, limits.totalMs, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw explained(error, request, { resource: `AWS KMS key ${key.keyId}` })
  } finally {
    client.destroy()
  }
}

function openClient(
  sdk: Sdk,
  { keyId, region, endpoint }: KmsKey,
  { totalMs: _, ...requestHandler }: KmsLimits,
): KMSClient {
  const where = region ?? /^arn:[^:]+:kms:([^:]+):/.exec(keyId)?.[1]
  return new sdk.KMSClient({
    ...(where && { region: where }),
    ...(endpoint && { endpoint }),
    requestHandler,
    credentials: awsCredentials({ clientConfig: { requestHandler, ...(where && { region: where }) } }),
  })
}

/** The SDK does not limit how long a body may take that is never silent. */
async function inLimit<T>(
  send: (abortSignal: AbortSignal) => Promise<T>,
  request: string,
  totalMs: number,
  signal: AbortSignal,
): Promise<T> {
  const limit = startTimeLimit(totalMs, systemClock, signal)
  try {
    return await untilAborted(send(limit.signal), limit.signal)
  } catch (error) {
    if (!limit.signal.aborted) throw error
    const message = `AWS KMS did not answer ${request} within ${totalMs} ms`
    throw new KafkaBackupError('KMS_UNREACHABLE', message, { cause: error })
  } finally {
    limit.end()
  }
}

/** The details tell a failure of the credentials for a key from one of those for a location. */
function explained(thrown: unknown, request: string, details: ErrorDetails): KafkaBackupError {
  if (thrown instanceof KafkaBackupError) {
    const { code, message, help } = thrown
    return new KafkaBackupError(code, message, { cause: thrown, help, details })
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { $metadata, code } = error as Error & { $metadata?: { httpStatusCode?: number }; code?: unknown }
  const status = $metadata?.httpStatusCode
  const text = oneLine(`${error.name}: ${error.message}`)
  const isDown =
    status === undefined ? typeof code === 'string' || error.name === 'TimeoutError' : isOfServer(status, error)
  if (isDown)
    return new KafkaBackupError('KMS_UNREACHABLE', `AWS KMS did not answer ${request}: ${text}`, {
      cause: error,
      details,
    })
  const what = status === undefined ? `no request could be sent to AWS KMS: ${request}` : `AWS KMS refused ${request}`
  return new KafkaBackupError('ENCRYPTION_KEY', `${what}: ${text}`, {
    cause: error,
    details,
    help: 'Check region and credentials, and that they may use the key (kms:Encrypt to write, kms:Decrypt to read).',
  })
}
