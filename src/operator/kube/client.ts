import { systemClock } from '../../lib/clock.ts'
import type { KubeCredentials } from './credentials.ts'
import type { KubeApi } from './kube-api.ts'
import { listPages } from './list-pages.ts'
import { refOf } from './object.ts'
import { planApply, planCreate, planMetadata, planObject, planRemove, planWatch } from './plan-request.ts'
import { readWatch } from './read-watch.ts'
import { type KubeRequest, openTransport, type TransportOptions } from './transport.ts'

export interface KubeClient extends KubeApi {
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
    close: () => transport.close(),
  }
}
