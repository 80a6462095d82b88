import type { ProbeScope } from './probe-scope.ts'

/** What a registry was found to do. `detail` says more where there is more to say. */
export interface Verdict {
  has: boolean
  detail?: string
}

/** One feature that a restore relies on or reports as lost, and how to find out whether a registry has it. */
export interface FeatureCheck {
  /** For programs. */
  name: string
  /** For people; short enough for a table. */
  label: string
  /** What becomes of a restore where the registry does not have it. */
  without: string
  /** It registers, sets or deletes something, in subjects of its own. */
  isWrite: boolean
  /** Undefined where it cannot be found out on this registry. */
  run(scope: ProbeScope): Promise<Verdict | undefined>
}

/** `has` is null for what was not tried. */
export interface FeatureResult {
  name: string
  label: string
  has: boolean | null
  detail: string
}

export const found = (has: boolean, detail?: string): Verdict => ({ has, ...(detail !== undefined && { detail }) })
