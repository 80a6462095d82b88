import { KafkaBackupError } from '../errors.ts'
import { hasKeepRules, type KeepRules, keepFields } from './keep-rules.ts'

/** What is to stay. A rule that is absent keeps nothing; without any rule nothing expires. */
export interface RetentionPolicy extends KeepRules {
  /** Ids that the rules are about, with * and ?. All others are left alone. */
  match: readonly string[]
  /** Judges every backup by itself. Otherwise all that match are one series, of which newer ones replace older ones. */
  eachAlone?: boolean | undefined
  /** Which generations of each backup are kept for longer than the grace period. The other rules count backups. */
  generations?: KeepRules | undefined
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
  const given = Object.entries(rules).filter(([, value]) => value !== undefined)
  for (const [field, value] of given) {
    if (field === 'generations') checkGenerationRules(value)
    else if (!isRule(field, value)) throw wrongRule(field, value)
  }
  return Object.fromEntries(given)
}

function checkGenerationRules(rules: unknown): void {
  if (typeof rules !== 'object' || rules === null || Array.isArray(rules)) throw wrongRule('generations', rules)
  for (const [field, value] of Object.entries(rules)) {
    if (value !== undefined && !isKeepRule(field, value)) throw wrongRule(`generations.${field}`, value)
  }
}

function wrongRule(name: string, value: unknown): KafkaBackupError {
  return new KafkaBackupError('USAGE', `the rule ${name} of a prune cannot be ${String(value)}`)
}

function isKeepRule(field: string, value: unknown): boolean {
  const fields: readonly string[] = keepFields
  return fields.includes(field) && Number.isSafeInteger(value) && Number(value) >= 0
}

function isRule(field: string, value: unknown): boolean {
  if (field === 'olderThanMs' || field === 'graceMs') return Number.isFinite(value) && Number(value) >= 0
  if (field === 'eachAlone') return typeof value === 'boolean'
  if (field === 'match') return Array.isArray(value) && value.every(one => typeof one === 'string')
  return isKeepRule(field, value)
}

export function hasRules(policy: RetentionPolicy): boolean {
  return policy.olderThanMs !== undefined || hasKeepRules(policy)
}

/** Pure. What a report says of the policy itself. */
export function notesOf(policy: RetentionPolicy, count: number): string[] {
  if (!policy.eachAlone || !hasKeepRules(policy) || count < 2) return []
  return [
    'every backup was judged by itself, so rules such as keep_last keep all of them; name the backups of a series with --match',
  ]
}
