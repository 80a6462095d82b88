import { formatBytes, formatCount, formatDuration } from '../lib/units.ts'
import type { Reading } from '../observe/progress-meter.ts'
import type { OutputStyle } from './output-style.ts'
import { plural } from './text.ts'

const WIDEST_BAR = 30
const NARROWEST_BAR = 8

/** One line with a bar that fits the terminal; the least important parts are omitted first. */
export function formatBarLine(label: string, reading: Reading, style: OutputStyle): string {
  // One column stays free: a terminal that wraps at its last column would leave remnants.
  const width = (style.columns ?? 80) - 1
  if (reading.idleMs !== undefined) return `${label}: ${formatIdleLine(reading)}`.slice(0, Math.max(width, 0))
  const { amount, bytes, rate, remaining } = formatParts(reading)
  const topics = formatTopics(reading, 1)
  const percent = formatPercent(reading.fraction).padStart(4)
  const layouts = [
    ...(topics === undefined
      ? []
      : [
          [amount, bytes, rate, remaining, topics],
          [bytes, rate, remaining, topics],
        ]),
    [amount, bytes, rate, remaining],
    [bytes, rate, remaining],
    [rate, remaining],
    [remaining],
    [],
  ]
  for (const parts of layouts) {
    const numbers = [percent, ...parts].join('  ')
    const room = Math.min(WIDEST_BAR, width - label.length - numbers.length - 2)
    if (room >= NARROWEST_BAR) return `${label} ${formatBar(reading.fraction, room, style)} ${numbers}`
  }
  return `${label} ${percent}`.slice(0, Math.max(width, 0))
}

/** For logs and pipes. */
export function formatPlainLine(reading: Reading): string {
  const { amount, bytes, rate, remaining } = formatParts(reading)
  const topics = formatTopics(reading, SHOWN_TOPICS)
  const line = [formatPercent(reading.fraction), amount, bytes, rate, remaining].join(', ')
  return topics === undefined ? line : `${line}; ${topics}`
}

const SHOWN_TOPICS = 3

/** `1 of 4 topics done, orders 63% ETA 3 s`; undefined without topics, and for a single one, which the line is about. */
function formatTopics({ topics }: Reading, shown: number): string | undefined {
  if (!topics || topics.total < 2) return undefined
  const active = topics.active.slice(0, shown).map(({ topic, fraction, remainingMs }) => {
    return `${topic} ${formatPercent(fraction)} ${formatEta(remainingMs)}`
  })
  const more = topics.active.length + topics.more - active.length
  const others = more > 0 ? [`and ${formatCount(more)} more`] : []
  return [`${formatCount(topics.done)} of ${plural(topics.total, 'topic')} done`, ...active, ...others].join(', ')
}

/** For a continuous run between two rounds. */
export function formatIdleLine(reading: Reading): string {
  const { amount, bytes } = formatParts(reading)
  if (reading.isBehind) return `the last round failed, trying again; ${amount}, ${bytes} so far`
  const generation = reading.generation === undefined ? '' : `, generation ${reading.generation}`
  return `up to date${generation}, next round in ${formatRemaining(reading.idleMs ?? 0)}; ${amount}, ${bytes} so far`
}

export function formatStartLine({ task }: Reading): string {
  if (task === undefined) return ''
  if ('objects' in task) {
    return `${plural(task.objects, nounOf(task))}, ${formatBytes(task.bytes)} to ${task.verb}`
  }
  const { topics, partitions, offsets, unit, phase, isMost } = task
  const most = isMost ? 'at most ' : ''
  const work = phase === 'compare' ? 'compare' : 'copy'
  const amount =
    unit === 'records' ? `${most}${plural(offsets, 'record')} to write` : `${plural(offsets, 'offset')} to ${work}`
  return `${plural(topics, 'topic')}, ${plural(partitions, 'partition')}, ${amount}`
}

export function formatEndLine(reading: Reading, isDone: boolean): string {
  const { amount, bytes } = formatParts(reading)
  const outcome = isDone ? 'done' : `stopped at ${formatPercent(reading.fraction)}`
  return `${outcome}: ${amount}, ${bytes} in ${formatDuration(reading.elapsedMs)}`
}

/** A verification follows the segments; it reads manifests, indexes and schemas before, and its result counts all objects. */
function nounOf({ verb }: { verb: 'read' | 'copy' }): string {
  return verb === 'read' ? 'segment' : 'object'
}

function formatParts({ task, records, objects, bytes, bytesPerSecond, remainingMs }: Reading) {
  return {
    amount: task !== undefined && 'objects' in task ? plural(objects, nounOf(task)) : plural(records, 'record'),
    bytes: formatBytes(bytes),
    rate: `${formatBytes(Math.round(bytesPerSecond))}/s`,
    remaining: formatEta(remainingMs),
  }
}

function formatEta(remainingMs: number | undefined): string {
  return `ETA ${remainingMs === undefined ? '-' : formatRemaining(remainingMs)}`
}

/** Whole seconds: tenths would flicker. */
function formatRemaining(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  return seconds < 100 * 3600 ? formatDuration(seconds * 1000) : `${formatCount(Math.round(seconds / 86400))} d`
}

/** Rounds down: only complete work is 100%. */
function formatPercent(fraction: number): string {
  return `${Math.floor(fraction * 100)}%`
}

function formatBar(fraction: number, width: number, style: OutputStyle): string {
  const filled = Math.floor(fraction * width)
  const [full, empty] = style.hasUnicode ? ['━', '─'] : ['#', '-']
  return style.good(full.repeat(filled)) + style.dim(empty.repeat(width - filled))
}
