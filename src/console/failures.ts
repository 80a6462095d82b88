import { KafkaBackupError } from '../errors.ts'
import { type Answer, htmlAnswer } from './answer.ts'
import { showProblem } from './pages/layout.ts'
import type { Refusal } from './request-gate.ts'
import { OutOfTime } from './request-limits.ts'

const titles: Readonly<Record<number, string>> = {
  400: 'This question is not understood',
  404: 'Not found',
  422: 'This backup cannot be read',
  500: 'This page could not be made',
  502: 'The storage does not answer',
  503: 'Too many requests at once',
  504: 'This took too long',
}

/** Codes that are about the request. Those of the storage get 502, and all others are about what is in the backup. */
const statuses: Readonly<Partial<Record<KafkaBackupError['code'], number>>> = {
  USAGE: 400,
  BACKUP_NOT_FOUND: 404,
  TOPIC_NOT_FOUND: 404,
  GENERATION_NOT_FOUND: 404,
  BACKUP_PRUNED: 404,
  SCHEMAS_NOT_FOUND: 404,
  LOCATION_INVALID: 404,
  INTERNAL: 500,
}

/** Pure. The page for an error, and whether it is worth a line of the log. */
export function answerFailure(
  error: unknown,
  { atMs, redact }: { atMs: number; redact: (text: string) => string },
): { answer: Answer; isOwnFault: boolean } {
  if (error instanceof OutOfTime) return { answer: problem(504, atMs, error.message), isOwnFault: false }
  if (!(error instanceof KafkaBackupError)) {
    // What is inside an unexpected error is not for the reader of a page.
    return { answer: problem(500, atMs, 'The log of the console has the reason.'), isOwnFault: true }
  }
  const status = statuses[error.code] ?? (error.code.startsWith('STORAGE_') ? 502 : 422)
  const answer = problem(status, atMs, `${error.code}: ${redact(error.message)}`, redact(error.help ?? ''))
  return { answer, isOwnFault: status >= 500 }
}

export function notFound(atMs: number): Answer {
  return problem(404, atMs, 'The console has no page at this address.')
}

export function busy(atMs: number): Answer {
  const answer = problem(503, atMs, 'The console works on as many requests as it may. Try again in some seconds.')
  return { ...answer, headers: { 'retry-after': '5' } }
}

/** Before anything is known of the one who asks: a line of text. */
export function plainRefusal({ status, message }: Refusal): Answer {
  const headers: Record<string, string> =
    status === 401
      ? { 'www-authenticate': 'Basic realm="kafka-backup console", charset="UTF-8"' }
      : status === 405
        ? { allow: 'GET, HEAD' }
        : {}
  return { status, contentType: 'text/plain; charset=utf-8', body: `${message}\n`, headers }
}

function problem(status: number, atMs: number, message: string, help?: string): Answer {
  return htmlAnswer(showProblem({ title: titles[status] ?? 'Error', message, help: help || undefined, atMs }), status)
}
