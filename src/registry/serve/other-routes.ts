import type { Answer, Call, Route } from './route.ts'
import { readSchemaRequest } from './schema-request.ts'

/** The version of the Confluent API that is followed, by which clients tell what they may ask for. */
const API_VERSION = '8.0.0'

/** What a registry says of itself, its contexts, and checks of compatibility. */
export const otherRoutes: readonly Route[] = [
  { method: 'GET', path: '/', handle: () => ({ json: {} }) },
  { method: 'GET', path: '/contexts', handle: call => ({ json: call.store.contexts() }) },
  {
    method: 'GET',
    path: '/v1/metadata/version',
    handle: () => ({ json: { version: API_VERSION, commitId: 'kafka-backup' } }),
  },
  {
    method: 'GET',
    path: '/v1/metadata/id',
    handle: () => ({
      json: { scope: { path: [], clusters: { 'schema-registry-cluster': 'kafka-backup' } }, id: '' },
    }),
  },
  {
    method: 'POST',
    path: '/compatibility/subjects/{subject}/versions',
    handle: call => judge(call, undefined),
  },
  {
    method: 'POST',
    path: '/compatibility/subjects/{subject}/versions/{version}',
    handle: call => judge(call, call.version),
  },
]

function judge(call: Call, version: number | undefined): Answer {
  const messages = call.store.incompatibilities(call.subject, readSchemaRequest(call.body), version)
  return { json: { is_compatible: messages.length === 0, ...(call.flag('verbose') ? { messages } : {}) } }
}
