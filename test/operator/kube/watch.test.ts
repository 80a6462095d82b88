import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { openKubeClient } from '../../../src/operator/kube/client.ts'
import type { WatchEvent } from '../../../src/operator/kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../../../src/operator/kube/object.ts'
import { readLines } from '../../../src/operator/kube/read-watch.ts'
import { fastClock } from '../../fakes/fast-clock.ts'
import { type KubeScript, sendJson, startKubeScript, statusObject } from '../../fakes/kube-script.ts'

const maps: ResourceKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const open = new AbortController().signal

let server: KubeScript
let answer: (response: ServerResponse) => void | Promise<void>
before(async () => {
  server = await startKubeScript((_, response) => answer(response))
})
after(() => server?.close())

test('a watch requests bookmarks and a timeout, and returns events in order', async () => {
  answer = response => {
    response.write(formatEvent('ADDED', 'a', '5') + formatEvent('MODIFIED', 'a', '6'))
    response.end(formatEvent('BOOKMARK', '', '9') + formatEvent('DELETED', 'a', '10'))
  }
  const { events } = await collect()
  assert.deepEqual(
    events.map(event => [event.type, event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.name]),
    [
      ['ADDED', 'a'],
      ['MODIFIED', 'a'],
      ['BOOKMARK', '9'],
      ['DELETED', 'a'],
    ],
  )
  const asked = new URL(server.calls[0]?.url ?? '', 'https://x')
  assert.equal(asked.pathname, '/api/v1/namespaces/one/configmaps')
  const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '4', timeoutSeconds: '60' }
  assert.deepEqual(Object.fromEntries(asked.searchParams), query)
})

test('parses events regardless of how their bytes are split', async () => {
  const text = formatEvent('ADDED', 'grüße-🚀', '5') + formatEvent('ADDED', 'zwei', '6')
  answer = async response => {
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.of(byte))
      await new Promise(resolve => setImmediate(resolve))
    }
    response.end()
  }
  assert.deepEqual(namesOf(await collect()), ['grüße-🚀', 'zwei'])
})

test('leaves an incomplete line before a clean end to the next watch', async () => {
  answer = response => void response.end(`${formatEvent('ADDED', 'a', '5')}{"type":"ADD`)
  const { events, error } = await collect()
  assert.equal(events.length, 1)
  assert.equal(error, undefined)
})

test('treats an incomplete line before a reset as an unreachable server', async () => {
  answer = response => void response.write(`${formatEvent('ADDED', 'a', '5')}{"ty`, () => response.socket?.destroy())
  const { events, error } = await collect()
  assert.equal(events.length, 1)
  assert.equal(error?.code, 'KUBE_UNREACHABLE')
})

test('reports an expired version as KUBE_GONE, from an event or a response', async () => {
  const expired = statusObject(410, 'Expired', 'too old resource version: 1 (9)')
  answer = response => void response.end(`${JSON.stringify({ type: 'ERROR', object: expired })}\n`)
  const told = await collect()
  answer = response => sendJson(response, 410, expired)
  const answered = await collect()
  for (const { error } of [told, answered]) {
    assert.equal(error?.code, 'KUBE_GONE')
    assert.match(error?.message ?? '', /^cannot watch configmaps in namespace "one": .*too old resource version/)
  }
})

test('a watch that is silent for too long ends as an unreachable server', async () => {
  answer = response => response.flushHeaders()
  const began = systemClock.monotonic()
  const { error } = await collect(open, 100)
  assert.equal(error?.code, 'KUBE_UNREACHABLE')
  assert.match(error?.message ?? '', /no answer within 65000 ms/)
  assert.ok(systemClock.monotonic() - began < 5000)
})

test('bounds the length of a line', async () => {
  const chunks = (async function* () {
    for (;;) yield Buffer.alloc(1000, 'x')
  })()
  await assert.rejects(async () => {
    for await (const line of readLines(chunks, 10_000)) assert.fail(line)
  }, /longer than 10000 bytes/)
})

test('refuses anything that is not a watch event', async () => {
  for (const line of ['nonsense', '{"type":"NEW","object":{"metadata":{"resourceVersion":"1"}}}', '{"type":"ADDED"}']) {
    answer = response => void response.end(`${line}\n`)
    assert.equal((await collect()).error?.code, 'KUBE_PROTOCOL')
  }
})

test('an aborted watch rejects with the reason of its signal, and its connection ends', async () => {
  const stop = new AbortController()
  const closed = Promise.withResolvers<void>()
  answer = response => {
    response.once('close', () => closed.resolve())
    response.write(formatEvent('ADDED', 'a', '5'))
  }
  const api = openKubeClient(server.access)
  const reason = new Error('enough')
  await assert.rejects(
    async () => {
      for await (const _ of api.watch(maps, {}, { resourceVersion: '4', timeoutMs: 60_000 }, stop.signal)) {
        setImmediate(() => stop.abort(reason))
      }
    },
    error => error === reason,
  )
  await closed.promise
  api.close()
})

test('closes the connection of an abandoned watch', async () => {
  const closed = Promise.withResolvers<void>()
  answer = response => {
    response.once('close', () => closed.resolve())
    response.write(formatEvent('ADDED', 'a', '5'))
  }
  const api = openKubeClient(server.access)
  for await (const _ of api.watch(maps, {}, { resourceVersion: '4', timeoutMs: 60_000 }, open)) break
  await closed.promise
  api.close()
})

interface Collected {
  events: WatchEvent<KubeObject>[]
  error: (Error & { code?: string }) | undefined
}

async function collect(signal = open, speed = 1): Promise<Collected> {
  server.calls.length = 0
  const api = openKubeClient(server.access, { clock: speed === 1 ? systemClock : fastClock(speed) })
  const events: WatchEvent<KubeObject>[] = []
  try {
    const from = { resourceVersion: '4', timeoutMs: 60_000 }
    for await (const event of api.watch(maps, { namespace: 'one' }, from, signal)) events.push(event)
    return { events, error: undefined }
  } catch (error) {
    return { events, error: error as Error }
  } finally {
    api.close()
  }
}

function namesOf({ events }: Collected): string[] {
  return events.map(event => (event.type === 'BOOKMARK' ? '' : event.object.metadata.name))
}

function formatEvent(type: string, name: string, resourceVersion: string): string {
  return `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`
}
