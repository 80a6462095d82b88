import type { NewestState } from '../archive/catalog.ts'
import { avoidedBy } from '../archive/log/avoided-damage.ts'
import type { Manifest } from '../archive/manifest.ts'
import { avoidedWarnings } from '../archive/record-warnings.ts'
import type { Sides } from './sides.ts'

/** Pure. Damaged objects that were read around: at the source, and at the target, with its location. */
export function copyWarnings({ target }: Sides, manifest: Manifest, { opened }: NewestState): string[] {
  const there = opened ? avoidedBy(opened) : []
  const located = there.map(one => ({ ...one, problem: `at ${target.location}: ${one.problem}` }))
  return [...avoidedWarnings(manifest), ...avoidedWarnings({ avoided: located })]
}
