import { formatUtc } from '../../lib/clock.ts'
import { formatCount } from '../../lib/units.ts'
import { type Html, html } from '../html.ts'

const LAST_DATE_MS = 8_640_000_000_000_000

/** A time of a record or of the manifest, to the second and in UTC; a number that is not a date as it is. */
export function showTime(time: bigint | number | string | null | undefined): Html {
  if (time === null || time === undefined) return html`<span class="none">none</span>`
  const ms = typeof time === 'string' ? Date.parse(time) : Number(time)
  if (!Number.isFinite(ms) || Math.abs(ms) > LAST_DATE_MS) return html`${String(time)}`
  const iso = formatUtc(ms)
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z')}</time>`
}

/** The same with milliseconds, for a single record. */
export function exactTime(timestamp: bigint): string {
  const ms = Number(timestamp)
  return Math.abs(ms) > LAST_DATE_MS ? String(timestamp) : formatUtc(ms)
}

const ages: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** How long ago something was, in its largest unit. */
export function showAge(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time)
  if (!Number.isFinite(ms)) return 'unknown'
  const [size, unit] = ages.find(([one]) => ms >= one) ?? [1000, 's']
  return ms < 1000 ? 'just now' : `${Math.floor(ms / size)} ${unit} ago`
}

export function plural(count: number | bigint, noun: string): string {
  return `${formatCount(count)} ${BigInt(count) === 1n ? noun : `${noun}s`}`
}

/** A short word with a color that repeats what it says. */
export function badge(kind: 'good' | 'warn' | 'bad' | 'plain', text: string): Html {
  return html`<span class="badge ${kind}">${text}</span>`
}

/** Names and values, each in a line. Values that are undefined are left out. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | undefined])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}
