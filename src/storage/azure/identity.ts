import { ClientSecretCredential, DefaultAzureCredential, WorkloadIdentityCredential } from '@azure/identity'
import { inTime } from '../../lib/abort.ts'
import { systemClock } from '../../lib/clock.ts'
import { type AzureOptions, azureDefaults } from './azure-options.ts'
import type { IdentityLogin, TokenCredential } from './credential.ts'
import { EntraUnreachable } from './error-table.ts'

/** An identity of Entra. This file loads Entra's SDK, which keys and SAS tokens do not need. */
export function openIdentity(login: IdentityLogin, options: AzureOptions): TokenCredential {
  const timeoutMs = options.idleTimeoutMs ?? azureDefaults.idleTimeoutMs
  const common = commonOptions(options)
  if (login.kind === 'platform') {
    const ids = login.clientId === undefined ? {} : { managedIdentityClientId: login.clientId }
    // The chain tries services that may not exist, so silence of one is not an error; its retries wait for slow platforms.
    const chain = new DefaultAzureCredential({ ...common, ...ids })
    return { getToken: (scopes, given) => inLimit(chain.getToken(scopes, given), timeoutMs) }
  }
  let credential: WatchedCredential | undefined
  return {
    getToken: async (scopes, given) => {
      credential ??= openWatched(login, common)
      const { connection, getToken } = credential
      try {
        return await inLimit(
          connection.watch(() => getToken(scopes, given)),
          timeoutMs,
        )
      } catch (error) {
        // After a failure the SDK blocks its credential for a minute, longer than our retries last.
        if (error instanceof EntraUnreachable) credential = undefined
        throw error
      }
    },
  }
}

interface WatchedCredential extends TokenCredential {
  connection: EntraConnection
}

function openWatched(
  login: Exclude<IdentityLogin, { kind: 'platform' }>,
  common: ReturnType<typeof commonOptions>,
): WatchedCredential {
  const connection = new EntraConnection()
  const single = { ...common, retryOptions: { maxRetries: 0 }, additionalPolicies: [connection.policy] }
  const { tenantId, clientId } = login
  const credential =
    login.kind === 'secret'
      ? new ClientSecretCredential(tenantId, clientId, login.clientSecret, single)
      : new WorkloadIdentityCredential({ ...single, tenantId, clientId, tokenFilePath: login.tokenFile })
  return { connection, getToken: (scopes, given) => credential.getToken(scopes, given) }
}

function commonOptions({ authorityHost, proxy }: AzureOptions) {
  return {
    ...(authorityHost !== undefined && { authorityHost }),
    ...(proxy !== undefined && { proxyOptions: proxySettings(proxy) }),
    // A configured authority is trusted; the list of the public cloud may not contain it.
    disableInstanceDiscovery: (authorityHost ?? process.env.AZURE_AUTHORITY_HOST) !== undefined,
  }
}

/** Without the field, Entra's SDK follows HTTPS_PROXY and NO_PROXY by itself. */
function proxySettings(proxy: string) {
  const { protocol, hostname, port, username, password } = new URL(proxy)
  return {
    host: `${protocol}//${hostname}`,
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
    ...(username !== '' && { username: decodeURIComponent(username), password: decodeURIComponent(password) }),
  }
}

interface Answered {
  status: number
}

/** Remembers the failure of the last request to Entra, which the SDK's errors omit. */
class EntraConnection {
  #failure: { error: unknown } | Answered | undefined

  readonly policy = {
    position: 'perRetry' as const,
    policy: {
      name: 'kafkaBackupEntra',
      sendRequest: async <Q, R extends Answered>(request: Q, next: (request: Q) => Promise<R>): Promise<R> => {
        try {
          const answer = await next(request)
          this.#failure = answer.status === 408 || answer.status === 429 || answer.status >= 500 ? answer : undefined
          return answer
        } catch (error) {
          this.#failure = { error }
          throw error
        }
      },
    },
  }

  async watch<T>(login: () => Promise<T>): Promise<T> {
    this.#failure = undefined
    try {
      return await login()
    } catch (error) {
      const failure = this.#failure as { error: unknown } | Answered | undefined
      if (failure === undefined) throw error
      if ('status' in failure) throw new EntraUnreachable(`it answered ${failure.status}`, undefined, error)
      const { message, code } = failure.error as Error & { code?: unknown }
      throw new EntraUnreachable(message, typeof code === 'string' ? code : undefined, error)
    }
  }
}

/** The SDK has no timeout: stop waiting for a login that never ends. */
function inLimit<T>(login: Promise<T>, timeoutMs: number): Promise<T> {
  const late = () => new EntraUnreachable(`no token within ${timeoutMs} ms`, 'ETIMEDOUT', undefined)
  return inTime(login, timeoutMs, systemClock, late)
}
