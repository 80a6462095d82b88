import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { systemClock } from '../../src/lib/clock.ts'
import { Redactor } from '../../src/observe/redact.ts'
import { formatNotification, type Notification, notify, type Webhook } from '../../src/observe/webhook.ts'

const notification: Notification = {
  event: 'failure',
  backupId: 'orders',
  location: 's3://backups/kafka',
  code: 'KAFKA_AUTH',
  message: 'the login of backup with hunter2-secret was refused',
  help: 'Check the password.',
}

describe('webhooks', () => {
  const answers: number[] = []
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    response.writeHead(answers.shift() ?? 200).end('ok')
  })
  let url: string
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/secret-path`
  })
  beforeEach(() => {
    answers.length = 0
    bodies.length = 0
  })
  after(() => server.close())

  const parts = () => ({
    clock: { ...systemClock, sleep: async () => undefined },
    version: '0.1.0',
    time: '2026-01-01T00:00:00.000Z',
    redactor: new Redactor(['hunter2-secret']),
  })
  const send = (more: Partial<Webhook> = {}, about = notification) =>
    notify(
      [{ url, format: 'json', events: ['failure', 'gap', 'stale'], ...more }],
      about,
      parts(),
      AbortSignal.timeout(60_000),
    )

  test('post all fields as JSON, without secrets', async () => {
    assert.deepEqual(await send(), [])
    assert.deepEqual(
      bodies.map(body => JSON.parse(body)),
      [
        {
          source: 'kafka-backup',
          version: '0.1.0',
          time: '2026-01-01T00:00:00.000Z',
          event: 'failure',
          backup_id: 'orders',
          location: 's3://backups/kafka',
          code: 'KAFKA_AUTH',
          message: 'the login of backup with [redacted] was refused',
          help: 'Check the password.',
        },
      ],
    )
  })

  test('post a text that Slack shows', async () => {
    await send({ format: 'slack' })
    assert.deepEqual(
      bodies.map(body => Object.keys(JSON.parse(body))),
      [['text']],
    )
    assert.match(bodies[0] ?? '', /failure of orders at s3:\/\/backups\/kafka: the login/)
    assert.doesNotMatch(formatNotification('slack', notification, parts()), /hunter2/)
    const hostile = { ...notification, message: 'topic <!channel> & <https://x|y>' }
    const { text } = JSON.parse(formatNotification('slack', hostile, parts()))
    assert.match(text, /topic &lt;!channel&gt; &amp; &lt;https:\/\/x\|y&gt;/, 'no mention and no link')
  })

  test('try again after a failure of the server, and not after a refusal', async () => {
    answers.push(503, 429, 200)
    assert.deepEqual(await send(), [])
    assert.equal(bodies.length, 3)
    answers.push(404)
    const [warning] = await send()
    assert.match(
      warning ?? '',
      /failure message was not delivered to the webhook at 127\.0\.0\.1:\d+: it answered with status 404/,
    )
    assert.equal(bodies.length, 4)
  })

  test('that stay away give a warning without their address, after four tries', async () => {
    answers.push(500, 500, 500, 500)
    const [warning] = await send()
    assert.match(warning ?? '', /status 500/)
    assert.doesNotMatch(warning ?? '', /secret-path/)
    assert.equal(bodies.length, 4)
    const [refused] = await send({ url: 'http://127.0.0.1:1/secret-path' })
    assert.match(refused ?? '', /ECONNREFUSED/)
    assert.doesNotMatch(refused ?? '', /secret-path/)
  })

  test('that never answer are named as such, not by the number of a timeout', async () => {
    const webhooks: Webhook[] = [{ url, format: 'json', events: ['failure'] }]
    const late = AbortSignal.abort(new DOMException('timed out', 'TimeoutError'))
    const [warning] = await notify(webhooks, notification, parts(), late)
    assert.match(warning ?? '', /: it did not answer$/)
  })

  test('get only the events that they want', async () => {
    assert.deepEqual(await send({ events: ['gap'] }), [])
    assert.deepEqual(bodies, [])
  })
})
