import { createHash, createHmac } from 'node:crypto'
import { type AwsCredentials, awsCredentials } from '../../aws-credentials.ts'
import { KafkaBackupError } from '../../errors.ts'
import { type Clock, formatUtc } from '../../lib/clock.ts'
import type { MskIamLogin, SaslMechanism } from './security-options.ts'

type CredentialSource = () => Promise<AwsCredentials>

/** IAM access control of Amazon MSK: one signed message, and one answer that repeats its version. */
export function mskIam(
  { region, profile }: NonNullable<MskIamLogin['aws']>,
  clock: Clock,
  credentials: CredentialSource = awsCredentials({ ...(profile !== undefined && { profile }), clock }),
): SaslMechanism {
  return {
    name: 'AWS_MSK_IAM',
    identity: profile === undefined ? 'the AWS identity of this process' : `the AWS profile ${profile}`,
    async *converse({ host }) {
      const found = await loadCredentials(credentials)
      const payload = signConnect({ host, region: region ?? regionOf(host), credentials: found, nowMs: clock.now() })
      const answer = yield Buffer.from(JSON.stringify(payload))
      if (!answer.toString().includes(payload.version)) {
        throw new KafkaBackupError('KAFKA_AUTH', `${host} did not confirm the AWS_MSK_IAM login`)
      }
    },
  }
}

/** Brokers of MSK have their region in their names. */
export function regionOf(host: string): string {
  const region = /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/i.exec(host)?.[1]
  if (region !== undefined) return region.toLowerCase()
  throw new KafkaBackupError('CONFIG_INVALID', `the name ${host} does not contain its AWS region`, {
    help: 'Set `security.sasl.aws.region`.',
  })
}

async function loadCredentials(credentials: CredentialSource): Promise<AwsCredentials> {
  try {
    return await credentials()
  } catch (cause) {
    if (cause instanceof KafkaBackupError) throw cause
    throw new KafkaBackupError('KAFKA_AUTH', 'no AWS credentials were found for AWS_MSK_IAM', {
      cause,
      help: 'Give them in the environment, a profile, or by the role of the pod, task or instance.',
    })
  }
}

interface ConnectRequest {
  host: string
  region: string
  credentials: AwsCredentials
  nowMs: number
}

const VERSION = '2020_10_22'
const SERVICE = 'kafka-cluster'
const ACTION = 'kafka-cluster:Connect'
const ALGORITHM = 'AWS4-HMAC-SHA256'
/** The longest that brokers take. */
const EXPIRES_SECONDS = '900'

/**
 * The message of AWS_MSK_IAM: a `GET https://<host>/?Action=kafka-cluster:Connect` that is signed in its query (AWS
 * Signature Version 4), with the query's names in lower case as the fields of a JSON object.
 */
export function signConnect({ host, region, credentials, nowMs }: ConnectRequest) {
  const date = `${formatUtc(nowMs).replace(/[-:]/g, '').slice(0, 15)}Z`
  const scope = `${date.slice(0, 8)}/${region}/${SERVICE}/aws4_request`
  const query = {
    Action: ACTION,
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${credentials.accessKeyId}/${scope}`,
    'X-Amz-Date': date,
    'X-Amz-Expires': EXPIRES_SECONDS,
    ...(credentials.sessionToken !== undefined && { 'X-Amz-Security-Token': credentials.sessionToken }),
    'X-Amz-SignedHeaders': 'host',
  }
  const canonical = ['GET', '/', formatQuery(query), `host:${host}`, '', 'host', sha256('')].join('\n')
  const toSign = [ALGORITHM, date, scope, sha256(canonical)].join('\n')
  const signature = hmac(signingKey(credentials.secretAccessKey, date.slice(0, 8), region), toSign).toString('hex')
  return {
    version: VERSION,
    host,
    'user-agent': 'kafka-backup',
    ...Object.fromEntries(Object.entries(query).map(([name, value]) => [name.toLowerCase(), value])),
    'x-amz-signature': signature,
  }
}

function formatQuery(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
}

/** All but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function signingKey(secret: string, day: string, region: string): Buffer {
  return [day, region, SERVICE, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secret}`))
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
