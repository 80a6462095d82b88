import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { openGcsStorage } from '../../src/storage/gcs/gcs-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'

const never = new AbortController().signal
const MiB = 2 ** 20

/** A store whose uploads are gone from the given request on, and which has no objects. */
async function withForgetfulStore(forgetsFrom: number, work: (storage: Storage) => Promise<void>): Promise<void> {
  let received = 0
  let parts = 0
  const server = createServer(async (incoming, answer) => {
    let bytes = 0
    for await (const chunk of incoming as AsyncIterable<Buffer>) bytes += chunk.length
    if (incoming.method === 'POST') {
      answer.writeHead(200, { location: '/upload/storage/v1/b/bkt/o?upload_id=u1' }).end()
    } else if (incoming.method === 'PUT' && parts++ < forgetsFrom) {
      received += bytes
      answer.writeHead(308, { range: `bytes=0-${received - 1}` }).end()
    } else answer.writeHead(incoming.method === 'PUT' ? 410 : 404).end('{"error":{"message":"Not Found"}}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const retryPolicy = { attempts: 1, baseDelayMs: 0, maxDelayMs: 0 }
  const storage = openGcsStorage({ bucket: 'bkt', endpoint, anonymous: true, partSizeBytes: MiB }, { retryPolicy })
  try {
    await work(storage)
  } finally {
    await storage.close()
    server.close()
    server.closeAllConnections()
  }
}

/** Google ends uploads now and then, and asks for new ones: a backup that goes on has to try again, not to give up. */
describe('an upload that the store has forgotten', () => {
  const forgotten = { code: 'STORAGE_UNAVAILABLE', retryable: true, message: /no longer knows the upload/ }

  test('in its midst is a failure that passes', () =>
    withForgetfulStore(1, async storage => {
      const writer = await storage.openWriter('large', never)
      const rejected = async () => {
        await writer.write([Buffer.alloc(5 * MiB)], never)
        await writer.commit(never)
      }
      await assert.rejects(rejected(), forgotten)
    }))

  test('at its end is one too', () =>
    withForgetfulStore(2, async storage => {
      const writer = await storage.openWriter('large', never)
      await writer.write([Buffer.alloc(2 * MiB + 10)], never)
      await assert.rejects(writer.commit(never), forgotten)
    }))
})
