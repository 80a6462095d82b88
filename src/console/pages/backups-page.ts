import type { Totals } from '../../archive/summary.ts'
import { runPool } from '../../lib/pool.ts'
import { formatAgo, formatBytes, formatCount } from '../../lib/units.ts'
import type { ArchiveReader } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import { backupLink } from '../links.ts'
import { type BackupRow, type BackupState, fillRow, listAll } from '../list-backups.ts'
import { type PageRequest, textIn } from '../page-request.ts'
import { showPage } from './layout.ts'
import { type Column, fitsFilter, pageOf, showTable, type TableSpec } from './table.ts'
import { showVerified, verifiedOrder } from './verified.ts'
import { badge, plural, showFailure, showTime } from './words.ts'

const BACKUPS_AT_ONCE = 4

/** The page of all backups. Opens only those that it shows, unless it orders them by what is inside. */
export async function backupsPage(reader: ArchiveReader, request: PageRequest): Promise<Html> {
  const { query, rawPath, signal, clock } = request
  const filter = textIn(query, 'backups-filter')
  const { rows: all, problems } = await listAll(reader, signal)
  const rows = all.filter(({ backupId }) => fitsFilter(backupId, filter))
  const spec: TableSpec<BackupRow> = {
    ...{ name: 'backups', caption: 'Backups', rawPath, query, rows, empty: 'There are no backups here.' },
    columns: columnsOf(reader.locations.length > 1, clock.now()),
    ...(all.length > 10 && { filter: { label: 'Name contains', text: filter } }),
  }
  const sort = query.get('backups-sort')?.replace(/^-/, '')
  const isByName = sort === undefined || sort === 'name' || sort === 'location'
  const wanted = isByName ? pageOf(spec).rows : rows
  await runPool(wanted, BACKUPS_AT_ONCE, row => fillRow(reader, row, signal))
  return showBackups(spec, problems)
}

/** Pure, where the rows are filled. */
function showBackups(spec: TableSpec<BackupRow>, problems: readonly string[]): Html {
  const body = html`<h1>Backups</h1>${problems.map(text => html`<p class="notice bad">${text}</p>`)}${showTable(spec)}`
  return showPage({ title: 'Backups', body, isList: true })
}

function columnsOf(hasLocations: boolean, nowMs: number): Column<BackupRow>[] {
  const read = <T>(row: BackupRow, pick: (state: BackupState) => T): T | undefined =>
    row.state && 'totals' in row.state ? pick(row.state) : undefined
  const number = (key: string, title: string, pick: (totals: Totals) => number, show: (n: number) => string) => ({
    ...{ key, title, isNumber: true as const },
    cell: (row: BackupRow) => read(row, ({ totals }) => show(pick(totals))) ?? '',
    order: (row: BackupRow) => read(row, ({ totals }) => pick(totals)) ?? null,
  })
  return [
    {
      ...{ key: 'name', title: 'Backup', order: row => row.backupId },
      cell: row => html`<a href="${backupLink(row)}">${row.backupId}</a>`,
    },
    ...(hasLocations
      ? [
          {
            key: 'location',
            title: 'Location',
            cell: (row: BackupRow) => row.location,
            order: (row: BackupRow) => row.location,
          },
        ]
      : []),
    {
      ...{ key: 'age', title: 'Last commit', order: row => read(row, one => one.created_at) ?? null },
      cell: row =>
        read(row, one => html`${formatAgo(one.created_at, nowMs)} <small>${showTime(one.created_at)}</small>`) ??
        nothing,
    },
    {
      ...{ key: 'state', title: 'State', order: row => stateWord(row) },
      cell: row => showState(row),
    },
    {
      ...{ key: 'verified', title: 'Last verification', order: row => read(row, verifiedOrder) ?? null },
      cell: row => read(row, one => showVerified(one.verified, nowMs)) ?? nothing,
    },
    number('topics', 'Topics', totals => totals.topics, formatCount),
    number('records', 'Records', totals => totals.records, formatCount),
    number('stored', 'Stored', totals => totals.stored_bytes, formatBytes),
    {
      ...number('gaps', 'Gaps', totals => totals.gaps, formatCount),
      cell: row =>
        read(row, ({ totals }) => (totals.gaps === 0 ? 'none' : badge('warn', formatCount(totals.gaps)))) ?? '',
    },
  ]
}

function stateWord({ state }: BackupRow): string {
  if (!state) return ''
  if ('error' in state) return state.failure
  return state.complete ? 'complete' : 'incomplete'
}

/** Pure. */
export function showState(row: BackupRow): Html {
  const { state } = row
  if (!state) return nothing
  if ('error' in state) return html`${showFailure(state.failure)} <small>${state.error}</small>`
  const stale =
    state.staleTopics > 0 &&
    html` ${badge('warn', plural(state.staleTopics, 'topic'))} <small>may hold deleted keys</small>`
  const damaged =
    state.damagedObjects > 0 &&
    html` ${badge('warn', plural(state.damagedObjects, 'damaged object'))} <small>older objects are read instead</small>`
  return html`${badge(state.complete ? 'good' : 'warn', stateWord(row))}${state.encrypted && html` ${badge('plain', 'encrypted')}`}${damaged}${stale}`
}
