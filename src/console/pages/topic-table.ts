import type { DescribedTopic } from '../../archive/describe.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import { type Html, html } from '../html.ts'
import { type BackupPlace, topicLink } from '../links.ts'
import type { Column } from './table.ts'
import { showWindow, type TimeSpan } from './time-axis.ts'
import { badge, plural, showTime } from './words.ts'

/** A drawing of more tells nothing more. */
const MAX_MARKS = 100

/** Pure. The topics of a backup, each with its recovery window and gaps on the time axis of the backup, if that is known. */
export function topicColumns(place: BackupPlace, span: TimeSpan | undefined): Column<DescribedTopic>[] {
  return [
    {
      ...{ key: 'name', title: 'Topic', order: topic => topic.selector },
      cell: topic =>
        html`<a href="${topicLink(place, topic.selector)}">${topic.selector}</a>${topic.state !== 'current' && html` ${badge('plain', topic.state)}`}`,
    },
    {
      ...{ key: 'partitions', title: 'Partitions', isNumber: true, order: topic => topic.partition_count },
      cell: topic => formatCount(topic.partition_count),
    },
    {
      ...{ key: 'records', title: 'Records', isNumber: true, order: topic => topic.records },
      cell: topic => formatCount(topic.records),
    },
    {
      ...{ key: 'stored', title: 'Stored', isNumber: true, order: topic => topic.stored_bytes },
      cell: topic => formatBytes(topic.stored_bytes),
    },
    {
      ...{ key: 'last', title: 'Last record', order: topic => topic.last_timestamp },
      cell: topic => showTime(topic.last_timestamp),
    },
    {
      ...{ key: 'gaps', title: 'Gaps', isNumber: true, order: topic => topic.gaps.length },
      cell: topic => (topic.gaps.length === 0 ? 'none' : badge('warn', formatCount(topic.gaps.length))),
    },
    {
      ...{
        key: 'window',
        title: 'Recovery window and gaps',
        order: topic => topic.recovery_window?.oldest.created_at ?? null,
      },
      cell: topic => (span ? showTopicWindow(topic, span) : html`<span class="none">not read yet</span>`),
    },
  ]
}

function showTopicWindow({ recovery_window: window, gaps }: DescribedTopic, span: TimeSpan): Html {
  const label = window
    ? `Restorable from ${window.oldest.created_at} (generation ${window.oldest.generation}) to ${window.newest.created_at} (generation ${window.newest.generation}), ${plural(gaps.length, 'gap')}`
    : 'No complete generation holds it'
  const times =
    window === null
      ? undefined
      : { fromMs: Date.parse(window.oldest.created_at), toMs: Date.parse(window.newest.created_at) }
  const marks = gaps.slice(0, MAX_MARKS).map(({ found_at }) => Date.parse(found_at))
  return showWindow(span, times, marks, label)
}
