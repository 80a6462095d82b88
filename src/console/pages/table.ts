import { formatCount } from '../../lib/units.ts'
import { type Html, html, nothing } from '../html.ts'
import { withQuery } from '../links.ts'

export interface Column<R> {
  /** In the query, for the order. */
  key: string
  title: string
  cell: (row: R) => Html | string
  /** What rows are ordered by. */
  order: (row: R) => string | number | bigint | null
  isNumber?: true
}

/** One table of a page; its place in the list and its order are in the query under its own name. */
export interface TableSpec<R> {
  name: string
  caption: string
  columns: readonly Column<R>[]
  rows: readonly R[]
  /** What is shown without rows. */
  empty: string
  rawPath: string
  query: URLSearchParams
  pageRows?: number
  /** What the rows were filtered by, where the page offers that. */
  filter?: { label: string; text: string | undefined }
}

const PAGE_ROWS = 50

/** Pure. The rows of the page that is asked for, in the order that is asked for. */
export function pageOf<R>({ name, columns, rows, query, pageRows = PAGE_ROWS }: TableSpec<R>): Paged<R> {
  const asked = query.get(`${name}-sort`) ?? ''
  const isDown = asked.startsWith('-')
  const column = columns.find(({ key }) => key === asked.replace(/^-/, ''))
  const ordered = column ? orderBy(rows, column, isDown) : rows
  const pages = Math.max(1, Math.ceil(rows.length / pageRows))
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(query.get(`${name}-page`) ?? 1)) || 1))
  const from = (page - 1) * pageRows
  return { rows: ordered.slice(from, from + pageRows), column, isDown, page, pages, from, total: rows.length }
}

interface Paged<R> {
  rows: readonly R[]
  column: Column<R> | undefined
  isDown: boolean
  page: number
  pages: number
  from: number
  total: number
}

function orderBy<R>(rows: readonly R[], { order }: Column<R>, isDown: boolean): R[] {
  const keyed = rows.map(row => ({ row, key: order(row) }))
  keyed.sort((a, b) => (isDown ? -1 : 1) * compare(a.key, b.key))
  return keyed.map(({ row }) => row)
}

function compare(a: string | number | bigint | null, b: string | number | bigint | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}

/** A table whose columns order it, in pages. Works without a script: every order and page is a link. */
export function showTable<R>(spec: TableSpec<R>): Html {
  const { name, caption, columns, empty, filter } = spec
  const paged = pageOf(spec)
  const search = filter ? showFilter(spec, filter) : nothing
  if (paged.total === 0) return html`${search}<p class="none">${empty}</p>`
  return html`${search}
<div class="scroll" role="region" aria-label="${caption}" tabindex="0" id="${name}">
<table><caption>${caption}</caption>
<thead><tr>${columns.map(column => showHead(spec, paged, column))}</tr></thead>
<tbody>${paged.rows.map(
    row => html`<tr>${columns.map(({ cell, isNumber }) => html`<td class="${isNumber ? 'number' : 'text'}">${cell(row)}</td>`)}</tr>
`,
  )}</tbody></table></div>${showPager(spec, paged)}`
}

function showHead<R>(spec: TableSpec<R>, { column, isDown }: Paged<R>, { key, title, isNumber }: Column<R>): Html {
  const isOwn = column?.key === key
  const next = isOwn && !isDown ? `-${key}` : key
  const link = linkTo(spec, { sort: next })
  const order = isOwn ? (isDown ? 'descending' : 'ascending') : 'none'
  const mark = isOwn ? html`<span aria-hidden="true">${isDown ? ' ▼' : ' ▲'}</span>` : nothing
  return html`<th scope="col" aria-sort="${order}" class="${isNumber ? 'number' : 'text'}"><a href="${link}">${title}${mark}</a></th>`
}

function showPager<R>(spec: TableSpec<R>, { page, pages, from, rows, total }: Paged<R>): Html {
  if (pages === 1) return nothing
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > pages || to === page
      ? html`<span class="none">${text}</span>`
      : html`<a href="${linkTo(spec, { page: to })}" rel="${rel}">${text}</a>`
  return html`<nav class="pager" aria-label="Pages of ${spec.caption}">
${link(1, 'First', 'first')} ${link(page - 1, 'Previous', 'prev')}
<span>${formatCount(from + 1)}&ndash;${formatCount(from + rows.length)} of ${formatCount(total)}</span>
${link(page + 1, 'Next', 'next')} ${link(pages, 'Last', 'last')}</nav>`
}

function showFilter<R>(
  { name, rawPath, query }: TableSpec<R>,
  { label, text }: { label: string; text: string | undefined },
): Html {
  const kept = [...query].filter(([key]) => key !== `${name}-filter` && key !== `${name}-page`)
  return html`<form class="filter" method="get" action="${rawPath}" role="search">
${kept.map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`)}
<label for="${name}-filter">${label}</label>
<input type="search" id="${name}-filter" name="${name}-filter" value="${text ?? ''}" autocomplete="off" spellcheck="false">
<button>Filter</button></form>`
}

function linkTo<R>({ name, rawPath, query }: TableSpec<R>, { sort, page }: { sort?: string; page?: number }): string {
  const values = Object.fromEntries(query)
  const changed = {
    ...values,
    ...(sort !== undefined && { [`${name}-sort`]: sort }),
    [`${name}-page`]: page === 1 ? undefined : page,
  }
  return `${withQuery(rawPath, changed)}#${name}`
}

/** Pure. Whether a name contains the text of a filter, in any case. */
export function fitsFilter(name: string, text: string | undefined): boolean {
  return text === undefined || name.toLowerCase().includes(text.toLowerCase())
}
