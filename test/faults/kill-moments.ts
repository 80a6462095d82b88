export type KillMoment = 'kill-before' | 'kill-after'

/**
 * Both moments of every call, in order; of more than `most` of them, so many that are spread over the whole run: one at
 * random from each of `most` equal parts.
 */
export function pickMoments(calls: number, most: number, random: () => number): [nth: number, moment: KillMoment][] {
  const all = Array.from({ length: calls }, (_, at): [number, KillMoment][] => [
    [at + 1, 'kill-before'],
    [at + 1, 'kill-after'],
  ]).flat()
  if (all.length <= most) return all
  const part = all.length / most
  return Array.from({ length: most }, (_, at) => all[Math.floor((at + random()) * part)] ?? [calls, 'kill-after'])
}
