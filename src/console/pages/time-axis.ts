import { type Html, html, nothing } from '../html.ts'

/** Drawings over time. All are SVG without style attributes, which the policy of the page forbids. */
export interface TimeSpan {
  fromMs: number
  toMs: number
}

/** Pure. From the first to the last of the times, and at least a second. */
export function spanOf(times: readonly number[]): TimeSpan {
  let fromMs = Number.POSITIVE_INFINITY
  let toMs = Number.NEGATIVE_INFINITY
  for (const time of times) {
    if (!Number.isFinite(time)) continue
    fromMs = Math.min(fromMs, time)
    toMs = Math.max(toMs, time)
  }
  if (!Number.isFinite(fromMs)) return { fromMs: 0, toMs: 1000 }
  return { fromMs, toMs: Math.max(toMs, fromMs + 1000) }
}

export function place({ fromMs, toMs }: TimeSpan, ms: number, width: number): number {
  const share = (ms - fromMs) / (toMs - fromMs)
  return Math.round(Math.min(1, Math.max(0, share)) * width * 10) / 10
}

interface TimelinePoint {
  atMs: number
  value: number
  kind: 'good' | 'warn' | 'bad'
  link: string
  label: string
}

interface TimelineMark {
  atMs: number
  label: string
}

const WIDTH = 960
const HEIGHT = 150
const BASE = 118
const EDGE = 12

/** Pure. Generations over time as points with links, how much they hold as an area, and gaps as marks below. */
export function showTimeline(points: readonly TimelinePoint[], gaps: readonly TimelineMark[], summary: string): Html {
  const span = spanOf([...points, ...gaps].map(({ atMs }) => atMs))
  const most = points.reduce((max, { value }) => Math.max(max, value), 1)
  const x = (ms: number) => EDGE + place(span, ms, WIDTH - 2 * EDGE)
  const y = (value: number) => Math.round((BASE - (value / most) * (BASE - 22)) * 10) / 10
  const ordered = [...points].sort((a, b) => a.atMs - b.atMs)
  const [first, last] = [ordered[0], ordered.at(-1)]
  const line = ordered.map(({ atMs, value }) => `${x(atMs)},${y(value)}`).join(' ')
  const area = first && last ? `${x(first.atMs)},${BASE} ${line} ${x(last.atMs)},${BASE}` : ''
  return html`<figure class="chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="${summary}">
<polygon class="area" points="${area}"></polygon><polyline class="line" points="${line}"></polyline>
<line class="axis" x1="${EDGE}" y1="${BASE}" x2="${WIDTH - EDGE}" y2="${BASE}"></line>
${gaps.map(({ atMs, label }) => html`<rect class="gap" x="${x(atMs) - 2}" y="${BASE + 4}" width="4" height="14"><title>${label}</title></rect>`)}
${ordered.map(
  ({ atMs, value, kind, link, label }) =>
    html`<a href="${link}" aria-label="${label}"><circle class="dot ${kind}" cx="${x(atMs)}" cy="${y(value)}" r="6"></circle><title>${label}</title></a>`,
)}
<text class="tick" x="${EDGE}" y="${HEIGHT - 4}">${tick(span.fromMs)}</text>
<text class="tick end" x="${WIDTH - EDGE}" y="${HEIGHT - 4}">${tick(span.toMs)}</text></svg>
<figcaption>${summary}</figcaption></figure>`
}

function tick(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}

const BAR = 160

/** Pure. When a topic can be restored, and its gaps, on the time axis of its backup. */
export function showWindow(span: TimeSpan, window: TimeSpan | undefined, gaps: readonly number[], label: string): Html {
  const from = window ? place(span, window.fromMs, BAR) : 0
  const to = window ? place(span, window.toMs, BAR) : 0
  const bar = window
    ? html`<rect class="window" x="${from}" y="4" width="${Math.max(3, to - from)}" height="8" rx="2"></rect>`
    : nothing
  return html`<svg class="bar" viewBox="0 0 ${BAR} 16" width="${BAR}" height="16" role="img" aria-label="${label}"><rect class="track" x="0" y="7" width="${BAR}" height="2"></rect>${bar}${gaps.map(
    ms => html`<rect class="gap" x="${Math.max(0, place(span, ms, BAR) - 1.5)}" y="2" width="3" height="12"></rect>`,
  )}</svg>`
}
