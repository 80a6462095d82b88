import { KafkaBackupError } from './errors.ts'
import { inTime } from './lib/abort.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { oneLine } from './lib/one-line.ts'

export interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  expiration?: Date
}

/** Called for each use; keeps credentials until shortly before they expire. */
export type AwsCredentialSource = (properties?: Record<string, unknown>) => Promise<AwsCredentials>

interface ChainOptions {
  profile?: string
  /** Of the requests to STS. */
  clientConfig?: { region?: string; requestHandler: object }
}

interface CredentialParts extends ChainOptions {
  timeoutMs?: number
  clock?: Clock
  open?: (options: ChainOptions) => Promise<AwsCredentialSource>
}

/** Of one request to a service of AWS that a run cannot do without. */
export const awsRequestLimits = { connectionTimeout: 5000, socketTimeout: 10_000 } as const

/** Enough for a person who answers the prompt of a `credential_process`. */
const TIMEOUT_MS = 120_000

/** A request that is still unanswered then is taken for lost. */
const LOST_AFTER_MS = 15 * 60_000

/**
 * The default chain of the AWS SDK, which asks STS, the container or the instance. Some of its requests have no limit, so all of them
 * together have one. Fails with CREDENTIALS_UNREACHABLE or CREDENTIALS_REFUSED if a service is why there are no credentials, and
 * with the error of the SDK if nothing provides any.
 */
export function awsCredentials(parts: CredentialParts = {}): AwsCredentialSource {
  const { timeoutMs = TIMEOUT_MS, clock = systemClock, open = openChain, ...options } = parts
  let source: Promise<AwsCredentialSource> | undefined
  /** A request that was not answered in time. All callers wait for it, because another one would start its process again. */
  let late: { found: Promise<AwsCredentials>; startMs: number } | undefined
  const ask = async (properties: Record<string, unknown> | undefined) => {
    try {
      source ??= open({ clientConfig: { requestHandler: awsRequestLimits }, ...options })
      return await (await source)(properties)
    } catch (error) {
      source = undefined
      throw explained(error)
    }
  }
  return async properties => {
    const nowMs = clock.monotonic()
    // Callers of a chain share its request, and one that is never answered would be the last.
    if (late && nowMs - late.startMs >= LOST_AFTER_MS) late = source = undefined
    const request = late ?? { found: ask(properties), startMs: nowMs }
    const settled = () => {
      if (late === request) late = undefined
    }
    return inTime(request.found, timeoutMs, clock, () => {
      if (late === undefined) {
        late = request
        request.found.then(settled, settled)
      }
      return unreachable(`no answer within ${timeoutMs / 1000} s`)
    })
  }
}

/** Loaded by the first use only, because loading takes a while. */
async function openChain({ profile, clientConfig }: ChainOptions): Promise<AwsCredentialSource> {
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  const provider = defaultProvider({ ...(profile !== undefined && { profile }), ...(clientConfig && { clientConfig }) })
  return properties => provider(properties)
}

function explained(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const { $metadata, code, path } = error as Error & {
    $metadata?: { httpStatusCode?: number }
    code?: unknown
    path?: unknown
  }
  const status = $metadata?.httpStatusCode
  const text = oneLine(`${error.name}: ${error.message}`)
  if (status !== undefined) return isOfServer(status, error) ? unreachable(text, error) : refused(text, error)
  // A file, such as that of a web identity, is not there.
  if (typeof path === 'string') return refused(text, error)
  // The chain drops the failure of a container's service that the environment names, and finds no other.
  const isService = typeof code === 'string' || error.name === 'TimeoutError' || hasContainerService()
  return isService ? unreachable(text, error) : error
}

/** Whether the service failed, rather than rejecting the request. */
export function isOfServer(status: number, { name }: Error): boolean {
  return status >= 500 || status === 408 || status === 429 || status < 400 || /^Throttl|^IDPCommunication/.test(name)
}

function hasContainerService({ env } = process): boolean {
  return Boolean(env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI)
}

function unreachable(text: string, cause?: Error): KafkaBackupError {
  const message = `no AWS credentials: their source (STS, container or instance metadata, \`credential_process\`) did not answer: ${text}`
  return new KafkaBackupError('CREDENTIALS_UNREACHABLE', message, { cause })
}

function refused(text: string, cause: Error): KafkaBackupError {
  return new KafkaBackupError('CREDENTIALS_REFUSED', `no AWS credentials: ${text}`, { cause })
}
