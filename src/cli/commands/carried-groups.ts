import { formatCount } from '../../lib/units.ts'
import type { CarryPlan } from '../../offsets/carry-plan.ts'
import type { CarriedGroupReport, CarryReport } from '../../offsets/carry-report.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'

/** The results for consumer groups in one line; undefined without groups. */
export function formatCarried(report: CarryReport | undefined): string | undefined {
  if (!report) return undefined
  const { groups, kept, failed } = report.totals
  if (groups === 0) return report.reason === undefined ? undefined : `none: ${printable(report.reason)}`
  const early = report.groups.filter(({ isEarly }) => isEarly).length
  const parts = [
    `${plural(groups, 'consumer group')}`,
    ...(early === 0 ? [] : [`${formatCount(early)} released before the end`]),
    ...(kept === 0 ? [] : [`${formatCount(kept)} already had committed offsets, which are kept`]),
    ...(failed === 0 ? [] : [`${formatCount(failed)} FAILED`]),
    ...(report.reason === undefined ? [] : [`the others not: ${printable(report.reason)}`]),
  ]
  return parts.join(', ')
}

export function formatGroups({ groups }: CarryReport, style: OutputStyle): string[] {
  if (groups.length === 0) return []
  const rows = formatTable<CarriedGroupReport>(
    [
      { title: 'GROUP', cell: one => one.group, shrinks: true, paint: text => style.bold(text) },
      { title: 'ON THE TARGET', cell: one => one.target, shrinks: true },
      { title: 'COMMITTED', align: 'right', cell: one => formatCount(one.committed.length) },
      { title: 'KEPT', align: 'right', cell: one => formatCount(one.kept.length) },
      { title: 'LEFT OUT', dropAs: 1, align: 'right', cell: one => formatCount(one.leftOut) },
      { title: 'READ AGAIN', dropAs: 2, align: 'right', cell: one => formatCount(Number(rereadsOf(one))) },
      { title: '', wraps: true, cell: one => one.error ?? '', paint: text => style.bad(text) },
    ],
    groups,
    style,
  )
  return ['', ...rows]
}

function rereadsOf({ committed }: CarriedGroupReport): bigint {
  return committed.reduce((sum, { rereads }) => sum + rereads, 0n)
}

export function carriedDocument({ groups, totals, reason }: CarryReport) {
  return {
    totals,
    reason: reason ?? null,
    groups: groups.map(({ group, target, outcome, isEarly, error, committed, kept, leftOut }) => ({
      group,
      target,
      outcome,
      released_early: isEarly === true,
      error: error ?? null,
      committed: committed.map(one => ({
        topic: one.topic,
        partition: one.partition,
        source_offset: one.sourceOffset,
        target_topic: one.targetTopic,
        target_partition: one.targetPartition,
        target_offset: one.targetOffset,
        how: one.how,
        rereads: one.rereads,
      })),
      kept,
      left_out: leftOut,
    })),
  }
}

/** The groups that a restore would set. Their target offsets are known only after the records are restored. */
export function plannedGroupsDocument({ groups, reason, release }: CarryPlan) {
  return {
    reason: reason ?? null,
    release: release ?? 'end',
    groups: groups.map(({ group, target, positions, streams, leftOut }) => ({
      group,
      target,
      positions: positions.map(({ topic, partition, offset, lag }) => ({ topic, partition, offset, lag })),
      partitions: streams.length,
      left_out: leftOut,
    })),
  }
}

export function formatPlannedGroups({ groups }: CarryPlan, style: OutputStyle): string[] {
  if (groups.length === 0) return []
  const rows = formatTable<CarryPlan['groups'][number]>(
    [
      { title: 'GROUP', cell: one => one.group, shrinks: true, paint: text => style.bold(text) },
      { title: 'ON THE TARGET', cell: one => one.target, shrinks: true },
      { title: 'PARTITIONS', align: 'right', cell: one => formatCount(one.streams.length) },
      { title: 'LAG', align: 'right', cell: one => formatCount(Number(lagOf(one))) },
      { title: 'LEFT OUT', dropAs: 1, align: 'right', cell: one => formatCount(one.leftOut) },
    ],
    groups,
    style,
  )
  return ['', ...rows]
}

function lagOf({ positions }: CarryPlan['groups'][number]): bigint {
  return positions.reduce((sum, { lag }) => sum + (lag ?? 0n), 0n)
}
