import { DEFAULT_CONTEXT } from '../archive/registry-model.ts'
import { usageError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'

/** A request of a page, when it was allowed to ask. */
export interface PageRequest {
  /** Decoded parts between the slashes. */
  path: readonly string[]
  /** As it was asked for, without the query. */
  rawPath: string
  query: URLSearchParams
  clock: Clock
  /** Aborted when the client leaves or the time for it is over. */
  signal: AbortSignal
}

const MAX_TARGET_LENGTH = 8192

/** Pure. Undefined where the target of a request is not a path. */
export function parseTarget(target: string): Pick<PageRequest, 'path' | 'rawPath' | 'query'> | undefined {
  if (!target.startsWith('/') || target.length > MAX_TARGET_LENGTH) return undefined
  const at = target.indexOf('?')
  const rawPath = at < 0 ? target : target.slice(0, at)
  const parts = rawPath.slice(1).split('/')
  try {
    const path = parts.map(decodeURIComponent)
    if (path.some(part => part.includes('\0'))) return undefined
    return {
      path: path.length === 1 && path[0] === '' ? [] : path,
      rawPath,
      query: new URLSearchParams(at < 0 ? '' : target.slice(at)),
    }
  } catch {
    return undefined
  }
}

/** A text of the query; undefined where it is not there, or empty as a field of a form. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  return query.get(name) || undefined
}

/** A context of the registry; undefined for the default one. */
export function contextIn(query: URLSearchParams): string | undefined {
  const context = textIn(query, 'context')
  return context === DEFAULT_CONTEXT ? undefined : context
}

const MAX_INT64 = 2n ** 63n - 1n

/** A whole number of the query, from 0 to the largest offset. */
export function bigIn(query: URLSearchParams, name: string): bigint | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= MAX_INT64) return BigInt(text)
  throw usageError(`${name}: ${JSON.stringify(text.slice(0, 40))} is not a whole number from 0 to ${MAX_INT64}`)
}

const TIME = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?)?([Zz]|[+-]\d{2}:\d{2})?$/

/** A time of the query in milliseconds since 1970: that number, or ISO 8601, in UTC unless it has an offset. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  if (/^\d{12,15}$/.test(text)) return Number(text)
  const [, day = '', minutes = '00:00', seconds = ':00', fraction = '', zone = 'Z'] = TIME.exec(text) ?? []
  const ms = Date.parse(`${day}T${minutes}${seconds}${fraction}${zone.toUpperCase()}`)
  // `Date` takes February 30 for March 2.
  if (Number.isFinite(ms) && new Date(Date.parse(`${day}T00:00:00Z`)).toISOString().startsWith(day)) return ms
  throw usageError(`${name}: ${JSON.stringify(text.slice(0, 40))} is not a time such as 2026-01-31T08:00:00Z`)
}

export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = textIn(query, name)
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw usageError(`${name}: ${JSON.stringify(text.slice(0, 40))} is not a number`)
}
