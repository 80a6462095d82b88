import { ClientSecretCredential, DefaultAzureCredential, WorkloadIdentityCredential } from '@azure/identity'
import { systemClock } from '../../lib/clock.ts'
import type { IdentityLogin, TokenCredential } from './credential.ts'
import { LoginTrouble } from './login-error.ts'
import { type AzureOptions, azureDefaults } from './options.ts'

/** An identity of Entra. This file is loaded with Entra's SDK, which keys and SAS tokens do without. */
export function openIdentity(login: IdentityLogin, options: AzureOptions): TokenCredential {
  const timeoutMs = options.idleTimeoutMs ?? azureDefaults.idleTimeoutMs
  const common = commonOptions(options)
  if (login.kind === 'platform') {
    const ids = login.clientId === undefined ? {} : { managedIdentityClientId: login.clientId }
    // The chain asks where nobody may be, so that silence of one is no trouble; its own retries wait for slow platforms.
    const chain = new DefaultAzureCredential({ ...common, ...ids })
    return { getToken: (scopes, given) => inTime(chain.getToken(scopes, given), timeoutMs) }
  }
  let credential: WatchedCredential | undefined
  return {
    getToken: async (scopes, given) => {
      credential ??= openWatched(login, common)
      const { line, getToken } = credential
      try {
        return await inTime(
          line.watch(() => getToken(scopes, given)),
          timeoutMs,
        )
      } catch (error) {
        // After a failure the SDK keeps its credential from asking for a minute, longer than we are patient.
        if (error instanceof LoginTrouble) credential = undefined
        throw error
      }
    },
  }
}

interface WatchedCredential extends TokenCredential {
  line: Line
}

function openWatched(
  login: Exclude<IdentityLogin, { kind: 'platform' }>,
  common: ReturnType<typeof commonOptions>,
): WatchedCredential {
  const line = new Line()
  const single = { ...common, retryOptions: { maxRetries: 0 }, additionalPolicies: [line.policy] }
  const { tenantId, clientId } = login
  const credential =
    login.kind === 'secret'
      ? new ClientSecretCredential(tenantId, clientId, login.clientSecret, single)
      : new WorkloadIdentityCredential({ ...single, tenantId, clientId, tokenFilePath: login.tokenFile })
  return { line, getToken: (scopes, given) => credential.getToken(scopes, given) }
}

function commonOptions({ authorityHost, proxy }: AzureOptions) {
  return {
    ...(authorityHost !== undefined && { authorityHost }),
    ...(proxy !== undefined && { proxyOptions: proxySettings(proxy) }),
    // Who names an authority trusts it; the list of the public cloud, which would be asked otherwise, may not know it.
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

/** The line to Entra: remembers what became of the last request, which the SDK's errors leave out. */
class Line {
  #trouble: { error: unknown } | Answered | undefined

  readonly policy = {
    position: 'perRetry' as const,
    policy: {
      name: 'kafkaBackupLine',
      sendRequest: async <Q, R extends Answered>(request: Q, next: (request: Q) => Promise<R>): Promise<R> => {
        try {
          const answer = await next(request)
          this.#trouble = answer.status === 408 || answer.status === 429 || answer.status >= 500 ? answer : undefined
          return answer
        } catch (error) {
          this.#trouble = { error }
          throw error
        }
      },
    },
  }

  async watch<T>(login: () => Promise<T>): Promise<T> {
    this.#trouble = undefined
    try {
      return await login()
    } catch (error) {
      const trouble = this.#trouble as { error: unknown } | Answered | undefined
      if (trouble === undefined) throw error
      if ('status' in trouble) throw new LoginTrouble(`it answered ${trouble.status}`, undefined, error)
      const { message, code } = trouble.error as Error & { code?: unknown }
      throw new LoginTrouble(message, typeof code === 'string' ? code : undefined, error)
    }
  }
}

/** The SDK knows no timeout of its own: a login that never answers is left after a while. */
function inTime<T>(login: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new LoginTrouble(`no token within ${timeoutMs} ms`, 'ETIMEDOUT', undefined))
    const cancel = systemClock.after(timeoutMs, late)
    login.then(resolve, reject).finally(cancel)
  })
}
