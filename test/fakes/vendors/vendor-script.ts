import type { JsonObject, JsonValue, RegistrySnapshot } from '../../../src/archive/registry-model.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import type { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { answerRequest } from '../../../src/registry/serve/router.ts'
import type { SeenRequest } from '../http-script.ts'
import '../../../src/lib/json.ts'

export type VendorName = 'confluent' | 'karapace' | 'axonops'

export interface VendorOptions {
  /** What the registry holds. It is taken as it is, also where this vendor would refuse it. */
  start?: RegistrySnapshot
  firstId?: number
  /** What the server reports as its version. */
  version?: string
}

export type VendorRequest = Pick<SeenRequest, 'method' | 'path' | 'query' | 'body'>
export type VendorAnswer = { status?: number; json: JsonValue } | { status?: number; text: string }

/** A registry of one vendor: state, and how it answers. Throws a RegistryFault for what it refuses. */
export interface VendorScript {
  store: RegistryStore
  answer(request: VendorRequest): VendorAnswer
}

/** The answer of the embedded registry, which stands behind every script. */
export function pass(store: RegistryStore, request: VendorRequest, body = request.body): VendorAnswer {
  const search = request.query.size === 0 ? '' : `?${request.query}`
  return answerRequest(store, { method: request.method, target: `${request.path}${search}`, body })
}

export function refuse(errorCode: number, message: string): never {
  throw new RegistryFault(errorCode, message)
}

export function isFlag(query: URLSearchParams, name: string): boolean {
  return query.get(name) === 'true'
}

export function readBody({ body }: VendorRequest): JsonObject {
  const parsed: JsonValue = JSON.parse(body)
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed
  return refuse(422, 'The body is not an object')
}

/** What the work answers, or undefined where the registry refuses it with one of the codes. */
export function unless<T>(codes: readonly number[], work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof RegistryFault && codes.includes(error.errorCode)) return undefined
    throw error
  }
}

/** The same JSON with other members of its objects; numbers keep their digits. */
export function rewriteJson(text: string, rewrite: (object: object) => object): string {
  const keepDigits = (_key: string, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined ? JSON.rawJSON(source) : value
  return JSON.stringify(walk(JSON.parse(text, keepDigits), rewrite))
}

function walk(value: unknown, rewrite: (object: object) => object): unknown {
  if (Array.isArray(value)) return value.map(each => walk(each, rewrite))
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  return Object.fromEntries(Object.entries(rewrite(value)).map(([key, each]) => [key, walk(each, rewrite)]))
}
