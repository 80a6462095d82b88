/** Counts of what is kept. A rule that is absent keeps nothing. */
export interface KeepRules {
  keepLast?: number | undefined
  keepHourly?: number | undefined
  keepDaily?: number | undefined
  keepWeekly?: number | undefined
  keepMonthly?: number | undefined
  keepYearly?: number | undefined
}

/** How a rule is called in a report and in a job file. */
export const periodRules = [
  ['keep_hourly', 'keepHourly', (time: Date) => time.toISOString().slice(0, 13)],
  ['keep_daily', 'keepDaily', (time: Date) => time.toISOString().slice(0, 10)],
  ['keep_weekly', 'keepWeekly', weekOf],
  ['keep_monthly', 'keepMonthly', (time: Date) => time.toISOString().slice(0, 7)],
  ['keep_yearly', 'keepYearly', (time: Date) => time.toISOString().slice(0, 4)],
] as const

export const keepFields = ['keepLast', ...periodRules.map(([, field]) => field)] as const

export function hasKeepRules(rules: KeepRules): boolean {
  return keepFields.some(field => rules[field] !== undefined)
}

/** Pure. What the rules keep, with their names: of each period the newest, as far back as there is something, not as time goes. */
export function keptByRules<T extends { timeMs: number }>(
  newestFirst: readonly T[],
  rules: KeepRules,
): Map<T, string[]> {
  const kept = new Map<T, string[]>()
  const keep = (one: T, rule: string) => kept.set(one, [...(kept.get(one) ?? []), rule])
  for (const one of newestFirst.slice(0, rules.keepLast ?? 0)) keep(one, 'keep_last')
  for (const [rule, field, periodOf] of periodRules) {
    const periods = new Set<string>()
    for (const one of newestFirst) {
      if (periods.size >= (rules[field] ?? 0)) break
      const period = periodOf(new Date(one.timeMs))
      if (!periods.has(period)) keep(one, rule)
      periods.add(period)
    }
  }
  return kept
}

/** The Monday that its week begins with, in UTC. */
function weekOf(time: Date): string {
  const day = (time.getUTCDay() + 6) % 7
  return new Date(time.getTime() - day * 86_400_000).toISOString().slice(0, 10)
}
