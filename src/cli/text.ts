import { formatUtc } from '../lib/clock.ts'
import { formatCount } from '../lib/units.ts'

const LAST_DATE_MS = 8_640_000_000_000_000

/** A record's time to the second; its digits where it lies outside of what dates can say. */
export function formatTimestamp(ms: bigint | null): string {
  if (ms === null) return '-'
  const value = Number(ms)
  return Math.abs(value) > LAST_DATE_MS ? ms.toString() : shorten(formatUtc(value))
}

/** A time of the manifest; as it is where it is no date. */
export function formatInstant(text: string): string {
  return /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) ? shorten(text) : printable(text)
}

function shorten(iso: string): string {
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}

/** How much smaller the stored bytes are; nothing to say where there are none. */
export function formatRatio(bytes: number, storedBytes: number): string {
  return bytes === 0 || storedBytes === 0 ? '-' : `${(bytes / storedBytes).toFixed(1)}x`
}

export function plural(count: number | bigint, noun: string): string {
  return `${formatCount(count)} ${BigInt(count) === 1n ? noun : `${noun}s`}`
}

/**
 * A name or value of unknown origin, on one line: control characters, which could steer a terminal or pretend to be the next
 * line, are shown as their codes.
 */
export function printable(text: string): string {
  return printableLines(text).replace(/[\n\t]/g, showCode)
}

/** The same for text that may have several lines. */
export function printableLines(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, showCode)
}

/** With its further lines indented: a name in a message cannot pretend to be what the program prints below it. */
export function printableMessage(text: string): string {
  return printableLines(text).replace(/\n(?! {2})/g, '\n  ')
}

function showCode(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** The styles of `lookOf`: the only control sequences that text may hold when it reaches a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences are what is looked for
const style = /\x1b\[(?:1|2|22|31|32|33|39)m/

/** What leaves for a terminal: everything that could steer it is shown as its code, except our own styles. */
export function terminalText(text: string): string {
  return text
    .split(new RegExp(`(${style.source})`))
    .map((part, at) => (at % 2 === 1 ? part : printableLines(part)))
    .join('')
}

/** A text of the command table without the marks that only documentation shows. */
export function withoutMarks(text: string): string {
  return text.replaceAll('`', '')
}
