import { splitSubject } from '../../archive/registry-model.ts'
import { schemaTypes } from './parse-schema.ts'
import { renderSchema, renderVersion } from './render.ts'
import type { Call, Route } from './route.ts'

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
      const found = call.store.byId(call.id, call.idSubject)
      const maxId = call.flag('fetchMaxId') ? { maxId: call.store.maxId(splitSubject(found.subject).context) } : {}
      return { json: { ...renderSchema(found), ...maxId } }
    },
  },
  {
    method: 'GET',
    path: '/schemas/ids/{id}/schema',
    handle: call => ({ text: call.store.byId(call.id, call.idSubject).schema }),
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
      return { json: found ? renderSchema(found) : null }
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
export function prefixOf(call: Call, fallback: string): string {
  const asked = call.query.get('subjectPrefix')
  if (call.context === undefined || asked?.startsWith(':')) return asked ?? fallback
  return `:${call.context}:${asked ?? ''}`
}
