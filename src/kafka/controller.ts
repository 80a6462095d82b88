import type { Cluster } from './cluster.ts'
import type { Api } from './wire/api.ts'

/**
 * Asks the broker that takes changes of topics: the controller, or with KRaft any broker, which passes them on.
 * `waitMs` is how long it may take over them, on top of the usual timeout.
 */
export async function callController<Request, Response>(
  cluster: Cluster,
  api: Api<Request, Response>,
  request: Request,
  waitMs: number,
  signal: AbortSignal,
): Promise<Response> {
  const { controllerId } = await cluster.metadata({ topics: [] }, signal)
  const link = await cluster.link(controllerId, signal)
  return link.call(api, request, signal, { waitMs })
}
