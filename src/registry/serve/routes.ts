import { splitSubject } from '../../archive/registry-model.ts'
import { schemaTypes } from './parse-schema.ts'
import { type Answer, type Call, type Route, readSchemaRequest, renderSchema, renderVersion } from './route.ts'
import type { StoredVersion } from './version-index.ts'

/** Schemas by id and by guid, and the list of all. */
export const schemaRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/schemas',
    // Without a prefix these are the schemas of the default context alone, unlike the subjects.
    handle: call => ({
      json: call.store
        .schemas({
          prefix: prefixOf(call, ''),
          including: call.including,
          latestOnly: call.flag('latestOnly'),
          offset: Math.max(0, call.number('offset', 0)),
          limit: call.number('limit', -1),
        })
        .map(version => {
          const aliases = call.flag('aliases') ? call.store.aliasesOf(version.subject) : []
          return { ...renderVersion(version), ...(aliases.length > 0 ? { aliases } : {}) }
        }),
    }),
  },
  { method: 'GET', path: '/schemas/types', handle: () => ({ json: [...schemaTypes] }) },
  {
    method: 'GET',
    path: '/schemas/ids/{id}',
    handle: call => {
      const found = call.inFormat(call.store.byId(call.id, call.idSubject))
      const maxId = call.flag('fetchMaxId') ? { maxId: call.store.maxId(splitSubject(found.subject).context) } : {}
      return { json: { ...renderSchema(found), ...maxId } }
    },
  },
  {
    method: 'GET',
    path: '/schemas/ids/{id}/schema',
    handle: call => ({ text: call.inFormat(call.store.byId(call.id, call.idSubject)).schema }),
  },
  {
    method: 'GET',
    path: '/schemas/ids/{id}/subjects',
    handle: call => {
      const found = call.store.versionsOfId(call.id, call.idSubject, call.including)
      return { json: [...new Set(found.map(({ subject }) => subject))] }
    },
  },
  {
    method: 'GET',
    path: '/schemas/ids/{id}/versions',
    handle: call => {
      const found = call.store.versionsOfId(call.id, call.idSubject, call.including)
      return { json: found.map(({ subject, version }) => ({ subject, version })) }
    },
  },
  {
    method: 'GET',
    path: '/schemas/guids/{guid}',
    handle: call => {
      const [found] = call.store.byGuid(call.param('guid'))
      return { json: found ? renderSchema(call.inFormat(found)) : null }
    },
  },
  {
    method: 'GET',
    path: '/schemas/guids/{guid}/ids',
    handle: call => {
      const ids = new Map<string, { context: string; id: number }>()
      for (const { subject, id } of call.store.byGuid(call.param('guid'))) {
        const { context } = splitSubject(subject)
        ids.set(`${id} ${context}`, { context, id })
      }
      return { json: [...ids.values()] }
    },
  },
]

/** A prefix below the path of a context is one of it. */
function prefixOf(call: Call, fallback: string): string {
  const asked = call.query.get('subjectPrefix')
  if (call.context === undefined || asked?.startsWith(':')) return asked ?? fallback
  return `:${call.context}:${asked ?? ''}`
}

/** Configs and modes: of the registry or a context without a subject, else of the subject. */
export const settingsRoutes: readonly Route[] = ['', '/{subject}'].flatMap((end): Route[] => [
  {
    method: 'GET',
    path: `/config${end}`,
    handle: call => ({ json: call.store.config(call.scope, call.flag('defaultToGlobal')) }),
  },
  {
    method: 'PUT',
    path: `/config${end}`,
    handle: call => {
      const { body } = call
      call.store.updateConfig(call.scope, body)
      return { json: body }
    },
  },
  { method: 'DELETE', path: `/config${end}`, handle: call => ({ json: call.store.deleteConfig(call.scope) }) },
  {
    method: 'GET',
    path: `/mode${end}`,
    handle: call => ({ json: { mode: call.store.mode(call.scope, call.flag('defaultToGlobal')) } }),
  },
  {
    method: 'PUT',
    path: `/mode${end}`,
    handle: call => ({ json: { mode: call.store.setMode(call.scope, call.body.mode, call.flag('force')) } }),
  },
  { method: 'DELETE', path: `/mode${end}`, handle: call => ({ json: { mode: call.store.deleteMode(call.scope) } }) },
])

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
    handle: call => ({ json: renderVersion(versionOf(call)) }),
  },
  {
    method: 'GET',
    path: '/subjects/{subject}/versions/{version}/schema',
    handle: call => ({ text: versionOf(call).schema }),
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

function versionOf(call: Call): StoredVersion {
  return call.inFormat(call.store.version(call.subject, call.version, liveOrAll(call)))
}

function liveOrAll(call: Call): 'live' | 'all' {
  return call.flag('deleted') ? 'all' : 'live'
}

/** The version of the Confluent API that this server implements. Clients derive its features from it. */
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
