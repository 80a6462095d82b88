import { formatUtc } from '../lib/clock.ts'
import { formatCount } from '../lib/units.ts'

const LAST_DATE_MS = 8_640_000_000_000_000

/** A record timestamp to the second; the raw number if it is outside of the range of dates. */
export function formatTimestamp(ms: bigint | null): string {
  if (ms === null) return '-'
  // Records of message format v0 have no time.
  if (ms === -1n) return 'none'
  const value = Number(ms)
  return Math.abs(value) > LAST_DATE_MS ? ms.toString() : shorten(formatUtc(value))
}

/** A time of the manifest; unchanged if it is not a valid date. */
export function formatInstant(text: string): string {
  return /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) ? shorten(text) : printable(text)
}

function shorten(iso: string): string {
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}

/** The compression ratio; `-` without bytes. */
export function formatRatio(bytes: number, storedBytes: number): string {
  return bytes === 0 || storedBytes === 0 ? '-' : `${(bytes / storedBytes).toFixed(1)}x`
}

export function plural(count: number | bigint, noun: string): string {
  return `${formatCount(count)} ${BigInt(count) === 1n ? noun : `${noun}s`}`
}

/**
 * An untrusted name or value on one line: control characters, which could control a terminal or fake another
 * line, are escaped.
 */
export function printable(text: string): string {
  return printableLines(text).replace(/[\n\t]/g, showCode)
}

/** Like `printable`, for text with several lines. */
export function printableLines(text: string): string {
  return text.replace(/[[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]--[\n\t]]/gv, showCode)
}

/** Indents further lines, so that a name in a message cannot fake other output of the program. */
export function printableMessage(text: string): string {
  return printableLines(text).replace(/\n(?! {2})/g, '\n  ')
}

function showCode(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** The styles of `outputStyleOf`: the only control sequences that may reach a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches escape sequences
const style = /\x1b\[(?:1|2|22|31|32|33|39)m/

/** Text for a terminal: escapes all control characters except our own styles. */
export function terminalText(text: string): string {
  return text
    .split(new RegExp(`(${style.source})`))
    .map((part, at) => (at % 2 === 1 ? part : printableLines(part)))
    .join('')
}

/** Removes the Markdown marks from a text of the command table. */
export function withoutMarks(text: string): string {
  return text.replaceAll('`', '')
}
