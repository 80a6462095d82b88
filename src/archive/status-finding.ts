export const statusLevels = ['ok', 'warning', 'critical'] as const
export type StatusLevel = (typeof statusLevels)[number]

/** A fact that needs an action, or that is worth knowing. */
export interface StatusFinding {
  /** `notice` has no effect on the level. */
  level: 'notice' | 'warning' | 'critical'
  kind: FindingKind
  message: string
  action: string
}

export type FindingKind =
  | 'missing'
  | 'unreadable'
  | 'denied'
  | 'unreachable'
  | 'locked'
  | 'damaged'
  | 'stale'
  | 'late'
  | 'future'
  | 'incomplete'
  | 'new_gaps'
  | 'section_failed'
  | 'old_schemas'
  | 'drill_failed'
  | 'drill_unknown'
  | 'verification_unknown'
  | 'not_verified'
  | 'not_drilled'

/** How often a backup is expected to commit. */
export interface ExpectedInterval {
  ms: number
  /** `history` is the usual time between its commits. */
  source: 'option' | 'job' | 'history'
}

/** The text of a command about the backup, with its location. */
export type CommandText = (name: string) => string

/** Pure. The most severe; `ok` of none. */
export function worst(levels: readonly StatusLevel[]): StatusLevel {
  return statusLevels.findLast(level => levels.includes(level)) ?? 'ok'
}

/** Pure. */
export function levelOf(findings: readonly StatusFinding[]): StatusLevel {
  return worst(findings.map(({ level }) => (level === 'notice' ? 'ok' : level)))
}
