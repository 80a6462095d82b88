import type { ReadFailure } from '../../archive/read-failure.ts'
import { formatUtc } from '../../lib/clock.ts'
import { formatCount } from '../../lib/units.ts'
import { type Html, html } from '../html.ts'

const LAST_DATE_MS = 8_640_000_000_000_000

/** A time of a record or of the manifest, to the second and in UTC; a number that is not a date as it is, and none for -1, as in Kafka. */
export function showTime(time: bigint | number | string | null | undefined): Html {
  if (time === null || time === undefined || time === NO_TIME) return html`<span class="none">none</span>`
  const ms = typeof time === 'string' ? Date.parse(time) : Number(time)
  if (!isDate(ms)) return html`${String(time)}`
  const iso = formatUtc(ms)
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z')}</time>`
}

/** The same with milliseconds, and the number, for a single record. */
export function showExactTime(timestamp: bigint): Html {
  if (!isDate(Number(timestamp))) return html`not a date <small>${timestamp}</small>`
  if (timestamp === NO_TIME) return html`none <small>${timestamp}</small>`
  const iso = formatUtc(Number(timestamp))
  return html`<time datetime="${iso}">${iso}</time> <small>${timestamp}</small>`
}

const NO_TIME = -1n

function isDate(ms: number): boolean {
  return Number.isFinite(ms) && Math.abs(ms) <= LAST_DATE_MS
}

export function plural(count: number | bigint, noun: string): string {
  return `${formatCount(count)} ${BigInt(count) === 1n ? noun : `${noun}s`}`
}

/** A short word with a color that repeats what it says. */
export function badge(kind: 'good' | 'warn' | 'bad' | 'plain', text: string): Html {
  return html`<span class="badge ${kind}">${text}</span>`
}

/** Why a backup or a generation could not be read. A missing key is not a fault. */
export function showFailure(failure: ReadFailure): Html {
  return badge(failure === 'encrypted, no key' ? 'warn' : 'bad', failure)
}

/** Names and values, each in a line. Values that are undefined are left out. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | undefined])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}
