import { type KeepRules, keptByRules } from './keep-rules.ts'

/** What the rules know of a generation. */
export interface RetainedGeneration {
  generation: number
  /** When it was committed. */
  timeMs: number
  complete: boolean
}

export interface KeptGeneration {
  generation: number
  /** The rules that keep it. */
  reasons: string[]
}

/**
 * Pure. The generations that the rules of a backup keep, ascending. Only complete ones count, and of each period the one that was committed
 * last. Everything that no rule keeps stays for the grace period, as without rules.
 */
export function planGenerations(generations: readonly RetainedGeneration[], rules: KeepRules): KeptGeneration[] {
  const newestFirst = generations.filter(one => one.complete).toSorted((a, b) => b.generation - a.generation)
  return [...keptByRules(newestFirst, rules)]
    .map(([{ generation }, reasons]) => ({ generation, reasons }))
    .sort((a, b) => a.generation - b.generation)
}
