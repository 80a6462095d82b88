import { createHash, webcrypto } from 'node:crypto'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { awsCredentials } from '../../aws-credentials.ts'
import { KafkaBackupError } from '../../errors.ts'
import { openAgents } from '../bucket/agents.ts'
import { assertOfStore } from './assert-of-store.ts'
import { type S3Options, s3Defaults } from './s3-options.ts'

/** The SDK's client, set up to send each request once and without its own checksums. */
export async function openS3Client(options: S3Options): Promise<S3Client> {
  const client = new S3Client({
    ...(await connectionConfig(options)),
    ...(options.region !== undefined && { region: options.region }),
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
    forcePathStyle: options.pathStyle ?? false,
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    customUserAgent: [['kafka-backup']],
  })
  await assertRegion(client)
  client.middlewareStack.add(signPayload(options.signPayload ?? isPlain(options.endpoint)), {
    step: 'build',
    name: 'kafkaBackupPayload',
  })
  // Closer to the network than the SDK's deserializer, which takes any document for an empty result.
  client.middlewareStack.add(assertOfStore, { step: 'deserialize', priority: 'low', name: 'kafkaBackupAnswer' })
  return client
}

async function connectionConfig(options: S3Options): Promise<S3ClientConfig> {
  const { connectTimeoutMs, idleTimeoutMs } = { ...s3Defaults, ...options }
  const timeouts = { connectionTimeout: connectTimeoutMs, socketTimeout: idleTimeoutMs }
  const requestHandler = { ...(await openAgents(options)), ...timeouts }
  const { accessKeyId, secretAccessKey, sessionToken, proxy, region } = options
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
    return { requestHandler, credentials }
  }
  // Credential services are AWS's: behind the same proxy, but not signed by the store's private CA.
  const agents = await openAgents(proxy === undefined ? {} : { proxy })
  const clientConfig = { requestHandler: { ...agents, ...timeouts }, ...(region !== undefined && { region }) }
  return { requestHandler, credentials: awsCredentials({ clientConfig }) }
}

async function assertRegion(client: S3Client): Promise<void> {
  try {
    await client.config.region()
  } catch (cause) {
    client.destroy()
    throw new KafkaBackupError('LOCATION_INVALID', 'the region of the bucket is unknown', {
      cause,
      help: 'Set `storage.region`, `?region=` of an `s3://` location, or AWS_REGION.',
    })
  }
}

function isPlain(endpoint: string | undefined): boolean {
  return endpoint !== undefined && /^http:/i.test(endpoint)
}

interface OutgoingRequest {
  headers: Record<string, string>
  body?: unknown
}

type Step = (args: { input: unknown; request?: unknown }) => Promise<never>

/**
 * SHA-256 is the slowest step of an upload. Over TLS the signature leaves out the body and a checksum covers it. Without
 * TLS the body is signed, and a large one is hashed on another thread.
 */
function signPayload(isSigned: boolean) {
  return (next: unknown) =>
    async (args: { input: unknown; request?: unknown }): Promise<never> => {
      const { headers, body } = args.request as OutgoingRequest
      if (!isSigned) headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD'
      else if (Buffer.isBuffer(body)) headers['x-amz-content-sha256'] = await sha256(body)
      return (next as Step)(args)
    }
}

async function sha256(body: Buffer): Promise<string> {
  if (body.length < 256 * 1024) return createHash('sha256').update(body).digest('hex')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', body)).toString('hex')
}
