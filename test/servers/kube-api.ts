import { setTimeout as sleep } from 'node:timers/promises'
import { type KubeCredentials, KubeError, openKubeConnection } from './kube-connection.ts'
import { openResourcePaths } from './kube-discovery.ts'
import { type KindRef, type KubeObject, type ObjectRef, refOf } from './kube-object.ts'
import { type WatchEvent, watchKind } from './kube-watch.ts'

export interface Selector {
  labelSelector?: string
  fieldSelector?: string
}

export interface PatchOptions {
  /** `merge` when nothing is said. */
  type?: 'merge' | 'json' | 'strategic-merge'
  subresource?: string
}

export interface KubeApi {
  /** Any request: the path with its query. */
  request(method: string, path: string, body?: unknown, contentType?: string): Promise<unknown>
  get<T extends KubeObject = KubeObject>(ref: ObjectRef): Promise<T>
  /** Undefined where there is none. */
  find<T extends KubeObject = KubeObject>(ref: ObjectRef): Promise<T | undefined>
  list<T extends KubeObject = KubeObject>(kind: KindRef, selector?: Selector): Promise<T[]>
  create<T extends KubeObject = KubeObject>(object: KubeObject): Promise<T>
  /** POST to a part of an object, such as `binding` or `token`. */
  createSub(ref: ObjectRef, subresource: string, object: unknown): Promise<unknown>
  /** Server-side apply, taking over what others own. */
  apply<T extends KubeObject = KubeObject>(object: KubeObject, fieldManager?: string, subresource?: string): Promise<T>
  /** The same without keeping it; fields that the server does not know are refused. */
  applyDry<T extends KubeObject = KubeObject>(object: KubeObject): Promise<T>
  patch<T extends KubeObject = KubeObject>(ref: ObjectRef, patch: unknown, options?: PatchOptions): Promise<T>
  delete(ref: ObjectRef, options?: { propagationPolicy?: string; gracePeriodSeconds?: number }): Promise<void>
  /** The object once it passes the check; an error that shows the last state after the time. */
  wait<T extends KubeObject = KubeObject>(ref: ObjectRef, check: (object: T) => boolean, timeoutMs?: number): Promise<T>
  waitGone(ref: ObjectRef, timeoutMs?: number): Promise<void>
  /** Gives what is there as ADDED, then every change, until the signal; lost connections are made again. */
  watch(kind: KindRef, selector: Selector, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>
  close(): void
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
}
const waitTimeoutMs = 60_000
const pollMs = 50

/** The API as a test wants it: objects in, objects out, refusals as `KubeError`. Kinds are found by discovery. */
export function openKubeApi(credentials: KubeCredentials): KubeApi {
  const connection = openKubeConnection(credentials)
  const send = (method: string, path: string, body?: unknown, contentType = 'application/json') =>
    connection.send({ method, path, body, contentType })
  const paths = openResourcePaths(path => send('GET', path))
  const get = async (ref: ObjectRef) => (await send('GET', await paths.ofObject(ref))) as KubeObject
  const find = (ref: ObjectRef) => get(ref).catch(undefinedIfGone)
  const api = {
    request: send,
    get,
    find,
    list: async (kind: KindRef, selector: Selector = {}) => {
      const found = (await send('GET', `${await paths.ofKind(kind)}?${formatQuery(selector)}`)) as ItemList
      return found.items.map(item => ({ ...item, apiVersion: kind.apiVersion, kind: kind.kind }))
    },
    create: async (object: KubeObject) => send('POST', await paths.ofKind({ ...refOf(object) }), object),
    createSub: async (ref: ObjectRef, subresource: string, object: unknown) =>
      send('POST', `${await paths.ofObject(ref)}/${subresource}`, object),
    apply: async (object: KubeObject, fieldManager = 'test', subresource?: string) => {
      const path = `${await paths.ofObject(refOf(object))}${subresource ? `/${subresource}` : ''}`
      return send('PATCH', `${path}?${formatQuery({ fieldManager, force: 'true' })}`, object, applyType)
    },
    applyDry: async (object: KubeObject) => {
      const query = formatQuery({ fieldManager: 'test', force: 'true', dryRun: 'All', fieldValidation: 'Strict' })
      return send('PATCH', `${await paths.ofObject(refOf(object))}?${query}`, object, applyType)
    },
    patch: async (ref: ObjectRef, patch: unknown, { type = 'merge', subresource }: PatchOptions = {}) =>
      send('PATCH', `${await paths.ofObject(ref)}${subresource ? `/${subresource}` : ''}`, patch, patchTypes[type]),
    delete: async (ref: ObjectRef, options: object = {}) => {
      await send('DELETE', await paths.ofObject(ref), { apiVersion: 'v1', kind: 'DeleteOptions', ...options })
    },
    wait: (ref: ObjectRef, check: (object: KubeObject) => boolean, timeoutMs = waitTimeoutMs) =>
      poll(
        ref,
        () => find(ref),
        object => object !== undefined && check(object),
        timeoutMs,
      ),
    waitGone: (ref: ObjectRef, timeoutMs = waitTimeoutMs) =>
      poll(
        ref,
        () => find(ref),
        object => object === undefined,
        timeoutMs,
      ),
    watch: async (kind: KindRef, selector: Selector, onEvent: (event: WatchEvent) => void, signal: AbortSignal) =>
      watchKind(connection, `${await paths.ofKind(kind)}?${formatQuery(selector)}`, onEvent, signal),
    close: () => connection.close(),
  }
  return api as KubeApi
}

interface ItemList {
  items: KubeObject[]
}

/** JSON is YAML. */
const applyType = 'application/apply-patch+yaml'

function formatQuery(values: object): string {
  return new URLSearchParams(values as Record<string, string>).toString()
}

function undefinedIfGone(error: unknown): undefined {
  if (error instanceof KubeError && error.status === 404) return undefined
  throw error
}

async function poll(
  ref: ObjectRef,
  read: () => Promise<KubeObject | undefined>,
  check: (object: KubeObject | undefined) => boolean,
  timeoutMs: number,
): Promise<KubeObject | undefined> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const object = await read()
    if (check(object)) return object
    if (Date.now() > deadline) {
      const seen = object === undefined ? 'it is not there' : JSON.stringify(object.status ?? object)
      throw new Error(`${ref.kind} ${ref.namespace ?? ''}/${ref.name} is not as expected in ${timeoutMs} ms: ${seen}`)
    }
    await sleep(pollMs)
  }
}
