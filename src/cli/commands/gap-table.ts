import { formatCount } from '../../lib/units.ts'
import type { GapReason } from '../../observe/progress.ts'
import type { ReportedGap } from '../../restore/report.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable, formatText } from '../table.ts'
import { printable } from '../text.ts'

const reasons: Record<GapReason, string> = {
  retention: 'deleted at the source before the backup read it',
  topic_deleted: 'the topic was deleted',
  topic_recreated: 'the topic was deleted and created again',
  source_truncated: 'the source lost records that this backup holds',
  unreadable: 'the source cannot read these offsets',
  damaged: 'objects of the backup were lost, and the backup was repaired without them',
}

/** Pure. A title of all gaps of a backup; `atSource` is what it says where all of them are losses of the source. */
export function gapTitle(atSource: string, gaps: readonly Pick<ReportedGap, 'reason'>[]): string {
  const damaged = gaps.filter(({ reason }) => reason === 'damaged').length
  if (damaged === 0) return `Gaps: ${atSource}`
  const ofBackup = 'lost with objects of the backup, which was repaired without them'
  return damaged === gaps.length ? `Gaps: ${ofBackup}` : `Gaps: lost at the source, or ${ofBackup}`
}

/** A titled table of gaps; empty without gaps. */
export function formatGaps(title: string, gaps: readonly ReportedGap[], style: OutputStyle): string[] {
  if (gaps.length === 0) return []
  const rows = formatTable<ReportedGap>(
    [
      { title: 'TOPIC', cell: gap => gap.topic, shrinks: true },
      { title: 'PARTITION', align: 'right', cell: gap => String(gap.partition) },
      { title: 'FROM', align: 'right', cell: gap => String(gap.from) },
      { title: 'TO', align: 'right', cell: gap => (gap.to === null ? '?' : String(gap.to)) },
      {
        title: 'OFFSETS',
        dropAs: 1,
        align: 'right',
        cell: gap => (gap.to === null ? '?' : formatCount(gap.to - gap.from)),
      },
      { title: 'REASON', wraps: true, cell: gap => reasons[gap.reason] },
    ],
    gaps,
    style,
  )
  return ['', style.warn(title), ...rows]
}

/** A titled list of warnings; empty without warnings. */
export function formatWarnings(warnings: readonly string[], style: OutputStyle): string[] {
  if (warnings.length === 0) return []
  return ['', style.warn('Warnings'), ...warnings.flatMap(warning => formatText(printable(warning), style, '  '))]
}
