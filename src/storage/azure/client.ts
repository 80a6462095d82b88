import { createHash } from 'node:crypto'
import {
  AnonymousCredential,
  ContainerClient,
  newPipeline,
  type RequestPolicyFactory,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { openAgents, type StoreAgents } from '../bucket/agents.ts'
import { type AzureLogin, planLogin, type TokenCredential, unknownAccount } from './credential.ts'
import { newHttpClient } from './http-client.ts'
import { type AzureOptions, azureDefaults, endpointOf } from './options.ts'

export interface OpenedContainer {
  client: ContainerClient
  close(): void
}

/** The SDK's client, set up to make one try of each request. */
export async function openContainer(options: AzureOptions): Promise<OpenedContainer> {
  const endpoint = endpointOf(options)
  if (endpoint === undefined) throw unknownAccount()
  const login = planLogin(options)
  const agents = await openAgents(options)
  const pipeline = newPipeline(await credentialOf(login, options), {
    httpClient: newHttpClient(agents, { ...azureDefaults, ...options }),
    retryOptions: { maxTries: 1 },
    userAgentOptions: { userAgentPrefix: 'kafka-backup' },
  })
  pipeline.factories.push(contentMd5)
  const query = login.kind === 'sas' ? `?${login.sasToken}` : ''
  const client = new ContainerClient(`${endpoint}/${options.container}${query}`, pipeline)
  return { client, close: () => closeAgents(agents) }
}

async function credentialOf(
  login: AzureLogin,
  options: AzureOptions,
): Promise<StorageSharedKeyCredential | AnonymousCredential | TokenCredential> {
  if (login.kind === 'key') return new StorageSharedKeyCredential(login.account, login.accountKey)
  if (login.kind === 'sas') return new AnonymousCredential()
  return (await import('./identity.ts')).openIdentity(login, options)
}

/** Lets the service check each body: it refuses one that does not fit. It is set before the request is signed. */
const contentMd5: RequestPolicyFactory = {
  create: next => ({
    sendRequest: request => {
      const { body } = request
      if ((Buffer.isBuffer(body) || typeof body === 'string') && body.length > 0) {
        request.headers.set('Content-MD5', createHash('md5').update(body).digest('base64'))
      }
      return next.sendRequest(request)
    },
  }),
}

function closeAgents({ httpAgent, httpsAgent }: StoreAgents): void {
  httpAgent.destroy()
  httpsAgent.destroy()
}
