import { randomBytes } from 'node:crypto'
import { crc32c } from '@node-rs/crc32'
import { formatSum } from '../../src/storage/bucket/api.ts'
import { parseHashHeader } from '../../src/storage/gcs/resources.ts'

export interface SessionRequest {
  method: string
  /** Path and query. */
  url: string
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface SessionAnswer {
  status: number
  headers?: Record<string, string>
  body?: Buffer
}

interface Session {
  url: URL
  resource: Record<string, unknown>
  bytes: Buffer
  done?: SessionAnswer
}

const unit = 256 * 1024

/**
 * Resumable uploads as Cloud Storage documents them: bytes only where the last ones ended, parts of multiples of 256 KiB,
 * a question for the state that changes nothing, a checksum that must fit, and an object only in the end. The object goes
 * to the server in one request, under the condition that the upload was begun with.
 */
export class GcsSessions {
  readonly #sessions = new Map<string, Session>()
  readonly #publish: (request: SessionRequest) => Promise<SessionAnswer>

  constructor(publish: (request: SessionRequest) => Promise<SessionAnswer>) {
    this.#publish = publish
  }

  /** Sessions that were neither finished nor cancelled. */
  get open(): number {
    return [...this.#sessions.values()].filter(({ done }) => done === undefined).length
  }

  begin({ url, body }: SessionRequest): SessionAnswer {
    const id = randomBytes(8).toString('hex')
    this.#sessions.set(id, {
      url: new URL(url, 'http://x'),
      resource: JSON.parse(body.toString()),
      bytes: body.subarray(0, 0),
    })
    // Of another host than the one that was asked, as on Google's private ways.
    const location = `https://elsewhere.invalid/upload/storage/v1/b/x/o?uploadType=resumable&upload_id=${id}`
    return { status: 200, headers: { location } }
  }

  /** `takenBytes` is how much is kept of what came; all of it where it is not given. */
  async put({ url, headers, body }: SessionRequest, takenBytes = body.length): Promise<SessionAnswer> {
    const session = this.#find(url)
    if (session === undefined) return refusal(404, 'notFound')
    if (session.done !== undefined) return session.done
    const range = /^bytes (\*|(\d+)-(\d+))\/(\*|\d+)$/.exec(String(headers['content-range']))
    if (range === null) return refusal(400, 'invalid')
    const [, what, first, last, total] = range
    if (what !== '*' && (Number(first) !== session.bytes.length || Number(last) - Number(first) + 1 !== body.length)) {
      return refusal(400, 'invalid')
    }
    if (total === '*' && body.length % unit !== 0) return refusal(400, 'invalid')
    const kept = takenBytes - (takenBytes < body.length ? takenBytes % unit : 0)
    session.bytes = Buffer.concat([session.bytes, body.subarray(0, kept)])
    if (total !== String(session.bytes.length)) return progress(session)
    return this.#finish(url, session, parseHashHeader(headers['x-goog-hash']))
  }

  cancel({ url }: SessionRequest): SessionAnswer {
    this.#sessions.delete(idOf(url))
    return { status: 499 }
  }

  async #finish(url: string, session: Session, declared: string | undefined): Promise<SessionAnswer> {
    const sum = formatSum(crc32c(session.bytes))
    if (declared !== sum) return refusal(400, 'invalid')
    const resource = JSON.stringify({ ...session.resource, crc32c: sum })
    const query = new URLSearchParams({ ...Object.fromEntries(session.url.searchParams), uploadType: 'multipart' })
    const body = Buffer.concat([
      Buffer.from(`--x7\r\ncontent-type: application/json\r\n\r\n${resource}\r\n--x7\r\n\r\n`),
      session.bytes,
      Buffer.from('\r\n--x7--\r\n'),
    ])
    const headers = { 'content-type': 'multipart/related; boundary=x7', 'content-length': String(body.length) }
    const answer = await this.#publish({ method: 'POST', url: `${session.url.pathname}?${query}`, headers, body })
    if (answer.status === 200) session.done = answer
    else this.#sessions.delete(idOf(url))
    return answer
  }

  #find(url: string): Session | undefined {
    return this.#sessions.get(idOf(url))
  }
}

function idOf(url: string): string {
  return new URL(url, 'http://x').searchParams.get('upload_id') ?? ''
}

function progress({ bytes }: Session): SessionAnswer {
  return { status: 308, headers: bytes.length === 0 ? {} : { range: `bytes=0-${bytes.length - 1}` } }
}

export function refusal(status: number, reason: string, message = 'scripted fault'): SessionAnswer {
  const error = { code: status, message, errors: [{ domain: 'global', reason, message }] }
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify({ error })) }
}
