import { largest } from '../lib/largest.ts'
import { fitColumns, GAP, wrapWords } from './fit-columns.ts'
import type { OutputStyle } from './output-style.ts'
import { printableLines } from './text.ts'

export interface Column<R> {
  title: string
  cell(row: R): string
  align?: 'right'
  /** A name: may be truncated if the terminal is too narrow. */
  shrinks?: true
  /** A text: wraps between words, or moves below its line if the terminal is narrower than its minimum width. */
  wraps?: true | number
  /** May be omitted if the terminal is too narrow; the highest number is omitted first. */
  dropAs?: number
  /** Colors the finished cell. */
  paint?(text: string, row: R): string
}

const INDENT = '    '

/** Aligned columns under dim titles. On a terminal they fit its width; omitted columns are named below the table. */
export function formatTable<R>(columns: readonly Column<R>[], rows: readonly R[], style: OutputStyle): string[] {
  const cells = rows.map(row => columns.map(column => printableLines(column.cell(row)).replaceAll('\n', ' ')))
  const wanted = columns.map(({ title }, at) =>
    largest(
      cells.map(line => line[at]?.length ?? 0),
      title.length,
    ),
  )
  const fit = fitColumns(
    columns.map(({ shrinks, wraps, dropAs }, at) => {
      const word = wraps && largest(cells.flatMap(line => (line[at] ?? '').split(' ').map(one => one.length)))
      return { wanted: wanted[at] ?? 0, shrinks, wraps, dropAs, word }
    }),
    style.columns,
  )
  const layOut = layOutOf(columns, fit.widths, style)
  const hasContent = (at: number) => columns[at]?.title !== '' && cells.some(line => line[at] !== '')
  const titles = columns.map(({ title }) => title)
  const below = (line: readonly string[], row: R) =>
    fit.below.flatMap(at => {
      const text = line[at] ?? ''
      const paint = (part: string) => columns[at]?.paint?.(part, row) ?? part
      return text === '' ? [] : wrapWords(text, (style.columns ?? 80) - INDENT.length).map(part => INDENT + paint(part))
    })
  const hidden = fit.dropped.filter(hasContent).map(at => titles[at])
  return [
    ...layOut(titles, text => style.dim(text)),
    ...rows.flatMap((row, at) => {
      const line = cells[at] ?? []
      return [...layOut(line, (text, column) => columns[column]?.paint?.(text, row) ?? text), ...below(line, row)]
    }),
    ...(hidden.length === 0 ? [] : [style.dim(`(too narrow for ${hidden.join(', ')})`)]),
  ]
}

type Paint = (text: string, at: number) => string

/** The lines of one row, as many as its longest text needs. */
function layOutOf<R>(columns: readonly Column<R>[], widths: readonly (number | undefined)[], style: OutputStyle) {
  const shown = columns.flatMap((column, at) => (widths[at] === undefined ? [] : [{ column, at, width: widths[at] }]))
  return (texts: readonly string[], paint: Paint): string[] => {
    const parts = shown.map(({ column, at, width }) => {
      const text = texts[at] ?? ''
      return column.wraps && text.length > width
        ? wrapWords(text, width)
        : [cutMiddle(text, column.wraps ? Number.POSITIVE_INFINITY : width, style)]
    })
    const height = Math.max(1, ...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, row) =>
      shown
        .map(({ column, at, width }, index) => {
          const text = parts[index]?.[row] ?? ''
          const padding = ' '.repeat(Math.max(0, width - text.length))
          if (column.align === 'right') return padding + paint(text, at)
          return index === shown.length - 1 ? paint(text, at) : paint(text, at) + padding
        })
        .join(GAP)
        .trimEnd(),
    )
  }
}

/** Keeps both ends, because names usually differ at one of them. */
export function cutMiddle(text: string, width: number, style: Pick<OutputStyle, 'hasUnicode'>): string {
  if (text.length <= width) return text
  const mark = style.hasUnicode ? '…' : '..'
  const kept = Math.max(0, width - mark.length)
  const head = Math.ceil(kept / 2)
  return `${text.slice(0, head)}${mark}${text.slice(text.length - (kept - head))}`
}

/** One line of a block; omitted without a value. */
export type Field = readonly [name: string, value: string | undefined, paint?: (text: string) => string]

/** A block of names and values, one per line. */
export function formatFields(fields: readonly Field[], style: OutputStyle): string[] {
  const width = Math.max(0, ...fields.map(([name, value]) => (value === undefined ? 0 : name.length)))
  const indent = ' '.repeat(width + GAP.length)
  const room = style.columns === undefined ? Number.POSITIVE_INFINITY : Math.max(20, style.columns - indent.length)
  return fields.flatMap(([name, value, paint = text => text]) => {
    if (value === undefined) return []
    const [first = '', ...rest] = wrapWords(printableLines(value).replaceAll('\n', ' '), room)
    return [`${style.dim(name.padEnd(width))}${GAP}${paint(first)}`, ...rest.map(line => indent + paint(line))]
  })
}

/** A paragraph that wraps between words on a terminal; further lines have the indentation of the first. */
export function formatText(text: string, style: OutputStyle, indent = ''): string[] {
  if (style.columns === undefined) return [indent + text]
  return wrapWords(text, style.columns - indent.length).map(line => indent + line)
}
