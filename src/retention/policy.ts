import { KafkaBackupError } from '../errors.ts'

/** What is to stay. A rule that is absent keeps nothing; without any rule nothing expires. */
export interface RetentionPolicy {
  /** Ids that the rules are about, with * and ?. All others are left alone. */
  match: readonly string[]
  /** Judges every backup by itself. Otherwise all that match are one series, of which newer ones replace older ones. */
  eachAlone?: boolean | undefined
  keepLast?: number | undefined
  keepHourly?: number | undefined
  keepDaily?: number | undefined
  keepWeekly?: number | undefined
  keepMonthly?: number | undefined
  keepYearly?: number | undefined
  /** Only what is older goes; in a backup that stays, leading segments that were stored longer ago. */
  olderThanMs?: number | undefined
  /** How long unneeded data is kept for readers without a lease. */
  graceMs: number
}

/**
 * Refuses rules that are none, as programs may give them: a count or a duration that is not a number keeps nothing, and all
 * would go. What is undefined is left out.
 */
export function checkRules(rules: Partial<RetentionPolicy>): Partial<RetentionPolicy> {
  const counts: readonly string[] = ['keepLast', ...periodRules.map(([, field]) => field)]
  const given = Object.entries(rules).filter(([, value]) => value !== undefined)
  for (const [field, value] of given) {
    const isRight = counts.includes(field)
      ? Number.isSafeInteger(value) && Number(value) >= 0
      : field === 'olderThanMs' || field === 'graceMs'
        ? Number.isFinite(value) && Number(value) >= 0
        : field === 'eachAlone'
          ? typeof value === 'boolean'
          : field === 'match' && Array.isArray(value) && value.every(one => typeof one === 'string')
    if (!isRight) throw new KafkaBackupError('USAGE', `the rule ${field} of a prune cannot be ${String(value)}`)
  }
  return Object.fromEntries(given)
}

/** How a rule is called in a report and in a job file. */
export const periodRules = [
  ['keep_hourly', 'keepHourly', (time: Date) => time.toISOString().slice(0, 13)],
  ['keep_daily', 'keepDaily', (time: Date) => time.toISOString().slice(0, 10)],
  ['keep_weekly', 'keepWeekly', weekOf],
  ['keep_monthly', 'keepMonthly', (time: Date) => time.toISOString().slice(0, 7)],
  ['keep_yearly', 'keepYearly', (time: Date) => time.toISOString().slice(0, 4)],
] as const

export function hasRules(policy: RetentionPolicy): boolean {
  return policy.olderThanMs !== undefined || hasKeepRules(policy)
}

export function hasKeepRules(policy: RetentionPolicy): boolean {
  return policy.keepLast !== undefined || periodRules.some(([, field]) => policy[field] !== undefined)
}

/** The Monday that its week begins with, in UTC. */
function weekOf(time: Date): string {
  const day = (time.getUTCDay() + 6) % 7
  return new Date(time.getTime() - day * 86_400_000).toISOString().slice(0, 10)
}
