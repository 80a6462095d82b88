import type { Evidence } from '../../drill/evidence.ts'
import { errorTable } from '../../error-table.ts'
import type { ErrorCode } from '../../errors.ts'
import type { DrillReport } from '../../jobs/drill.ts'
import type { Facts } from './result-builder.ts'

export function drillFacts({ evidence, location }: DrillReport): Facts {
  const { backup, totals, recovery, clean_up, gaps } = evidence
  const problem = problemOf(evidence)
  return {
    generation: backup.generation,
    totals: {
      ...totals,
      recovery_seconds: recovery?.total ?? 0,
      topics_left: clean_up.left.length,
    },
    gaps: gaps.length,
    report: keyOf(location, backup.location),
    ...(problem && { problem }),
  }
}

/** The key of evidence in the store of the backup; of other evidence the location. */
function keyOf(location: string, store: string): string {
  return location.startsWith(`${store}/`) ? location.slice(store.length + 1) : location
}

function problemOf({ failure, clean_up: { left } }: Evidence): Facts['problem'] {
  if (failure) {
    return { message: failure.message, ...(failure.code in errorTable && { code: failure.code as ErrorCode }) }
  }
  if (left.length === 0) return undefined
  const named = left.map(({ name, reason }) => `${name} (${reason})`).join(', ')
  return { message: `everything is proven, but topics of the drill are left on the target: ${named}` }
}
