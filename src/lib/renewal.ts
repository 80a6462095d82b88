const MIN_SLACK_MS = 2000

/**
 * When to renew a token or session, counted from its start: after the given part of its life, but at least two seconds
 * before its end, for a busy machine. Half of a very short life is used.
 */
export function renewAfterMs(lifeMs: number, part: number): number {
  const slackMs = Math.max(lifeMs * (1 - part), MIN_SLACK_MS)
  return lifeMs - Math.min(slackMs, lifeMs / 2)
}
