import { createHash } from 'node:crypto'
import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Guard, text } from '../../observe/http-server.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'

interface TokenReview extends KubeObject {
  spec: { token: string }
  status?: { authenticated?: boolean; user?: ReviewedUser }
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

type Verdict = 200 | 401 | 403

/**
 * Lets those read the path whom the API server knows by their token and allows to get the path (`nonResourceURLs` of a role). Tokens are kept
 * as hashes, for a short time. While the API server does not answer, every request is refused.
 */
export function openMetricsAccess(api: KubeApi, clock: Clock, path: string): Guard {
  const known = new Map<string, { verdict: Verdict; untilMs: number }>()
  let reviews = 0
  return async authorization => {
    const [, token] = /^Bearer ([\w.~+/=-]{1,16384})$/i.exec(authorization ?? '') ?? []
    if (token === undefined) return refusals[401]
    const key = createHash('sha256').update(token).digest('base64')
    const nowMs = clock.monotonic()
    const found = known.get(key)
    if (found && nowMs < found.untilMs) return refusals[found.verdict]
    if (reviews >= MAX_REVIEWS) return text(503, 'too many other tokens are being reviewed')
    reviews++
    try {
      const verdict = await review(api, token, path, clock)
      for (const [one, { untilMs }] of known) if (untilMs <= nowMs || known.size >= MAX_KNOWN) known.delete(one)
      known.set(key, { verdict, untilMs: nowMs + (verdict === 200 ? ALLOWED_MS : REFUSED_MS) })
      return refusals[verdict]
    } catch {
      return text(503, 'the API server could not be asked about this token')
    } finally {
      reviews--
    }
  }
}

const refusals: Record<Verdict, ReturnType<typeof text> | undefined> = {
  200: undefined,
  401: text(401, 'a valid bearer token is needed'),
  403: text(403, 'this user may not read the path'),
}

async function review(api: KubeApi, token: string, path: string, clock: Clock): Promise<Verdict> {
  const limit = startTimeLimit(REVIEW_MS, clock, new AbortController().signal)
  try {
    return await ask(api, token, path, limit.signal)
  } finally {
    limit.end()
  }
}

async function ask(api: KubeApi, token: string, path: string, signal: AbortSignal): Promise<Verdict> {
  const { apiVersion, kind } = tokenReviews
  const reviewed = await api.create(tokenReviews, { apiVersion, kind, metadata: unnamed, spec: { token } }, signal)
  const { authenticated = false, user = {} } = reviewed.status ?? {}
  if (!authenticated || !user.username) return 401
  const { username, uid, groups, extra } = user
  const nonResourceAttributes = { path, verb: 'get' }
  const spec = { user: username, groups, uid, extra, nonResourceAttributes }
  const access = { apiVersion: accessReviews.apiVersion, kind: accessReviews.kind, metadata: unnamed, spec }
  return (await api.create(accessReviews, access, signal)).status?.allowed === true ? 200 : 403
}

/** Reviews are questions: they are not stored. */
const unnamed = {} as KubeObject['metadata']
