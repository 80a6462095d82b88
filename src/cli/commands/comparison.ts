import { formatCount } from '../../lib/units.ts'
import type { CompareReport, PartitionComparison } from '../../restore/compare.ts'
import type { Difference } from '../../restore/difference.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatWarnings } from './gap-table.ts'

const MAX_MISSING = 10
const MAX_ROWS = 20

/** The exit code of a comparison with differences. */
export const DIFFERENCES_FOUND = 3

/** The result of comparing the target with the backup. */
export function formatComparison(report: CompareReport, style: OutputStyle): string[] {
  const { backupId, generation, ok, totals } = report
  const verdict = ok ? style.good('the target has the same records') : style.bad('THE TARGET DIFFERS')
  return [
    `${style.bold(printable(backupId))} generation ${generation}: ${verdict}`,
    `  ${plural(totals.partitions, 'partition')}, ${plural(totals.records, 'record')} the same${formatRemoved(totals.removed)}`,
    ...formatMissing(report, style),
    '',
    ...formatTopics(report, style),
    ...formatDifferences(report, style),
    ...formatWarnings(
      report.warnings.filter(warning => !isAboutMissing(warning, report)),
      style,
    ),
  ]
}

/** Reports a missing topic or partition instead of all its missing records. */
function formatMissing({ topics }: CompareReport, style: OutputStyle): string[] {
  const names = topics.flatMap(({ target, partitions, isMissing }) =>
    isMissing
      ? [`topic ${target}`]
      : partitions.filter(one => one.isMissing).map(({ partition }) => `partition ${target}/${partition}`),
  )
  const more = names.length > MAX_MISSING ? ` and ${formatCount(names.length - MAX_MISSING)} more` : ''
  if (names.length === 0) return []
  return [style.bad(`  not on the target: ${printable(names.slice(0, MAX_MISSING).join(', '))}${more}`)]
}

function isAboutMissing(warning: string, { topics }: CompareReport): boolean {
  return topics.some(({ target, isMissing }) => isMissing && warning === `${target}: it does not exist on the target`)
}

function formatRemoved(removed: number): string {
  return removed === 0 ? '' : `, ${formatCount(removed)} removed by compaction since`
}

function formatTopics({ topics }: CompareReport, style: OutputStyle): string[] {
  type Row = CompareReport['topics'][number]
  const sum = ({ partitions }: Row, pick: (one: PartitionComparison) => number) =>
    partitions.reduce((total, one) => total + pick(one), 0)
  return formatTable<Row>(
    [
      { title: 'SOURCE', cell: row => row.source, shrinks: true },
      { title: 'TARGET', cell: row => row.target, shrinks: true },
      { title: 'PARTITIONS', dropAs: 1, align: 'right', cell: row => formatCount(row.partitions.length) },
      { title: 'SAME', align: 'right', cell: row => formatCount(sum(row, one => one.records)) },
      {
        title: 'DIFFERENCES',
        align: 'right',
        cell: row => (row.isMissing ? 'no such topic' : formatFound(row.partitions)),
      },
    ],
    topics,
    style,
  )
}

/** If the comparison of a partition stopped early, there may be more differences. */
function formatFound(partitions: readonly PartitionComparison[]): string {
  const count = partitions.reduce((total, { differences }) => total + differences.length, 0)
  return `${formatCount(count)}${partitions.some(({ isCut }) => isCut) ? '+' : ''}`
}

/** Empty without differences. */
export function formatDifferences({ topics }: CompareReport, style: OutputStyle): string[] {
  const found = topics.flatMap(({ target, partitions }) =>
    partitions
      .filter(one => !one.isMissing)
      .flatMap(({ partition, sourcePartition, differences }) =>
        differences.map(one => ({ place: `${target}/${partition}`, isMixed: sourcePartition === null, ...one })),
      ),
  )
  if (found.length === 0) return []
  const rows = found.slice(0, MAX_ROWS)
  const table = formatTable<(typeof rows)[number]>(
    [
      { title: 'PARTITION', cell: row => row.place, shrinks: true },
      { title: 'SOURCE OFFSET', align: 'right', cell: formatOrigin },
      { title: 'TARGET OFFSET', align: 'right', cell: row => String(row.targetOffset ?? '-') },
      { title: 'DIFFERENCE', wraps: 18, cell: describe, paint: text => style.bad(text) },
      { title: 'BACKUP', cell: row => row.expected ?? '-', shrinks: true },
      { title: 'TARGET', cell: row => row.actual ?? '-', shrinks: true },
    ],
    rows,
    style,
  )
  const left = found.length - rows.length
  const more = left > 0 ? [`and ${formatCount(left)} more; --format json shows all of them`] : []
  return ['', ...table, ...more]
}

/** With the source partition if a target partition has records of several source partitions. */
function formatOrigin({ isMixed, sourcePartition, sourceOffset }: Difference & { isMixed: boolean }): string {
  if (sourceOffset === undefined) return '-'
  return isMixed ? `${sourcePartition}/${sourceOffset}` : String(sourceOffset)
}

function describe({ kind, fields }: Difference): string {
  return kind === 'different' ? `different ${fields.join(', ')}` : kind
}

export function comparisonDocument({ backupId, durationMs, topics, totals, ...rest }: CompareReport) {
  return {
    ok: rest.ok,
    backup_id: backupId,
    generation: rest.generation,
    duration_ms: Math.round(durationMs),
    totals,
    topics: topics.map(({ source, target, partitions, isMissing = false }) => ({
      source,
      target,
      missing: isMissing,
      partitions: partitions.map(partitionDocument),
    })),
    warnings: rest.warnings,
  }
}

function partitionDocument({ sourcePartition, partition, records, removed, differences, isCut }: PartitionComparison) {
  return {
    source_partition: sourcePartition,
    partition,
    records,
    removed,
    complete: !isCut,
    differences: differences.map(one => ({
      kind: one.kind,
      fields: one.fields,
      source_partition: one.sourcePartition ?? null,
      source_offset: one.sourceOffset ?? null,
      target_offset: one.targetOffset ?? null,
      expected: one.expected ?? null,
      actual: one.actual ?? null,
    })),
  }
}
