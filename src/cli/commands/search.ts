import { KafkaBackupError, usageError } from '../../errors.ts'
import { type CatQuery, newTally, type Tally, totalsOf } from '../../inspect/cat.ts'
import type { ShownRecord } from '../../inspect/print-format.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable } from '../table.ts'
import { plural } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { formatOf, readQuery } from './cat.ts'
import { choiceOf } from './generation-choice.ts'

export async function run(session: Session): Promise<number> {
  const { options, clock, signal, actions } = session
  const query = readQuery(options)
  refuseNoCondition(query)
  if (options.count && options.print !== undefined) throw usageError('pass either --print or --count, not both')
  const choice = choiceOf(options)
  const format = formatOf(session)
  const tally = newTally()
  const startedAt = clock.monotonic()
  const take = options.count ? countAll : (records: AsyncIterable<ShownRecord>) => session.printAll(format(records))
  await withBackup(session, (storage, backupId) =>
    session.withProgress('search', 'reading the backup', onProgress =>
      actions.catAt(storage, backupId, { query, tally, onProgress, ...choice }, signal, take),
    ),
  )
  const totals = totalsOf(tally)
  if (options.count)
    session.print(
      () => formatCounts(tally, session.style),
      () => countsDocument(tally),
    )
  if (!options.quiet) session.tell(() => [formatSummary(tally, clock.monotonic() - startedAt)])
  if (totals.matched > 0 || !options.requireMatch) return 0
  throw new KafkaBackupError('NO_MATCH', `none of ${plural(totals.searched, 'record')} meets the conditions`)
}

/** Without one it would be `cat` of everything. */
function refuseNoCondition({ key, keyPrefix, text, paths = [], headers, extent: { times } }: CatQuery): void {
  const given = [key, keyPrefix, text, times.start, times.end, ...paths, ...headers].filter(one => one !== undefined)
  if (given.length > 0) return
  throw usageError(
    'search needs a condition: --key, --key-prefix, --text, --where, --header, --since or --until; `kafka-backup cat` prints all records',
  )
}

async function countAll(records: AsyncIterable<ShownRecord>): Promise<void> {
  for await (const _ of records);
}

function formatCounts({ topics }: Tally, style: OutputStyle): string[] {
  const columns = [
    { title: 'TOPIC', cell: ([name]: Row) => name, shrinks: true as const },
    { title: 'FOUND', cell: ([, { matched }]: Row) => formatCount(matched), align: 'right' as const },
    { title: 'SEARCHED', cell: ([, { searched }]: Row) => formatCount(searched), align: 'right' as const },
  ]
  return formatTable(columns, [...topics], style)
}

type Row = readonly [string, { searched: number; matched: number }]

function countsDocument(tally: Tally): object {
  const topics = [...tally.topics].map(([topic, { matched, searched }]) => ({ topic, found: matched, searched }))
  const { matched, searched } = totalsOf(tally)
  return { found: matched, searched, not_decoded: tally.notDecoded, bytes: tally.bytes, topics }
}

function formatSummary(tally: Tally, ms: number): string {
  const { matched, searched } = totalsOf(tally)
  const found = `found ${formatCount(matched)} of ${plural(searched, 'record')}`
  const extent = `in ${plural(tally.topics.size, 'topic')}, ${formatBytes(tally.bytes)} read in ${formatDuration(ms)}`
  const raw = tally.notDecoded
  const note =
    raw === 0
      ? ''
      : `; ${plural(raw, 'value')} could not be decoded and ${raw === 1 ? 'was' : 'were'} searched as stored`
  return `search: ${found} ${extent}${note}`
}
