import type { Finding } from '../observe/finding.ts'
import type { Acl, Quota, ScramUser } from './model.ts'

/**
 * `create`: the target lacks it. `kept`: it is there. `differs`: the target has another value, which stays. `cannot`: there
 * is not possible to restore it. `failed`: the target refuses it, or does not list its rules.
 */
export type Decision = 'create' | 'kept' | 'differs' | 'cannot' | 'failed'

export interface Planned<T, D = Decision> {
  item: T
  decision: D
  /** What should be known of it, in words. */
  notes: string[]
}

export interface KindPlan<T> {
  items: Planned<T>[]
  /** Why nothing of it can be brought to the target. */
  reason?: string
}

/** A kind that the job does not ask for is absent. */
export interface AccessPlan {
  acls?: KindPlan<Acl>
  quotas?: KindPlan<Quota>
  users?: KindPlan<ScramUser>
  findings: Finding[]
}

/** `created` in place of `create`, when it is done. */
export type AccessOutcome = Exclude<Decision, 'create'> | 'created'

export interface KindReport<T> {
  items: Planned<T, AccessOutcome>[]
  reason?: string
}

export interface AccessReport {
  acls?: KindReport<Acl>
  quotas?: KindReport<Quota>
  users?: KindReport<ScramUser>
  totals: Record<AccessOutcome, number>
  /** Why nothing was done, in words. */
  reason?: string
}

export function countBy<D extends string>(
  kind: { items: readonly { decision: D }[] } | undefined,
  decision: D,
): number {
  return kind?.items.filter(one => one.decision === decision).length ?? 0
}

export function sumAccess({ acls, quotas, users }: Omit<AccessReport, 'totals'>): AccessReport['totals'] {
  const sum = (outcome: AccessOutcome) =>
    countBy<AccessOutcome>(acls, outcome) +
    countBy<AccessOutcome>(quotas, outcome) +
    countBy<AccessOutcome>(users, outcome)
  return {
    created: sum('created'),
    kept: sum('kept'),
    differs: sum('differs'),
    cannot: sum('cannot'),
    failed: sum('failed'),
  }
}
