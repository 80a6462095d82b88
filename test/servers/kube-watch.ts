import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeConnection } from './kube-connection.ts'
import type { KubeObject } from './kube-object.ts'

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  object: KubeObject
}

interface RawEvent {
  type: WatchEvent['type'] | 'ERROR' | 'BOOKMARK'
  object: KubeObject
}

const retryMs = 100

/**
 * Lists, then follows. Each new connection lists again and tells of everything as ADDED, so a follower must take
 * what it knows already; what vanished while nobody followed is told as DELETED.
 */
export async function watchKind(
  connection: KubeConnection,
  path: string,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, KubeObject>()
  const tell = (event: WatchEvent) => {
    const uid = event.object.metadata.uid ?? ''
    if (event.type === 'DELETED') known.delete(uid)
    else known.set(uid, event.object)
    onEvent(event)
  }
  while (!signal.aborted) {
    try {
      const version = await listAll(connection, path, known, tell, signal)
      await follow(connection, `${path}&watch=true&resourceVersion=${version}`, tell, signal)
    } catch {
      if (!signal.aborted) await sleep(retryMs)
    }
  }
}

async function listAll(
  connection: KubeConnection,
  path: string,
  known: Map<string, KubeObject>,
  tell: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<string> {
  const list = (await connection.send({ method: 'GET', path, signal })) as {
    metadata: { resourceVersion: string }
    items: KubeObject[]
  }
  const present = new Set(list.items.map(item => item.metadata.uid ?? ''))
  for (const [uid, object] of known) if (!present.has(uid)) tell({ type: 'DELETED', object })
  for (const object of list.items) tell({ type: 'ADDED', object })
  return list.metadata.resourceVersion
}

async function follow(
  connection: KubeConnection,
  path: string,
  tell: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await connection.stream({ method: 'GET', path, signal })
  for await (const line of readLines(response)) {
    const event = JSON.parse(line) as RawEvent
    // The version asked for is too old, or the server is about to go: list again.
    if (event.type === 'ERROR') return
    if (event.type !== 'BOOKMARK') tell({ type: event.type, object: event.object })
  }
}

async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
