import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { RestoreReport, TopicReport } from '../../restore/report.ts'
import type { OutputStyle } from '../output-style.ts'
import { type Column, formatTable } from '../table.ts'

interface Row extends Omit<TopicReport, 'origin' | 'durationMs'> {
  origin: string
  /** Undefined in the total, because topics are restored in parallel. */
  durationMs?: number
  gaps: number
}

const origins: Record<TopicReport['origin'], string> = { created: 'created', resumed: 'resumed', existed: 'existed' }

/** One row per topic, and a total for several. Columns without content are omitted. */
export function formatTopics(
  { topics, totals, gaps }: Pick<RestoreReport, 'topics' | 'totals' | 'gaps'>,
  style: OutputStyle,
): string[] {
  const rows: Row[] = topics.map(topic => ({
    ...topic,
    origin: origins[topic.origin],
    gaps: gaps.filter(gap => gap.topic === topic.source).length,
  }))
  if (topics.length > 1) rows.push({ ...totals, source: 'TOTAL', target: '', origin: '', gaps: gaps.length })
  const count = (title: string, pick: (row: Row) => number): Column<Row> => ({
    title,
    align: 'right',
    cell: row => formatCount(pick(row)),
  })
  const some = (title: string, pick: (row: Row) => number) =>
    rows.some(row => pick(row) > 0) ? [count(title, pick)] : []
  return formatTable<Row>(
    [
      { title: 'SOURCE', cell: row => row.source, shrinks: true },
      { title: 'TARGET', cell: row => row.target, shrinks: true, paint: text => style.bold(text) },
      { title: 'TOPIC', dropAs: 3, cell: row => row.origin },
      count('PARTITIONS', row => row.partitions),
      count('RECORDS', row => row.records),
      { title: 'BYTES', align: 'right', cell: row => formatBytes(row.bytes) },
      { title: 'TIME', dropAs: 4, align: 'right', cell: formatTime },
      { title: 'RATE', dropAs: 5, align: 'right', cell: formatRate },
      ...some('FOUND', row => row.found),
      ...some('REBUILT', row => row.rebuilt),
      ...some('GAPS', row => row.gaps),
    ],
    rows,
    style,
  )
}

function formatTime({ durationMs, records }: Row): string {
  return durationMs === undefined || records === 0 ? '' : formatDuration(durationMs)
}

/** No rate for very short durations. */
function formatRate({ durationMs, bytes }: Row): string {
  return durationMs === undefined || durationMs < 1 ? '' : `${formatBytes(Math.round((bytes / durationMs) * 1000))}/s`
}
