const LEAST_SLACK_MS = 2000

/**
 * When something that lives for so long is to be renewed, counted from its beginning: after the given part of its life,
 * but no less than two seconds before its end, for a busy machine; of a very short life, half is used.
 */
export function renewAfterMs(lifeMs: number, part: number): number {
  const slackMs = Math.max(lifeMs * (1 - part), LEAST_SLACK_MS)
  return lifeMs - Math.min(slackMs, lifeMs / 2)
}
