/** One generation, the newest one alone, or all that the target lacks. */
export type WishedGeneration = number | 'newest' | undefined

export interface ChosenGenerations {
  /** Those that the target is to get, ascending. */
  missing: number[]
  /** Those whose objects are looked at, ascending: the missing ones, and the newest that is wished for in any case. */
  walked: number[]
  /** Both sides have them. */
  shared: number[]
  /** The target lacks them, and they are older than all that it has. */
  older: number[]
}

/**
 * Pure. What is older than all generations of the target stays away: retention has removed it there, or nobody has asked
 * for it. A hole, which damage has left behind, is tried again. Both lists ascend. `isThorough` looks at all that is shared.
 */
export function chooseGenerations(
  source: readonly number[],
  target: readonly number[],
  wished: WishedGeneration,
  isThorough: boolean,
): ChosenGenerations {
  const there = new Set(target)
  const newest = source.slice(-1)
  const [oldestThere = 0] = target
  const isWished = (generation: number) =>
    wished === undefined
      ? generation > oldestThere
      : wished === 'newest'
        ? generation === newest[0]
        : generation === wished
  const missing = source.filter(generation => !there.has(generation) && isWished(generation))
  const shared = source.filter(generation => there.has(generation))
  const known = isThorough ? shared.filter(one => wished === undefined || isWished(one)) : []
  const last = typeof wished === 'number' ? [wished] : newest
  return {
    missing,
    walked: [...new Set([...missing, ...known, ...last])].sort((a, b) => a - b),
    shared,
    older: wished === undefined ? source.filter(generation => generation < oldestThere) : [],
  }
}
