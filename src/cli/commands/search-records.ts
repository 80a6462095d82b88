import { KafkaBackupError, usageError } from '../../errors.ts'
import { type CatQuery, newTally, type Tally, totalsOf } from '../../inspect/cat.ts'
import type { ShownRecord } from '../../inspect/print-format.ts'
import type { SieveWorkers } from '../../inspect/sieve-workers.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { OnProgress } from '../../observe/progress.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable } from '../table.ts'
import { plural } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { formatNotDecoded, formatOf, refuseDamagedSchemas } from './cat.ts'
import { choiceOf } from './generation-choice.ts'
import { readQuery } from './record-query.ts'

export async function searchRecords(session: Session, workers: SieveWorkers): Promise<number> {
  const { options, clock, signal, actions } = session
  const query = { ...readQuery(options), allIncarnations: true, showsHeaders: !options.count }
  refuseNoCondition(query)
  if (options.count && options.print !== undefined) throw usageError('pass either --print or --count, not both')
  const choice = choiceOf(options)
  const format = formatOf(session)
  const tally = newTally()
  const warnings: string[] = []
  const startedAt = clock.monotonic()
  const take = options.count ? countAll : (records: AsyncIterable<ShownRecord>) => session.printAll(format(records))
  const tell = (end: string) => {
    const summary = `search: ${formatSummary(tally, clock.monotonic() - startedAt)}${end}`
    if (options.quiet || session.tell(() => [summary])) return
    session.log.write(tally.notDecoded + tally.keysNotDecoded > 0 ? 'warn' : 'info', summary)
  }
  try {
    await withBackup(session, (storage, backupId) => {
      const search = (report: OnProgress) => {
        const onProgress: OnProgress = event => {
          if (event.type === 'warning') warnings.push(event.message)
          report(event)
        }
        return actions.catAt(storage, backupId, { query, tally, onProgress, workers, ...choice }, signal, take)
      }
      // A bar on the same terminal would erase what does not end with a line break.
      return options.print === undefined
        ? session.withProgress('search', 'reading the backup', search)
        : search(session.onProgress)
    })
  } catch (error) {
    if (tally.topics.size > 0) tell('; it did not come to the end')
    throw error
  }
  if (options.count) {
    session.print(
      () => formatCounts(tally, session.style),
      () => ({ ...countsDocument(tally), warnings }),
    )
  }
  tell(
    session.isOutputClosed ? '; it stopped when its output was closed' : tally.isCut ? '; it stopped at --limit' : '',
  )
  return judge(tally, options.requireMatch)
}

function judge(tally: Tally, requireMatch: boolean): number {
  const { matched, searched } = totalsOf(tally)
  refuseDamagedSchemas(tally)
  if (matched > 0 || !requireMatch) return 0
  const message = `none of ${plural(searched, 'record')} meets the conditions${formatNotDecoded(tally)}`
  throw new KafkaBackupError('NO_MATCH', message)
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
  const { notDecoded: not_decoded, keysNotDecoded: keys_not_decoded, bytes } = tally
  return { found: matched, searched, not_decoded, keys_not_decoded, bytes, topics }
}

function formatSummary(tally: Tally, ms: number): string {
  const { matched, searched } = totalsOf(tally)
  const found = `found ${formatCount(matched)} of ${plural(searched, 'record')}`
  const extent = `in ${plural(tally.topics.size, 'topic')}, ${formatBytes(tally.bytes)} read in ${formatDuration(ms)}`
  return `${found} ${extent}${formatNotDecoded(tally)}`
}
