import { RegistryFault } from './registry-fault.ts'
import type { RegistryStore } from './registry-store.ts'
import { type Answer, Call, type Route } from './route.ts'
import { otherRoutes, schemaRoutes, settingsRoutes, subjectRoutes } from './routes.ts'

/** All that is answered, which docs/registry-server.md lists. */
export const routes = [...otherRoutes, ...schemaRoutes, ...subjectRoutes, ...settingsRoutes].map(route => ({
  ...route,
  pattern: route.path.split('/').slice(1),
}))

interface RegistryRequest {
  method: string
  /** Path and query, still percent-encoded. */
  target: string
  body: string
}

/** Answers a request of the Confluent API from a store. Throws a RegistryFault for what it refuses. */
export function answerRequest(store: RegistryStore, { method, target, body }: RegistryRequest): Answer {
  const [path = '/', search = ''] = splitAt(target, '?')
  const { context, segments } = takeContext(path.split('/').slice(1).map(decode))
  const matching = routes.filter(({ pattern }) => isMatch(pattern, segments))
  if (matching.length === 0) throw new RegistryFault(404, 'HTTP 404 Not Found')
  const route = matching.find(each => each.method === method)
  if (!route) throw new RegistryFault(405, 'HTTP 405 Method Not Allowed')
  const query = new URLSearchParams(search)
  return route.handle(new Call({ store, params: paramsOf(route, segments), query, body, context }))
}

/** `/contexts/.one/subjects` is `/subjects` of the context `.one`. A slash at the end says nothing. */
function takeContext(segments: string[]): { context: string | undefined; segments: string[] } {
  const [first, context = '', ...rest] = segments
  if (first !== 'contexts' || rest.length === 0) return { context: undefined, segments: trim(segments) }
  const name = context.replace(/^:|:$/g, '')
  return { context: name.startsWith('.') ? name : `.${name}`, segments: trim(rest) }
}

/** The empty subject is a segment of its own within a path: `/subjects//versions`. */
function trim(segments: string[]): string[] {
  return segments.length > 1 && segments.at(-1) === '' ? segments.slice(0, -1) : segments
}

function isMatch(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length && pattern.every((part, at) => part.startsWith('{') || part === segments[at])
  )
}

function paramsOf({ pattern }: Route & { pattern: string[] }, segments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pattern.flatMap((part, at) => (part.startsWith('{') ? [[part.slice(1, -1), segments[at] ?? '']] : [])),
  )
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new RegistryFault(400, `HTTP 400 Bad Request: ${segment} is not percent-encoded UTF-8`)
  }
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
