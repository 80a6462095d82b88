import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { withNotifications } from '../../src/jobs/notify.ts'
import type { Hooks } from '../../src/jobs/parts.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { job } from '../cli/fake-actions.ts'

describe('a backup with webhooks', () => {
  const bodies: Record<string, string>[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(JSON.parse(body))
    response.end()
  })
  let url: string
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  })
  beforeEach(() => {
    bodies.length = 0
  })
  after(() => server.close())

  const run = (work: (hooks: Hooks) => Promise<unknown>, signal = new AbortController().signal) => {
    const webhooks = [{ url, format: 'json' as const, events: ['failure', 'gap'] }]
    return withNotifications({ ...job, monitoring: { webhooks } }, { onProgress: () => undefined }, signal, work)
  }
  const gap = (topic: string): ProgressEvent => ({
    type: 'gap',
    topic,
    partition: 0,
    from: 1n,
    to: 5n,
    reason: 'retention',
  })

  test('posts its failure with the code, and fails as before', async () => {
    const failed = new KafkaBackupError('KAFKA_UNREACHABLE', 'no broker answers')
    await assert.rejects(
      run(async () => Promise.reject(failed)),
      failed,
    )
    assert.deepEqual(
      bodies.map(({ event, backup_id, code, message }) => [event, backup_id, code, message]),
      [['failure', 'orders', 'KAFKA_UNREACHABLE', 'no broker answers']],
    )
  })

  test('posts the gaps of a commit in one message', async () => {
    await run(async ({ onProgress }) => {
      for (const topic of ['a', 'a', 'b']) onProgress(gap(topic))
      onProgress({ type: 'committed', generation: 1, complete: true })
      onProgress(gap('c'))
    })
    assert.deepEqual(
      bodies.map(({ event, message }) => [event, message?.replace(/: the source .* read/, '')]),
      [
        ['gap', '3 new gaps: a (2), b (1)'],
        ['gap', '1 new gap: c (1)'],
      ],
    )
  })

  test('posts nothing if it succeeds, or if it was stopped', async () => {
    assert.equal(await run(async () => 1), 1)
    const stop = AbortSignal.abort(new Error('stopped'))
    await assert.rejects(run(async () => Promise.reject(stop.reason), stop))
    assert.deepEqual(bodies, [])
  })
})
