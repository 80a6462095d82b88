import type { Clock } from '../lib/clock.ts'
import { formatCount } from '../lib/units.ts'
import type { OnProgress } from '../observe/progress.ts'
import { ProgressMeter, phaseOf, type Reading } from '../observe/progress-meter.ts'
import type { OutputStyle } from './output-style.ts'
import { formatBarLine, formatEndLine, formatIdleLine, formatPlainLine, formatStartLine } from './progress-line.ts'
import type { Screen } from './screen.ts'

export interface Progress {
  onProgress: OnProgress
  /** Must be called when the operation has ended, successfully or not. */
  close(isDone: boolean): void
}

const REDRAW_MS = 100
const LINE_MS = 10_000

/** A bar at the bottom of the terminal, redrawn ten times a second. It does not move the cursor, and is removed at the end. */
export function openBar(
  label: string,
  preparing: string,
  screen: Screen,
  style: () => OutputStyle,
  clock: Clock,
): Progress {
  const meter = new ProgressMeter(clock.monotonic())
  const draw = () => {
    const current = style()
    const reading = meter.read(clock.monotonic())
    const text = meter.isPlanned
      ? formatBarLine(labelOf(label, reading), reading, current)
      : `${label}: ${formatSchemas(reading) ?? preparing}`.slice(0, Math.max(0, (current.columns ?? 80) - 1))
    screen.setStatus(text)
  }
  const stop = repeat(clock, REDRAW_MS, draw)
  return {
    onProgress: event => meter.add(event, clock.monotonic()),
    close: () => {
      stop()
      screen.setStatus('')
    },
  }
}

function formatSchemas({ schemas }: Reading): string | undefined {
  return schemas && `${formatCount(schemas.done)} of ${formatCount(schemas.total)} schema versions registered`
}

/** The label changes while a restore compares. */
function labelOf(label: string, { task }: Reading): string {
  return phaseOf(task) ?? label
}

/** A line at the start of each phase, every ten seconds and at the end: for logs and pipes. */
export function openLines(label: string, writeLine: (line: string) => void, clock: Clock): Progress {
  const meter = new ProgressMeter(clock.monotonic())
  const read = () => meter.read(clock.monotonic())
  const say = (text: string) => writeLine(`${labelOf(label, read())}: ${text}`)
  const stop = repeat(clock, LINE_MS, () => {
    const reading = read()
    if (meter.isPlanned && reading.idleMs === undefined) say(formatPlainLine(reading))
  })
  let told: number | undefined
  return {
    onProgress: event => {
      const isNext = event.type === 'planned' && meter.isPlanned && event.phase !== phaseOf(read().task)
      if (isNext) say(formatEndLine(read(), true))
      const wasPlanned = meter.isPlanned && !isNext
      meter.add(event, clock.monotonic())
      if (!wasPlanned && meter.isPlanned) say(formatStartLine(read()))
      // Logs only new generations, to stay silent on an idle cluster.
      if (event.type === 'idle' && read().generation !== told) {
        told = read().generation
        say(formatIdleLine(read()))
      }
    },
    close: isDone => {
      stop()
      if (meter.isPlanned) say(formatEndLine(read(), isDone))
    },
  }
}

export const noProgress: Progress = { onProgress: () => undefined, close: () => undefined }

function repeat(clock: Clock, ms: number, call: () => void): () => void {
  let cancel = clock.after(ms, tick)
  function tick() {
    cancel = clock.after(ms, tick)
    call()
  }
  return () => cancel()
}
