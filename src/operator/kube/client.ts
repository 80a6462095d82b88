import { systemClock } from '../../lib/clock.ts'
import type { KubeCredentials } from './credentials.ts'
import type { KubeApi } from './kube-api.ts'
import { classifyFailure } from './kube-error.ts'
import { listPages } from './list-pages.ts'
import { type ObjectRef, refOf } from './object.ts'
import { planApply, planCreate, planLog, planMetadata, planObject, planRemove, planWatch } from './plan-request.ts'
import { readWatch } from './read-watch.ts'
import { type KubeRequest, openTransport, type Transport, type TransportOptions } from './transport.ts'

export interface LogScope {
  container: string
  follow: boolean
  /** The last lines only. */
  tailLines?: number
}

export interface KubeClient extends KubeApi {
  /** The log of a container of a pod. Ends with the container, or now without `follow`. */
  logs(pod: ObjectRef, scope: LogScope, signal: AbortSignal): AsyncIterable<Buffer>
  close(): void
}

export function openKubeClient(access: KubeCredentials, options: TransportOptions = {}): KubeClient {
  const { clock = systemClock } = options
  const transport = openTransport(access, options)
  const send = async <T>(request: KubeRequest, signal: AbortSignal) => (await transport.send(request, signal)) as T
  return {
    get: (kind, ref, signal) => send(planObject('GET', 'get', kind, ref), signal),
    getMetadata: (kind, ref, signal) => send(planMetadata(kind, ref), signal),
    list: (kind, scope, signal) => listPages(transport, kind, scope, signal),
    watch: (kind, scope, from, signal) =>
      readWatch(transport, planWatch(kind, scope, from), from.timeoutMs, clock, signal),
    create: (kind, object, signal) => send(planCreate(kind, object), signal),
    replace: (kind, object, signal) =>
      send({ ...planObject('PUT', 'update', kind, refOf(object)), body: object }, signal),
    apply: (kind, object, how, signal) => send(planApply(kind, object, how, ''), signal),
    applyStatus: (kind, object, how, signal) => send(planApply(kind, object, how, '/status'), signal),
    remove: async (kind, ref, how, signal) => {
      await send(planRemove(kind, ref, how), signal)
    },
    logs: (pod, scope, signal) => readLog(transport, planLog(pod, scope), signal),
    close: () => transport.close(),
  }
}

async function* readLog(transport: Transport, request: KubeRequest, signal: AbortSignal): AsyncGenerator<Buffer> {
  const response = await transport.open(request, signal)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw classifyFailure(error, request.where)
  } finally {
    response.destroy()
  }
}
