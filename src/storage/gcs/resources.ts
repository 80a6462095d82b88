import type { HttpAnswer } from '../../lib/http.ts'
import { numberOf, textOf } from '../../lib/json.ts'
import { ForeignAnswer } from '../request-error.ts'
import type { UploadState } from './api.ts'

interface ObjectResource {
  name: string
  size: number | undefined
  modifiedMs: number
  crc32c: string | undefined
  metadata: Record<string, string | undefined>
  protectedUntilMs: number | undefined
}

/** An object as the JSON API describes it. */
export function parseObject(answer: HttpAnswer): ObjectResource {
  return objectOf(parseResource(answer, 'storage#object'))
}

export function parsePage(answer: HttpAnswer): {
  items: ObjectResource[]
  prefixes: string[]
  next: string | undefined
} {
  const {
    items = [],
    prefixes = [],
    nextPageToken,
  } = parseResource(answer, 'storage#objects') as {
    items?: unknown[]
    prefixes?: string[]
    nextPageToken?: string
  }
  return { items: items.map(objectOf), prefixes, next: nextPageToken || undefined }
}

/** 308 with `Range: bytes=0-41` means that 42 bytes have arrived; without the header none has. */
export function parseState(answer: HttpAnswer): UploadState {
  const { status, headers } = answer
  if (status !== 308) return { isDone: true, crc32c: parseObject(answer).crc32c }
  const last = /^bytes=0-(\d+)$/.exec(String(headers.range ?? ''))?.[1]
  return { isDone: false, persisted: last === undefined ? 0 : Number(last) + 1 }
}

function objectOf(value: unknown): ObjectResource {
  const { name, size, timeCreated, updated, crc32c, metadata, retentionExpirationTime } = value as Record<
    string,
    unknown
  >
  const protectedUntilMs = Date.parse(textOf(retentionExpirationTime))
  return {
    name: textOf(name),
    size: size === undefined ? undefined : numberOf(size),
    modifiedMs: timeOf(timeCreated ?? updated),
    crc32c: typeof crc32c === 'string' ? crc32c : undefined,
    metadata: (metadata ?? {}) as Record<string, string | undefined>,
    protectedUntilMs: Number.isNaN(protectedUntilMs) ? undefined : protectedUntilMs,
  }
}

/** An object without a time counts as just written, so it is never old enough to be swept. */
function timeOf(text: unknown): number {
  const ms = Date.parse(textOf(text))
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms
}

function parseResource({ status, body }: HttpAnswer, kind: string): object {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind) return value
  } catch {
    // Rejected below.
  }
  throw new ForeignAnswer(status, `it is not a ${kind}`)
}

/** The CRC32C of a header `x-goog-hash: crc32c=…,md5=…`, if it has one. */
export function parseHashHeader(header: string | string[] | undefined): string | undefined {
  return /\bcrc32c=([^,\s]+)/.exec(String(header ?? ''))?.[1]
}
