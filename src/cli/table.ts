import type { Look } from './look.ts'
import { printable } from './text.ts'

export interface Column<R> {
  title: string
  cell(row: R): string
  align?: 'right'
  /** May be cut where the terminal is too narrow. */
  shrinks?: true
  /** Colours the finished cell. */
  paint?(text: string, row: R): string
}

const GAP = '  '
const NARROWEST = 12

/** Aligned columns under dim titles. On a terminal the columns that shrink are cut until a line fits. */
export function formatTable<R>(columns: readonly Column<R>[], rows: readonly R[], look: Look): string[] {
  const cells = rows.map(row => columns.map(column => printable(column.cell(row)).replaceAll('\n', ' ')))
  const wanted = columns.map(({ title }, at) => Math.max(title.length, ...cells.map(line => line[at]?.length ?? 0)))
  const widths = fitWidths(columns, wanted, look.columns)
  const layOut = (texts: readonly string[], paint: (text: string, at: number) => string) =>
    columns
      .map(({ align }, at) => {
        const width = widths[at] ?? 0
        const text = cutMiddle(texts[at] ?? '', width, look)
        const padding = ' '.repeat(width - text.length)
        if (align === 'right') return padding + paint(text, at)
        return at === columns.length - 1 ? paint(text, at) : paint(text, at) + padding
      })
      .join(GAP)
      .trimEnd()
  const titles = columns.map(column => column.title)
  return [
    layOut(titles, text => look.dim(text)),
    ...rows.map((row, at) => layOut(cells[at] ?? [], (text, column) => columns[column]?.paint?.(text, row) ?? text)),
  ]
}

/** Takes the excess from the widest of the columns that shrink, one character at a time. */
function fitWidths(
  columns: readonly { shrinks?: true }[],
  wanted: readonly number[],
  limit: number | undefined,
): number[] {
  const widths = [...wanted]
  if (limit === undefined) return widths
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1) - limit
  for (; excess > 0; excess--) {
    const shrinkable = widths.map((width, at) => (columns[at]?.shrinks && width > NARROWEST ? width : 0))
    const widest = Math.max(...shrinkable)
    if (widest === 0) break
    widths[shrinkable.indexOf(widest)] = widest - 1
  }
  return widths
}

/** Keeps both ends: names that differ mostly do so at one of them. */
export function cutMiddle(text: string, width: number, look: Pick<Look, 'hasUnicode'>): string {
  if (text.length <= width) return text
  const mark = look.hasUnicode ? '…' : '..'
  const kept = Math.max(0, width - mark.length)
  const head = Math.ceil(kept / 2)
  return `${text.slice(0, head)}${mark}${text.slice(text.length - (kept - head))}`
}

/** One line of a block; without a value it is left out. */
export type Field = readonly [name: string, value: string | undefined, paint?: (text: string) => string]

/** A block of names and values, one a line. */
export function formatFields(fields: readonly Field[], look: Look): string[] {
  const width = Math.max(0, ...fields.map(([name, value]) => (value === undefined ? 0 : name.length)))
  return fields.flatMap(([name, value, paint = text => text]) =>
    value === undefined ? [] : [`${look.dim(name.padEnd(width))}${GAP}${paint(printable(value))}`],
  )
}
