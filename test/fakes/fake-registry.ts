import { joinSubject, splitSubject } from '../../src/archive/registry-model.ts'
import { type HttpScript, type ScriptedAnswer, type SeenRequest, startHttpScript } from './http-script.ts'
import type { Row } from './registry-rows.ts'
import { segmentsOfGo } from './vendors/go-path.ts'

export type Vendor = 'confluent' | 'confluent-7' | 'axonops' | 'karapace' | 'redpanda' | 'apicurio'

export interface FakeRegistryOptions {
  rows?: Row[]
  contexts?: string[]
  /** By subject, `:.context:` for a context; `` for the global one. */
  configs?: Record<string, Record<string, unknown>>
  modes?: Record<string, string>
  maxId?: number
  aliases?: Record<string, string[]>
  /** Apicurio behind a proxy that lets only the Confluent API through. */
  hidesNative?: boolean
  /** Takes the place of parts of what Karapace says of itself. */
  health?: Record<string, unknown>
  /** How many rows a page of `/schemas` has at most; of Apicurio, where `/subjects` ends for good. */
  maxPage?: number
  /** Called before each answer; what it returns takes the place of the answer. */
  before?: (request: SeenRequest, rows: Row[]) => ScriptedAnswer | undefined
}

export interface FakeRegistry extends HttpScript {
  rows: Row[]
  paths(): string[]
}

const karapaceHealth = { status: { schema_registry_ready: true }, karapace_version: '6.2.0', healthy: true }

interface Asked {
  context: string
  parts: string[]
  query: URLSearchParams
}

/**
 * The read side of registries, with the ways in which vendors differ: which lists there are, what their rows lack, what
 * `deleted` means, which settings are answered for everything.
 */
export async function startFakeRegistry(vendor: Vendor, options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
  const rows = options.rows ?? []
  const base = vendor === 'apicurio' ? '/apis/ccompat/v7' : ''
  const script = await startHttpScript(request => {
    const scripted = options.before?.(request, rows)
    if (scripted !== undefined) return scripted
    if (!request.path.startsWith(base)) return answerBeside(vendor, request, rows, options)
    const below = request.path.slice(base.length)
    const parts = vendor === 'axonops' ? segmentsOfGo(below) : below.split('/').slice(1).map(decodeURIComponent)
    const inContext = parts[0] === 'contexts' && parts.length > 1
    const asked = {
      context: inContext ? (parts[1] ?? '.') : '.',
      parts: inContext ? parts.slice(2) : parts,
      query: request.query,
    }
    return answer(vendor, asked, rows, options) ?? missing(vendor, 404, 'HTTP 404 Not Found')
  })
  return { ...script, url: `${script.url}${base}`, rows, paths: () => script.requests.map(({ path }) => path) }
}

function answer(vendor: Vendor, asked: Asked, rows: Row[], options: FakeRegistryOptions): ScriptedAnswer | undefined {
  const [first, second] = asked.parts
  switch (first) {
    case 'subjects':
      return second === undefined ? listSubjects(vendor, asked, rows, options) : ofSubject(vendor, asked, rows)
    case 'schemas':
      return second === 'ids' ? byId(vendor, asked, rows, options) : listSchemas(vendor, asked, rows, options)
    case 'contexts':
      return vendor === 'apicurio'
        ? { json: [':.:'] }
        : hasContexts(vendor)
          ? { json: options.contexts ?? ['.'] }
          : undefined
    case 'config':
      return config(vendor, asked, options)
    case 'mode':
      return mode(vendor, asked, options)
    case 'v1':
      return asked.parts[2] === 'version' ? metadataVersion(vendor) : metadataId(vendor)
    case '_health':
      return vendor === 'karapace' ? { json: { ...karapaceHealth, ...options.health } } : undefined
    case 'status':
      return vendor === 'redpanda' ? { text: '' } : undefined
    default:
      return undefined
  }
}

function hasContexts(vendor: Vendor): boolean {
  return vendor !== 'redpanda' && vendor !== 'karapace'
}

function metadataVersion(vendor: Vendor): ScriptedAnswer | undefined {
  if (vendor === 'confluent') return { json: { version: '8.1.0', commitId: 'abc' } }
  if (vendor === 'confluent-7') return { json: { version: '7.6.0', commitId: 'abc' } }
  if (vendor === 'axonops') return { json: { version: '1.2.0', commit: 'abc', build_time: 'then' } }
  return undefined
}

function metadataId(vendor: Vendor): ScriptedAnswer | undefined {
  if (vendor === 'axonops') return { json: { id: 'axon' } }
  if (vendor === 'confluent' || vendor === 'confluent-7') return { json: { scope: { path: [], clusters: {} }, id: '' } }
  return undefined
}

/** Confluent lists the subjects of all contexts, AxonOps those of one. */
function listSubjects(
  vendor: Vendor,
  { context, query }: Asked,
  rows: Row[],
  { maxPage = 1000 }: FakeRegistryOptions,
): ScriptedAnswer {
  const isOne = vendor === 'axonops' || context !== '.'
  const visible = rows
    .filter(({ subject }) => !isOne || splitSubject(subject).context === context)
    .filter(each => query.get('deleted') === 'true' || !each.deleted)
  const names = visible.map(({ subject }) => (vendor === 'axonops' ? splitSubject(subject).name : subject))
  const all = [...new Set(names)].sort()
  if (vendor === 'axonops' && all.length === 0) return { json: null }
  if (vendor !== 'apicurio') return { json: all }
  return { json: all.slice(0, maxPage) }
}

function ofSubject(vendor: Vendor, { context, parts, query }: Asked, rows: Row[]): ScriptedAnswer {
  const [, name = '', , version] = parts
  const subject = context === '.' ? name : joinSubject({ context, name })
  const withDeleted = query.get('deleted') === 'true'
  const own = rows.filter(each => each.subject === subject && (withDeleted || !each.deleted))
  if (own.length === 0) return missing(vendor, 40401, `Subject '${subject}' not found.`)
  if (version === undefined) return { json: own.map(each => each.version) }
  const found = version === 'latest' ? own.at(-1) : own.find(each => each.version === Number(version))
  if (found === undefined) return missing(vendor, 40402, `Version ${version} not found.`)
  const { deleted: _, ...shown } = found
  if (vendor !== 'axonops') return { json: shown }
  const properties = { ...(shown.metadata?.properties as object), 'confluent:version': String(found.version) }
  return { json: { ...shown, subject: name, metadata: { ...shown.metadata, properties } } }
}

function listSchemas(
  vendor: Vendor,
  { context, query }: Asked,
  rows: Row[],
  { maxPage = 1000, aliases = {} }: FakeRegistryOptions,
): ScriptedAnswer | undefined {
  if (vendor === 'redpanda') return undefined
  if (vendor === 'apicurio') return { json: rows.map(({ schema }) => ({ schema })) }
  const withDeleted = (query.get('deleted') === 'true') !== (vendor === 'karapace')
  const visible = rows
    .filter(({ subject }) => splitSubject(subject).context === context)
    .filter(each => withDeleted || !each.deleted)
    .map(({ deleted, ...each }) => ({
      ...each,
      ...(vendor === 'confluent' && { deleted: deleted ?? false }),
      ...(aliases[each.subject] && { aliases: aliases[each.subject] }),
    }))
  if (vendor === 'karapace') return { json: visible }
  const asked = Number(query.get('limit') ?? maxPage)
  const limit = asked > maxPage ? maxPage : asked
  const offset = Number(query.get('offset') ?? 0)
  return { json: visible.slice(offset, offset + limit) }
}

function byId(
  vendor: Vendor,
  { context, parts, query }: Asked,
  rows: Row[],
  options: FakeRegistryOptions,
): ScriptedAnswer {
  const wanted = (query.get('subject') ?? joinSubject({ context, name: '' })) || '.'
  const scope = wanted === '.' ? '.' : splitSubject(wanted).context
  const ofScope = rows.filter(({ subject }) => splitSubject(subject).context === scope)
  const found = ofScope.find(({ id }) => id === Number(parts[2]))
  if (found === undefined) return missing(vendor, 40403, 'Schema not found')
  if (parts[3] === 'versions') {
    const users = ofScope.filter(({ id }) => id === found.id)
    return { json: users.map(({ subject, version }) => ({ subject, version })) }
  }
  const tellsMax = query.get('fetchMaxId') === 'true' && vendor !== 'redpanda' && vendor !== 'apicurio'
  const maxId = scope === '.' ? options.maxId : undefined
  return {
    json: { schema: found.schema, ...(tellsMax && { maxId: maxId ?? Math.max(...ofScope.map(({ id }) => id)) }) },
  }
}

function config(vendor: Vendor, { context, parts }: Asked, { configs = {} }: FakeRegistryOptions): ScriptedAnswer {
  const subject = subjectOf(context, parts[1])
  const found = configs[subject]
  if (found) return { json: found }
  if (subject === '' || isFaked(vendor, subject)) return { json: { compatibilityLevel: 'BACKWARD' } }
  if (vendor === 'apicurio') return { json: { compatibilityLevel: 'NONE' } }
  return missing(vendor, 40408, `Subject '${subject}' does not have subject-level compatibility configured`)
}

function mode(vendor: Vendor, { context, parts }: Asked, { modes = {} }: FakeRegistryOptions): ScriptedAnswer {
  const subject = subjectOf(context, parts[1])
  const found = modes[subject]
  if (vendor === 'karapace') return { json: { mode: 'READWRITE' } }
  if (found) return { json: { mode: found } }
  if (isFaked(vendor, subject)) return { json: { mode: 'READWRITE' } }
  if (subject === '' || vendor === 'apicurio') return { json: { mode: modes[''] ?? 'READWRITE' } }
  return missing(vendor, 40409, `Subject '${subject}' does not have subject-level mode configured`)
}

/** AxonOps has settings for every context, whether they are set or not. */
function isFaked(vendor: Vendor, subject: string): boolean {
  return vendor === 'axonops' && /^:\.[^:]*:$/.test(subject)
}

function subjectOf(context: string, name = ''): string {
  return context === '.' ? name : joinSubject({ context, name })
}

/** Apicurio's own API. */
function answerBeside(
  vendor: Vendor,
  { path, query }: SeenRequest,
  rows: Row[],
  { configs = {}, hidesNative }: FakeRegistryOptions,
): ScriptedAnswer {
  const absent = { status: 404, json: { status: 404, name: 'NotFound' } }
  if (vendor !== 'apicurio' || hidesNative) return { status: 404, text: 'not found' }
  if (path === '/apis/registry/v3/system/info') return { json: { name: 'Apicurio Registry (SQL)', version: '3.0.9' } }
  const [, artifact, rest] = /^\/apis\/registry\/v3\/groups\/default\/artifacts(?:\/([^/]+)\/(.+))?$/.exec(path) ?? []
  if (!path.startsWith('/apis/registry/v3/groups/default/artifacts')) return absent
  if (artifact === undefined) {
    const offset = Number(query.get('offset'))
    const names = [...new Set(rows.map(({ subject }) => subject))].map(artifactId => ({
      artifactId,
      artifactType: 'AVRO',
    }))
    const all = [{ artifactId: 'an-api', artifactType: 'OPENAPI' }, ...names]
    return { json: { artifacts: all.slice(offset, offset + Number(query.get('limit'))), count: all.length } }
  }
  const subject = decodeURIComponent(artifact)
  if (rest === 'rules') return { json: configs[subject] ? ['COMPATIBILITY'] : [] }
  const found = rows.find(each => each.subject === subject && rest === `versions/${each.version}`)
  return found ? { json: { contentId: found.id, globalId: found.id + 1000 } } : absent
}

function missing(vendor: Vendor, errorCode: number, message: string): ScriptedAnswer {
  if (errorCode === 404 && vendor === 'axonops') return { status: 404, text: '404 page not found' }
  return { status: 404, json: { error_code: errorCode, message } }
}
