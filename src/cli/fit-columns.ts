import { stripVTControlCharacters } from 'node:util'

/** The properties of a column that determine its width. */
interface Fitted {
  /** The width of the widest cell, including the title. */
  wanted: number
  shrinks?: true | undefined
  /** True, or the minimum readable width. */
  wraps?: true | number | undefined
  dropAs?: number | undefined
  /** The length of the longest word, which is not broken. */
  word?: number | undefined
}

interface Fit {
  /** The width of each column; undefined if it is omitted from the line. */
  widths: (number | undefined)[]
  /** Texts that are printed below their line, with its full width. */
  below: number[]
  dropped: number[]
}

export const GAP = '  '
/** Minimum widths for a recognizable name and a readable text. */
const EASY_NAME = 24
const EASY_TEXT = 32
const LEAST_NAME = 12

/**
 * Pure. Fits columns into a line, in steps until it suffices: wrap texts and truncate names to a
 * comfortable width, drop optional columns, move texts below the line, truncate names further.
 */
export function fitColumns(columns: readonly Fitted[], limit: number | undefined): Fit {
  const below = new Set<number>()
  const dropped = new Set<number>()
  const shown = () => columns.flatMap((_, at) => (below.has(at) || dropped.has(at) ? [] : [at]))
  const result = (widths: ReadonlyMap<number, number>): Fit => ({
    widths: columns.map((_, at) => widths.get(at)),
    below: [...below].sort((a, b) => a - b),
    dropped: [...dropped].sort((a, b) => a - b),
  })
  for (;;) {
    const widths = narrow(columns, shown(), limit, EASY_NAME)
    if (limit === undefined || widthOf(widths) <= limit) return result(widths)
    const next = lastToDrop(columns, shown())
    const text = shown().findLast(at => columns[at]?.wraps)
    if (next !== undefined) dropped.add(next)
    else if (text !== undefined) {
      below.add(text)
      // The space it leaves may be enough for the others.
      dropped.clear()
    } else return result(narrow(columns, shown(), limit, LEAST_NAME))
  }
}

/** Shrinks texts first, then the widest names, one character at a time. */
function narrow(
  columns: readonly Fitted[],
  shown: readonly number[],
  limit: number | undefined,
  leastName: number,
): Map<number, number> {
  const widths = new Map(shown.map(at => [at, columns[at]?.wanted ?? 0]))
  if (limit === undefined) return widths
  const take = (leastOf: (column: Fitted) => number | undefined) => {
    const least = (at: number) => (columns[at] && leastOf(columns[at])) ?? Number.POSITIVE_INFINITY
    for (let excess = widthOf(widths) - limit; excess > 0; excess--) {
      const wide = shown.filter(at => (widths.get(at) ?? 0) > least(at))
      const widest = wide.toSorted((a, b) => (widths.get(b) ?? 0) - (widths.get(a) ?? 0))[0]
      if (widest === undefined) return
      widths.set(widest, (widths.get(widest) ?? 0) - 1)
    }
  }
  take(({ wraps, word = 0 }) => (wraps === undefined ? undefined : Math.max(word, wraps === true ? EASY_TEXT : wraps)))
  take(({ shrinks }) => (shrinks ? leastName : undefined))
  return widths
}

function widthOf(widths: ReadonlyMap<number, number>): number {
  return [...widths.values()].reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.size - 1)
}

function lastToDrop(columns: readonly Fitted[], shown: readonly number[]): number | undefined {
  const rank = (at: number) => columns[at]?.dropAs ?? 0
  const last = shown.reduce((best, at) => (rank(at) > rank(best) ? at : best), shown[0] ?? -1)
  return rank(last) > 0 ? last : undefined
}

/** Wraps text between words; a word longer than the width gets a separate line. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  let line: string | undefined
  for (const word of text.split(' ')) {
    const longer: string = line === undefined ? word : `${line} ${word}`
    if (line === undefined || stripVTControlCharacters(longer).length <= width) line = longer
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line ?? '']
}
