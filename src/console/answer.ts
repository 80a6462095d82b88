import type { Html } from './html.ts'

/** What a request gets. */
export interface Answer {
  status: number
  contentType: string
  body: string | Buffer
  headers?: Readonly<Record<string, string>>
}

export function htmlAnswer(page: Html, status = 200): Answer {
  return { status, contentType: 'text/html; charset=utf-8', body: page.toString() }
}

export function jsonAnswer(document: unknown): Answer {
  return { status: 200, contentType: 'application/json', body: JSON.stringify(document) }
}

/** A file to keep: never shown by the browser as a page, whatever it holds. */
export function downloadAnswer(name: string, bytes: Buffer): Answer {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, '_')
  return {
    status: 200,
    contentType: 'application/octet-stream',
    // A copy: the batch that it is a part of would stay in memory until a slow client has taken it.
    body: Buffer.from(bytes),
    headers: { 'content-disposition': `attachment; filename="${plain}"` },
  }
}

/** What goes with every answer. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  'cache-control': 'no-store',
}
