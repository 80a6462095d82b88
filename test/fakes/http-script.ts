import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  method: string
  /** As it came, encoded, without the query. */
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: string
}

/** `reset` cuts the connection, `hang` never answers, `cutAfter` cuts it after what was written of the body. */
export type ScriptedAnswer =
  | { status?: number; json?: unknown; text?: string; headers?: Record<string, string>; cutAfter?: boolean }
  | 'reset'
  | 'hang'

export interface HttpScript {
  url: string
  readonly requests: readonly SeenRequest[]
  /** Requests under way at the same time, at most. */
  readonly mostAtOnce: () => number
  close(): Promise<void>
}

/** A server of 127.0.0.1 that answers as the function says. */
export async function startHttpScript(
  answer: (request: SeenRequest) => ScriptedAnswer | Promise<ScriptedAnswer>,
): Promise<HttpScript> {
  const requests: SeenRequest[] = []
  let now = 0
  let most = 0
  const server = createServer(async (incoming, response) => {
    most = Math.max(most, ++now)
    let body = ''
    for await (const chunk of incoming) body += chunk
    const [path = '', search = ''] = (incoming.url ?? '').split('?')
    const { method = '', headers } = incoming
    const seen = { method, path, query: new URLSearchParams(search), headers, body }
    requests.push(seen)
    const scripted = await answer(seen)
    now--
    if (scripted === 'hang') return
    if (scripted === 'reset') {
      incoming.socket.destroy()
      return
    }
    const { status = 200, json, text } = scripted
    const type = json === undefined ? 'text/plain' : 'application/vnd.schemaregistry.v1+json'
    response.writeHead(status, { 'content-type': type, ...scripted.headers })
    if (scripted.cutAfter) response.write(text ?? '', () => incoming.socket.destroy())
    else response.end(json === undefined ? text : JSON.stringify(json))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    mostAtOnce: () => most,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
