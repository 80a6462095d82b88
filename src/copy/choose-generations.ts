/** One generation, the newest one alone, or all that the target lacks. */
export type RequestedGeneration = number | 'newest' | undefined

interface ChosenGenerations {
  /** Those that the target is to get, ascending. */
  missing: number[]
  /** Those whose objects are looked at, ascending: the missing ones, and the newest requested one in any case. */
  walked: number[]
  /** Both sides have them. */
  shared: number[]
  /** The target lacks them, and they are older than all that it has. */
  older: number[]
}

/**
 * Pure. What is older than all generations of the target stays away: retention has removed it there, or the user has not asked
 * for it. A hole, which damage has left behind, is tried again. Both lists ascend. `isThorough` looks at all that is shared.
 */
export function chooseGenerations(
  source: readonly number[],
  target: readonly number[],
  requested: RequestedGeneration,
  isThorough: boolean,
): ChosenGenerations {
  const there = new Set(target)
  const newest = source.slice(-1)
  const [oldestThere = 0] = target
  const isRequested = (generation: number) =>
    requested === undefined
      ? generation > oldestThere
      : requested === 'newest'
        ? generation === newest[0]
        : generation === requested
  const missing = source.filter(generation => !there.has(generation) && isRequested(generation))
  const shared = source.filter(generation => there.has(generation))
  const known = isThorough ? shared.filter(one => requested === undefined || isRequested(one)) : []
  const last = typeof requested === 'number' ? [requested] : newest
  return {
    missing,
    walked: [...new Set([...missing, ...known, ...last])].sort((a, b) => a - b),
    shared,
    older: requested === undefined ? source.filter(generation => generation < oldestThere) : [],
  }
}
