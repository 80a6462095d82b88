import type { IncomingMessage } from 'node:http'
import type { AzureServer } from '../servers/azurite.ts'
import { type StoreFault, startFaultyStore } from './faulty-store.ts'

/** What a request to the service is, by the name that Azure gives it. */
export type AzureRequest =
  | 'PutBlob'
  | 'PutBlock'
  | 'PutBlockList'
  | 'GetBlob'
  | 'GetBlobProperties'
  | 'DeleteBlob'
  | 'ListBlobs'

export type AzureFault = StoreFault<AzureRequest>

export interface FaultyAzure {
  /** With the account in its path. */
  endpoint: string
  readonly requests: readonly AzureRequest[]
  close(): Promise<void>
}

export async function startFaultyAzure(server: AzureServer, faults: readonly AzureFault[]): Promise<FaultyAzure> {
  const { origin, requests, close } = await startFaultyStore(
    { port: server.port, nameOf, refusal, ignoreCondition },
    faults,
  )
  return { endpoint: `${origin}/${server.account}`, requests, close }
}

function nameOf({ method = '', url = '' }: IncomingMessage): AzureRequest {
  const comp = new URLSearchParams(url.split('?')[1] ?? '').get('comp')
  if (method === 'GET') return comp === 'list' ? 'ListBlobs' : 'GetBlob'
  if (method === 'HEAD') return 'GetBlobProperties'
  if (method === 'DELETE') return 'DeleteBlob'
  if (comp === 'block') return 'PutBlock'
  return comp === 'blocklist' ? 'PutBlockList' : 'PutBlob'
}

function refusal(code: string, message: string): { headers: Record<string, string>; body: string } {
  return {
    headers: { 'content-type': 'application/xml', 'x-ms-error-code': code },
    body: `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  }
}

/** The signature of a key covers the condition; who uses this comes with a SAS token. */
function ignoreCondition(incoming: IncomingMessage): void {
  delete incoming.headers['if-none-match']
}
