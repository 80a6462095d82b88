import { detailsField } from '../../errors.ts'
import { formatCount } from '../../lib/units.ts'
import type { LaggingGroup, LaggingPosition, LagReport } from '../../offsets/lag.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable } from '../table.ts'
import { plural, printable } from '../text.ts'

/** One row per group. */
export function formatGroups({ groups, leftOut }: LagReport, style: OutputStyle): string[] {
  if (groups.length === 0) return ['There are no consumer groups.', ...formatLeftOut(leftOut, style)]
  const table = formatTable<LaggingGroup>(
    [
      { title: 'GROUP', cell: one => one.group, shrinks: true, paint: text => style.bold(text) },
      { title: 'TYPE', dropAs: 3, cell: one => one.type },
      { title: 'STATE', cell: one => one.state },
      { title: 'MEMBERS', align: 'right', cell: one => formatCount(one.members) },
      {
        title: 'TOPICS',
        dropAs: 2,
        align: 'right',
        cell: one => formatCount(new Set(one.positions.map(p => p.topic)).size),
      },
      { title: 'PARTITIONS', dropAs: 1, align: 'right', cell: one => formatCount(one.positions.length) },
      { title: 'LAG', align: 'right', cell: one => (one.error ? '?' : formatCount(totalLag(one))) },
    ],
    groups,
    style,
  )
  const errors = groups.flatMap(({ group, error }) =>
    error ? [`  ${printable(group)}: ${printable(error.message)}`] : [],
  )
  return [
    ...table,
    ...(errors.length > 0 ? ['', style.bad('Could not be read'), ...errors] : []),
    ...formatLeftOut(leftOut, style),
  ]
}

/** One row per partition. */
export function formatPositions({ groups }: LagReport, style: OutputStyle): string[] {
  return groups.flatMap((one, at) => {
    const title = `${style.bold(printable(one.group))}: ${one.type}, ${one.state}, ${plural(one.members, 'member')}`
    if (one.error) return [...(at > 0 ? [''] : []), title, style.bad(printable(one.error.message))]
    const table = formatTable<LaggingPosition>(
      [
        { title: 'TOPIC', cell: row => row.topic, shrinks: true },
        { title: 'PARTITION', align: 'right', cell: row => String(row.partition) },
        { title: 'OFFSET', align: 'right', cell: row => String(row.offset) },
        { title: 'LOG START', dropAs: 1, align: 'right', cell: row => String(row.logStart ?? '-') },
        { title: 'LOG END', align: 'right', cell: row => String(row.logEnd ?? '-') },
        { title: 'LAG', align: 'right', cell: row => String(row.lag ?? '-') },
        { title: 'METADATA', dropAs: 2, cell: row => row.metadata, shrinks: true },
      ],
      one.positions,
      style,
    )
    const rows = one.positions.length > 0 ? table : ['  no committed offsets']
    return [...(at > 0 ? [''] : []), title, ...rows, ...formatUndecided(one, style)]
  })
}

function formatUndecided({ undecided }: LaggingGroup, style: OutputStyle): string[] {
  if (undecided.length === 0) return []
  const places = undecided.map(({ topic, partition }) => `${printable(topic)}/${partition}`)
  return [
    style.dim(
      `An open transaction contains a newer offset of ${places.join(', ')}; the table shows the last committed one`,
    ),
  ]
}

function formatLeftOut(leftOut: LagReport['leftOut'], style: OutputStyle): string[] {
  if (leftOut.length === 0) return []
  const names = leftOut.map(({ group, type }) => `${printable(group)} (${type})`)
  return ['', style.dim(`Not shown, because these types of groups are not known: ${names.join(', ')}`)]
}

/** An offset beyond the end of the log counts as no lag. */
function totalLag({ positions }: LaggingGroup): bigint {
  return positions.reduce((sum, { lag }) => sum + (lag !== null && lag > 0n ? lag : 0n), 0n)
}

export function groupsDocument({ groups, leftOut }: LagReport) {
  return {
    groups: groups.map(one => ({
      group: one.group,
      type: one.type,
      state: one.state,
      members: one.members,
      lag: one.error ? null : totalLag(one),
      ...(one.error && { error: { code: one.error.code, message: one.error.message, ...detailsField(one.error) } }),
      positions: one.positions.map(row => ({
        topic: row.topic,
        partition: row.partition,
        offset: row.offset,
        leader_epoch: row.leaderEpoch,
        metadata: row.metadata,
        log_start: row.logStart,
        log_end: row.logEnd,
        lag: row.lag,
      })),
      undecided: one.undecided,
    })),
    left_out: leftOut,
  }
}
