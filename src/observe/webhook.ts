import { KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { sendHttp } from '../lib/http.ts'
import { nodeHttp, nodeHttps } from '../lib/node-http.ts'
import { retry } from '../lib/retry.ts'
import type { Redactor } from './redact.ts'

export interface Webhook {
  url: string
  format: 'json' | 'slack'
  events: readonly string[]
}

/** What happened to a backup. */
export interface Notification {
  event: 'failure' | 'gap' | 'stale'
  backupId: string
  location?: string
  message: string
  /** Of a failure. */
  code?: string
  /** What to do. */
  help?: string
}

const RETRIES = { attempts: 4, baseDelayMs: 1000, maxDelayMs: 10_000 }
const TIMEOUTS = { connectMs: 10_000, requestMs: 20_000 }
const MAX_ANSWER_BYTES = 1 << 20

/** Pure. The body of a message. Every text is redacted: messages of servers may repeat a secret. */
export function formatNotification(
  format: Webhook['format'],
  { event, backupId, location, message, code, help }: Notification,
  { time, version, redactor }: { time: string; version: string; redactor: Redactor },
): string {
  if (format === 'slack') {
    const where = location === undefined ? '' : ` at ${location}`
    const next = help === undefined ? '' : `\n${help}`
    const text = redactor.text(`kafka-backup: ${event} of ${backupId}${where}: ${message}${next}`)
    return JSON.stringify({ text: escapeSlack(text) })
  }
  const document = {
    ...{ source: 'kafka-backup', version, time, event, backup_id: backupId },
    ...(location !== undefined && { location }),
    ...(code !== undefined && { code }),
    message,
    ...(help !== undefined && { help }),
  }
  return JSON.stringify(redactor.value(document))
}

/** Slack reads `<…>` as a link or a mention, such as `<!channel>`. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export interface WebhookParts {
  clock: Clock
  version: string
  redactor: Redactor
  /** ISO 8601. */
  time: string
}

/**
 * Posts to every webhook that wants the event. Answers with a warning for each that failed after its retries: trouble with a
 * message must not change what a backup reports. No warning holds the address, which often is a secret.
 */
export async function notify(
  webhooks: readonly Webhook[],
  notification: Notification,
  parts: WebhookParts,
  signal: AbortSignal,
): Promise<string[]> {
  const wanted = webhooks.filter(({ events }) => events.includes(notification.event))
  const failed = await Promise.all(
    wanted.map(async ({ url, format }) => {
      try {
        await post(url, formatNotification(format, notification, parts), parts.clock, signal)
        return []
      } catch (error) {
        const { host } = new URL(url)
        const why = error instanceof RefusedMessage ? error.message : codeOf(error)
        return [`the ${notification.event} message was not delivered to the webhook at ${host}: ${why}`]
      }
    }),
  )
  return failed.flat()
}

class RefusedMessage extends Error {
  readonly isRetryable: boolean

  constructor(status: number) {
    super(`it answered with status ${status}`)
    this.isRetryable = status === 408 || status === 429 || status >= 500
  }
}

async function post(url: string, body: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const { origin, pathname, search, protocol } = new URL(url)
  const agent = new (protocol === 'https:' ? nodeHttps : nodeHttp).Agent({ keepAlive: false })
  const request = {
    ...{ origin, path: `${pathname}${search}`, method: 'POST', agent, timeouts: TIMEOUTS },
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from(body)],
    maxBytes: MAX_ANSWER_BYTES,
  }
  const send = async () => {
    const { status } = await sendHttp(request, clock, signal)
    if (status < 200 || status > 299) throw new RefusedMessage(status)
  }
  const isRetryable = (error: unknown) => !(error instanceof RefusedMessage) || error.isRetryable
  try {
    await retry(send, RETRIES, { isRetryable, clock }, signal)
  } finally {
    agent.destroy()
  }
}

/** Not the message of the error, which may have the address in it. */
function codeOf(error: unknown): string {
  if (error instanceof KafkaBackupError) return error.code
  // That of an aborted signal is a number.
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'it did not answer'
}
