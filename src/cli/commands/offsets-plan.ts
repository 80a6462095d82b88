import { detailsField } from '../../errors.ts'
import { formatCount } from '../../lib/units.ts'
import {
  activeGroups,
  expectedOutcome,
  type OffsetsOutcome,
  type OffsetsPlan,
  type PlannedGroup,
  type PlannedPosition,
} from '../../offsets/plan-reset.ts'
import type { GroupOutcome, PlanReport } from '../../offsets/run-plan.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'

type Row = PlannedPosition & { group: string }

/** The current offset, new offset and difference of every partition, and the blockers. */
export function formatPlan(plan: OffsetsPlan, style: OutputStyle): string[] {
  const active = activeGroups(plan)
  const changes = countChanges(plan)
  return [
    `${style.bold(plan.strategy)}: ${plural(changes, 'committed offset')} of ${plural(plan.groups.length, 'group')} to change; nothing changed`,
    ...formatRows(plan.groups, style),
    ...formatErrors(
      'Groups that cannot be set',
      plan.groups.map(one => ({ planned: one, ...(one.error && { error: one.error }) })),
      style,
    ),
    ...(active.length === 0
      ? []
      : ['', style.warn('Groups with active members, which block a reset'), ...active.map(describeActive)]),
  ]
}

export function countChanges({ groups }: OffsetsPlan): number {
  return groups.flatMap(({ positions }) => positions).filter(({ isChange }) => isChange).length
}

function describeActive({ group, state, members }: PlannedGroup['now']): string {
  return `  ${printable(group)}: ${state}, ${plural(members, 'member')}`
}

/** The result for every group, and the broker requests if passed. */
export function formatOutcome(
  report: PlanReport,
  requests: Record<string, number> | undefined,
  style: OutputStyle,
): string[] {
  const count = (outcome: OffsetsOutcome) => report.groups.filter(one => one.outcome === outcome).length
  const parts = (['done', 'unchanged', 'partly', 'failed'] as const)
    .filter(outcome => count(outcome) > 0)
    .map(outcome => paintOutcome(outcome, `${formatCount(count(outcome))} ${words[outcome]}`, style))
  const shown = report.groups.filter(({ outcome }) => outcome !== 'failed')
  return [
    [
      `${style.bold(report.strategy)}: ${plural(report.groups.length, 'group')}`,
      ...(parts.length > 0 ? [parts.join(', ')] : []),
    ].join(': '),
    report.snapshotId === null
      ? '  nothing to change, so no snapshot was taken'
      : `  the previous offsets are saved as snapshot ${style.bold(report.snapshotId)}; \`offsets rollback\` restores them`,
    ...(requests ? [`  ${plural(totalOf(requests), 'request')} to brokers: ${formatRequests(requests)}`] : []),
    ...formatRows(
      shown.map(({ planned }) => planned),
      style,
    ),
    ...formatErrors('Groups that failed', report.groups, style),
  ]
}

const words: Record<OffsetsOutcome, string> = {
  done: 'set and read back',
  unchanged: 'unchanged',
  partly: 'partly set',
  failed: 'FAILED',
}

function paintOutcome(outcome: OffsetsOutcome, text: string, style: OutputStyle): string {
  if (outcome === 'failed') return style.bad(text)
  return outcome === 'partly' ? style.warn(text) : style.good(text)
}

function formatRows(groups: readonly PlannedGroup[], style: OutputStyle): string[] {
  const rows: Row[] = groups.flatMap(({ now, positions }) => positions.map(one => ({ group: now.group, ...one })))
  if (rows.length === 0) return []
  const table = formatTable<Row>(
    [
      { title: 'GROUP', cell: row => row.group, shrinks: true },
      { title: 'TOPIC', cell: row => row.topic, shrinks: true },
      { title: 'PARTITION', align: 'right', cell: row => String(row.partition) },
      { title: 'FROM', align: 'right', cell: row => String(row.from ?? '-') },
      { title: 'TO', align: 'right', cell: row => (row.problem === undefined ? String(row.to ?? 'none') : '-') },
      { title: 'DIFFERENCE', dropAs: 1, align: 'right', cell: formatDifference },
      {
        title: 'NOTE',
        wraps: true,
        cell: row => row.problem ?? row.note ?? '',
        paint: (text, row) => (row.problem === undefined ? text : style.bad(text)),
      },
    ],
    rows,
    style,
  )
  return ['', ...table]
}

function formatDifference({ from, to }: Row): string {
  if (from === null || to === null) return '-'
  return to > from ? `+${to - from}` : String(to - from)
}

/** A failed group may be set in part, or set and not read back; its message says so. */
function formatErrors(
  title: string,
  groups: readonly Pick<GroupOutcome, 'planned' | 'error'>[],
  style: OutputStyle,
): string[] {
  const lines = groups.flatMap(({ planned, error }) => {
    if (error) return [`  ${printable(planned.now.group)}: ${printable(error.message)} (${error.code})`]
    const isLost = expectedOutcome(planned) === 'failed'
    const lost = isLost ? planned.positions.find(({ problem }) => problem !== undefined) : undefined
    return lost ? [`  ${printable(planned.now.group)}: ${lost.problem}`] : []
  })
  return lines.length === 0 ? [] : ['', style.bad(title), ...lines]
}

function totalOf(requests: Record<string, number>): number {
  return Object.values(requests).reduce((sum, one) => sum + one, 0)
}

function formatRequests(requests: Record<string, number>): string {
  return Object.entries(requests)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}

export function planDocument(plan: OffsetsPlan) {
  const active = new Set(activeGroups(plan).map(({ group }) => group))
  return {
    strategy: plan.strategy,
    cluster_id: plan.clusterId,
    groups: plan.groups.map(one => ({ ...groupDocument(one), active: active.has(one.now.group) })),
  }
}

export function outcomeDocument(report: PlanReport, requests: Record<string, number>) {
  return {
    strategy: report.strategy,
    cluster_id: report.clusterId,
    snapshot_id: report.snapshotId,
    requests,
    groups: report.groups.map(({ planned, outcome, error }) => ({
      ...groupDocument(planned),
      outcome,
      ...(error && { error: { code: error.code, message: error.message, ...detailsField(error) } }),
    })),
  }
}

function groupDocument({ now, positions, error }: PlannedGroup) {
  return {
    group: now.group,
    type: now.type,
    state: now.state,
    members: now.members,
    ...(error && { error: { code: error.code, message: error.message, ...detailsField(error) } }),
    positions: positions.map(one => ({
      topic: one.topic,
      partition: one.partition,
      from: one.from,
      to: one.to,
      difference: one.from === null || one.to === null ? null : one.to - one.from,
      changes: one.isChange,
      ...(one.note !== undefined && { note: one.note }),
      ...(one.problem !== undefined && { problem: one.problem }),
    })),
  }
}
