import { renderSchema, renderVersion } from './render.ts'
import type { Call, Route } from './route.ts'
import { readSchemaRequest } from './schema-request.ts'
import { prefixOf } from './schema-routes.ts'

/** Subjects and their versions. */
export const subjectRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/subjects',
    handle: call => ({
      json: call.store.subjects({
        prefix: prefixOf(call, ':*:'),
        including: call.including,
        offset: Math.max(0, call.number('offset', 0)),
        limit: call.number('limit', -1),
      }),
    }),
  },
  {
    method: 'POST',
    path: '/subjects/{subject}',
    handle: call => ({
      json: renderVersion(call.store.lookUp(call.subject, readSchemaRequest(call.body), liveOrAll(call))),
    }),
  },
  {
    method: 'DELETE',
    path: '/subjects/{subject}',
    handle: call => ({ json: call.store.deleteSubject(call.subject, call.flag('permanent')) }),
  },
  {
    method: 'GET',
    path: '/subjects/{subject}/versions',
    handle: call => {
      const isNegative = call.flag('deletedAsNegative')
      const found = call.store.versions(call.subject, isNegative ? 'all' : call.including)
      return { json: found.map(({ version, isDeleted }) => (isNegative && isDeleted ? -version : version)) }
    },
  },
  {
    method: 'POST',
    path: '/subjects/{subject}/versions',
    handle: call => {
      const stored = call.store.register(call.subject, readSchemaRequest(call.body), call.flag('force'))
      return { json: { id: stored.id, version: stored.version, ...renderSchema(stored) } }
    },
  },
  {
    method: 'GET',
    path: '/subjects/{subject}/versions/{version}',
    handle: call => ({ json: renderVersion(call.store.version(call.subject, call.version, liveOrAll(call))) }),
  },
  {
    method: 'GET',
    path: '/subjects/{subject}/versions/{version}/schema',
    handle: call => ({ text: call.store.version(call.subject, call.version, liveOrAll(call)).schema }),
  },
  {
    method: 'GET',
    path: '/subjects/{subject}/versions/{version}/referencedby',
    handle: call => ({ json: call.store.referencedBy(call.subject, call.version, call.including) }),
  },
  {
    method: 'DELETE',
    path: '/subjects/{subject}/versions/{version}',
    handle: call => ({ json: call.store.deleteVersion(call.subject, call.version, call.flag('permanent')) }),
  },
]

function liveOrAll(call: Call): 'live' | 'all' {
  return call.flag('deleted') ? 'all' : 'live'
}
