import { createHash } from 'node:crypto'
import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Guard, text } from '../../observe/http-server.ts'
import type { Log } from '../../observe/log.ts'
import { cutText } from '../job/pod-result.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import { openLevels } from './repeated-warnings.ts'

interface TokenReview extends KubeObject {
  spec: { token: string }
  status?: { authenticated?: boolean; user?: ReviewedUser; error?: string }
}

interface ReviewedUser {
  username?: string
  uid?: string
  groups?: string[]
  extra?: Record<string, string[]>
}

interface AccessReview extends KubeObject {
  spec: object
  status?: { allowed?: boolean }
}

const tokenReviews: ResourceKind<TokenReview> = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
}
const accessReviews: ResourceKind<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
}

/** A token that lost its permission is refused this much later; one that got it, is accepted. */
const ALLOWED_MS = 60_000
const REFUSED_MS = 10_000
const MAX_KNOWN = 1000
/** Scrapers wait for ten seconds. */
const REVIEW_MS = 8000
/** Anyone can send unknown tokens, and reviews count as requests of the operator, whose own requests must not wait behind them. */
const MAX_REVIEWS = 8
const MAX_REASON = 500

type Verdict = 200 | 401 | 403

/**
 * Lets those read the path whom the API server knows by their token and allows to get the path (`nonResourceURLs` of a role). Tokens are kept
 * as hashes, for a short time. While the API server does not answer, every request is refused. `onRefused` gets the reason of every request
 * that is refused, but for a verdict that is known; it never contains the token.
 */
export function openMetricsAccess(
  api: KubeApi,
  clock: Clock,
  path: string,
  onRefused: (reason: string) => void,
): Guard {
  const known = new Map<string, { verdict: Verdict; untilMs: number }>()
  let reviews = 0
  return async authorization => {
    const [, token] = /^Bearer ([\w.~+/=-]{1,16384})$/i.exec(authorization ?? '') ?? []
    if (token === undefined) {
      onRefused('a request had no bearer token')
      return refusals[401]
    }
    const key = createHash('sha256').update(token).digest('base64')
    const nowMs = clock.monotonic()
    const found = known.get(key)
    if (found && nowMs < found.untilMs) return refusals[found.verdict]
    if (reviews >= MAX_REVIEWS) {
      onRefused(`${MAX_REVIEWS} other tokens were being reviewed`)
      return text(503, 'too many other tokens are being reviewed')
    }
    reviews++
    try {
      const { verdict, reason } = await review(api, token, path, clock)
      if (verdict !== 200) onRefused(withoutToken(reason, token))
      for (const [one, { untilMs }] of known) if (untilMs <= nowMs || known.size >= MAX_KNOWN) known.delete(one)
      known.set(key, { verdict, untilMs: nowMs + (verdict === 200 ? ALLOWED_MS : REFUSED_MS) })
      return refusals[verdict]
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      onRefused(withoutToken(`the API server could not be asked about a token: ${why}`, token))
      return text(503, 'the API server could not be asked about this token')
    } finally {
      reviews--
    }
  }
}

/** The same, with each reason in the log once until it pauses. */
export function openLoggedAccess(api: KubeApi, clock: Clock, path: string, log: Log): Guard {
  const levelOf = openLevels(clock)
  return openMetricsAccess(api, clock, path, reason => {
    log.write(levelOf(reason, reason), `metrics: refused: ${reason}`)
  })
}

const refusals: Record<Verdict, ReturnType<typeof text> | undefined> = {
  200: undefined,
  401: text(401, 'a valid bearer token is needed'),
  403: text(403, 'this user may not read the path'),
}

/** The API server may quote what it was asked. */
function withoutToken(reason: string, token: string): string {
  return cutText(reason.replaceAll(token, '***'), MAX_REASON)
}

interface Reviewed {
  verdict: Verdict
  reason: string
}

async function review(api: KubeApi, token: string, path: string, clock: Clock): Promise<Reviewed> {
  const limit = startTimeLimit(REVIEW_MS, clock, new AbortController().signal)
  try {
    return await ask(api, token, path, limit.signal)
  } finally {
    limit.end()
  }
}

async function ask(api: KubeApi, token: string, path: string, signal: AbortSignal): Promise<Reviewed> {
  const { apiVersion, kind } = tokenReviews
  const reviewed = await api.create(tokenReviews, { apiVersion, kind, metadata: unnamed, spec: { token } }, signal)
  const { authenticated = false, user = {}, error } = reviewed.status ?? {}
  if (!authenticated || !user.username) {
    return { verdict: 401, reason: `the API server does not accept a token${error ? `: ${error}` : ''}` }
  }
  const { username, uid, groups, extra } = user
  const nonResourceAttributes = { path, verb: 'get' }
  const spec = { user: username, groups, uid, extra, nonResourceAttributes }
  const access = { apiVersion: accessReviews.apiVersion, kind: accessReviews.kind, metadata: unnamed, spec }
  const isAllowed = (await api.create(accessReviews, access, signal)).status?.allowed === true
  const reason = `user ${username} may not get ${path}: bind a role that allows it (nonResourceURLs)`
  return { verdict: isAllowed ? 200 : 403, reason }
}

/** Reviews are questions: they are not stored. */
const unnamed = {} as KubeObject['metadata']
