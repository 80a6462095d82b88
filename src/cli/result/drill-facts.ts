import type { DrillReport } from '../../jobs/drill.ts'
import type { Facts } from './result-builder.ts'

export function drillFacts({ evidence }: DrillReport): Facts {
  const { backup, totals, recovery, clean_up, failure, gaps } = evidence
  return {
    generation: backup.generation,
    totals: {
      ...totals,
      recovery_seconds: recovery?.total ?? 0,
      topics_left: clean_up.left.length,
    },
    gaps: gaps.length,
    ...(failure && { problem: { message: failure.message } }),
  }
}
