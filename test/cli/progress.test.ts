import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { outputStyleOf } from '../../src/cli/output-style.ts'
import { openBar, openLines } from '../../src/cli/progress.ts'
import { formatBarLine, formatIdleLine, formatPlainLine } from '../../src/cli/progress-line.ts'
import { Screen } from '../../src/cli/screen.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { ProgressMeter } from '../../src/observe/progress-meter.ts'
import { FakeIo } from './fake-io.ts'
import { ManualClock } from './manual-clock.ts'

const MiB = 2 ** 20
const planned: ProgressEvent = { type: 'planned', topics: 3, partitions: 12, offsets: 1000n }

function copied(offsets: bigint, bytes = 0): ProgressEvent {
  return { type: 'copied', topic: 't', partition: 0, offsets, records: Number(offsets), bytes }
}

function terminal(columns: number, env: Record<string, string> = { LANG: 'C.UTF-8' }) {
  return outputStyleOf({ write: () => undefined, isTTY: true, columns }, { ...env, NO_COLOR: '1' })
}

describe('the meter', () => {
  test('measures the share of offsets, not of records or bytes', () => {
    const meter = new ProgressMeter(0)
    meter.add(planned, 0)
    meter.add(copied(250n, 10), 1000)
    const { fraction, records, bytes } = meter.read(1000)
    assert.deepEqual({ fraction, records, bytes }, { fraction: 0.25, records: 250, bytes: 10 })
  })

  test('calculates the rate from the last seconds, and the remaining time at a rate that changes slowly', () => {
    const meter = new ProgressMeter(0)
    meter.add(planned, 0)
    for (let second = 1; second <= 10; second++) meter.add(copied(10n, MiB), second * 1000)
    for (let second = 11; second <= 18; second++) meter.add(copied(50n, 5 * MiB), second * 1000)
    const { bytesPerSecond, remainingMs, fraction } = meter.read(18_000)
    assert.equal(fraction, 0.5)
    assert.equal(bytesPerSecond, 5 * MiB)
    // 500 of 1,000 are left: at the last rate for 10 s, at the mean of all seconds for 18 s.
    assert.ok(remainingMs !== undefined && remainingMs > 10_000 && remainingMs < 18_000, `${remainingMs}`)
  })

  test('reports a stall', () => {
    const meter = new ProgressMeter(0)
    meter.add(planned, 0)
    meter.add(copied(500n, MiB), 1000)
    const { bytesPerSecond, remainingMs } = meter.read(60_000)
    assert.deepEqual({ bytesPerSecond, remainingMs }, { bytesPerSecond: 0, remainingMs: undefined })
  })

  test('lets the rate fall to zero within seconds without new events', () => {
    const meter = new ProgressMeter(0)
    meter.add(planned, 0)
    for (let ms = 10; ms <= 1000; ms += 10) meter.add(copied(1n, MiB), ms)
    for (let ms = 1100; ms <= 6300; ms += 100) meter.read(ms)
    assert.equal(meter.read(6400).bytesPerSecond, 0)
  })

  test('does not count the preparation as working time', () => {
    const meter = new ProgressMeter(0)
    meter.add(planned, 30_000)
    meter.add(copied(500n, MiB), 31_000)
    const { elapsedMs, bytesPerSecond } = meter.read(31_000)
    assert.deepEqual({ elapsedMs, bytesPerSecond }, { elapsedMs: 1000, bytesPerSecond: MiB })
  })

  test('is at 100 % if there is nothing to do, and never above', () => {
    const meter = new ProgressMeter(0)
    meter.add({ ...planned, offsets: 0n }, 0)
    assert.equal(meter.read(0).fraction, 1)
    meter.add(copied(5n), 10)
    assert.equal(meter.read(10).fraction, 1)
  })

  test('measures a verification by its bytes', () => {
    const meter = new ProgressMeter(0)
    meter.add({ type: 'checked', objects: 1, bytes: 300, totalObjects: 4, totalBytes: 1000 }, 1000)
    assert.equal(formatPlainLine(meter.read(1000)), '30%, 1 segment, 300 B, 300 B/s, ETA 3 s')
  })
})

describe('the line', () => {
  const meter = new ProgressMeter(0)
  meter.add({ ...planned, offsets: 3_000_000n }, 0)
  meter.add(copied(1_234_567n, 512 * MiB), 4000)
  const reading = meter.read(4000)

  test('has bar, percent, records, bytes, rate and remaining time', () => {
    assert.equal(
      formatBarLine('backup', reading, terminal(120)),
      'backup ━━━━━━━━━━━━──────────────────  41%  1,234,567 records  512 MiB  128 MiB/s  ETA 6 s',
    )
  })

  test('drops the least important parts on a narrow terminal', () => {
    const lines = [72, 60, 40, 30, 12, 5].map(columns => formatBarLine('backup', reading, terminal(columns)))
    assert.deepEqual(lines, [
      'backup ━━━━───────  41%  1,234,567 records  512 MiB  128 MiB/s  ETA 6 s',
      'backup ━━━━━━━───────────  41%  512 MiB  128 MiB/s  ETA 6 s',
      'backup ━━━━━━━───────────  41%  ETA 6 s',
      'backup ━━━─────  41%  ETA 6 s',
      'backup  41%',
      'back',
    ])
  })

  const restoring = new ProgressMeter(0)
  const byTopic = [
    { topic: 'orders', records: 800 },
    { topic: 'audit', records: 100 },
    { topic: 'payments', records: 100 },
  ]
  restoring.add({ ...planned, type: 'planned', topics: 3, partitions: 3, offsets: 1000n, unit: 'records', byTopic }, 0)
  restoring.add({ type: 'begun', topic: 'payments', partition: 0 }, 0)
  restoring.add({ type: 'filled', topic: 'payments', done: 1, total: 3 }, 0)
  restoring.add({ type: 'begun', topic: 'orders', partition: 0 }, 0)
  restoring.add({ type: 'begun', topic: 'audit', partition: 0 }, 0)
  restoring.add(
    { ...copied(200n, MiB), type: 'copied', topic: 'orders', partition: 0, offsets: 200n, records: 200, bytes: MiB },
    2000,
  )

  test('has the topics of a restore: how many are done, and the progress of those at work', () => {
    const shown = restoring.read(2000)
    assert.equal(
      formatPlainLine(shown),
      '20%, 200 records, 1.0 MiB, 512 KiB/s, ETA 8 s; 1 of 3 topics done, orders 25% ETA 6 s, audit 0% ETA -',
    )
    assert.match(
      formatBarLine('restore', shown, terminal(120)),
      /ETA 8 s {2}1 of 3 topics done, orders 25% ETA 6 s, and 1 more$/,
    )
    assert.match(formatBarLine('restore', shown, terminal(60)), /512 KiB\/s {2}ETA 8 s$/)
  })

  test('fits every width with one column to spare', () => {
    for (let columns = 1; columns <= 130; columns++) {
      for (const shown of [reading, restoring.read(2000)]) {
        const line = formatBarLine('backup', shown, terminal(columns))
        assert.ok(line.length < columns, `${line.length} characters on ${columns} columns`)
      }
    }
  })

  test('uses ASCII characters if others may not be displayed', () => {
    assert.match(formatBarLine('backup', reading, terminal(80, { LANG: 'C' })), /^backup #+-+ {2}41%/)
  })

  test('shows 100% only when everything is done', () => {
    const almost = new ProgressMeter(0)
    almost.add({ ...planned, offsets: 1000n }, 0)
    almost.add(copied(999n), 10)
    assert.match(formatPlainLine(almost.read(10)), /^99%/)
    almost.add(copied(1n), 20)
    assert.match(formatPlainLine(almost.read(20)), /^100%.*ETA 0 s$/)
  })

  test('shows long times in hours and days, and none during a stall', () => {
    const shown = [undefined, 59_001, 3_600_000, 400 * 3_600_000].map(
      remainingMs =>
        formatPlainLine({ ...reading, remainingMs })
          .split(', ')
          .at(-1) ?? '',
    )
    assert.deepEqual(shown, ['ETA -', 'ETA 1m 00s', 'ETA 1h 00m', 'ETA 17 d'])
  })
})

describe('the bar', () => {
  function open() {
    const io = new FakeIo({ columns: 80, env: { NO_COLOR: '1' } })
    const screen = new Screen(io.stderr)
    const bar = openBar('backup', 'asking', screen, () => outputStyleOf(io.stderr, io.env), io.clock)
    return { io, screen, bar }
  }

  test('shows what it waits for until there is a plan', () => {
    const { io } = open()
    io.clock.pass(100)
    assert.equal(io.stderr.text, 'backup: asking')
  })

  test('is redrawn at most ten times a second, and only after a change', () => {
    const { io, bar } = open()
    bar.onProgress(planned)
    for (let at = 0; at < 1000; at++) {
      bar.onProgress(copied(1n, 1000))
      io.clock.pass(1)
    }
    const drawn = io.stderr.text.split('\r').length
    assert.ok(drawn <= 10 && drawn >= 5, `${drawn} times`)
    io.clock.pass(60_000)
    const { length } = io.stderr.text
    io.clock.pass(10_000)
    assert.equal(io.stderr.text.length, length)
  })

  test('moves below a new log line', () => {
    const { io, screen } = open()
    io.clock.pass(100)
    io.stderr.text = ''
    screen.write('warning: x\n')
    assert.equal(io.stderr.text, '\r\x1b[Kwarning: x\nbackup: asking')
  })

  test('clears itself at the end, leaves no timer, and never touches the cursor', () => {
    const { io, bar } = open()
    bar.onProgress(planned)
    io.clock.pass(500)
    bar.close(true)
    assert.ok(io.stderr.text.endsWith('\r\x1b[K'))
    assert.equal(io.clock.pending, 0)
    assert.equal(io.stderr.text.includes('\x1b[?25'), false)
    assert.equal(stripVTControlCharacters(io.stderr.text).includes('\n'), false)
  })
})

test('a continuous run whose cluster is gone does not look up to date', () => {
  const meter = new ProgressMeter(0)
  meter.add(planned, 0)
  meter.add({ type: 'round', ok: true }, 0)
  meter.add({ type: 'idle', ms: 60_000 }, 0)
  assert.match(formatIdleLine(meter.read(30_000)), /^up to date, next round in 30 s/)
  meter.add({ type: 'round', ok: false }, 90_000)
  assert.match(formatIdleLine(meter.read(90_000)), /^the last round failed, trying again; 0 records/)
  meter.add({ type: 'round', ok: true }, 120_000)
  meter.add({ type: 'idle', ms: 60_000 }, 120_000)
  assert.match(formatIdleLine(meter.read(120_000)), /^up to date/)
})

describe('lines', () => {
  function open() {
    const clock = new ManualClock()
    const lines: string[] = []
    return { clock, lines, progress: openLines('backup', line => lines.push(line), clock) }
  }

  test('are printed at the start, every ten seconds and at the end', () => {
    const { clock, lines, progress } = open()
    progress.onProgress(planned)
    for (let tenth = 0; tenth < 200; tenth++) {
      clock.pass(99)
      progress.onProgress(copied(4n, MiB / 4))
      clock.pass(1)
    }
    clock.pass(500)
    progress.close(true)
    assert.deepEqual(lines, [
      'backup: 3 topics, 12 partitions, 1,000 offsets to copy',
      'backup: 40%, 400 records, 25.0 MiB, 2.5 MiB/s, ETA 16 s',
      'backup: 80%, 800 records, 50.0 MiB, 2.5 MiB/s, ETA 6 s',
      'backup: done: 800 records, 50.0 MiB in 20.5 s',
    ])
    assert.equal(clock.pending, 0)
  })

  test('show how far a failed run came', () => {
    const { clock, lines, progress } = open()
    progress.onProgress(planned)
    progress.onProgress(copied(250n, MiB))
    clock.pass(1500)
    progress.close(false)
    assert.equal(lines.at(-1), 'backup: stopped at 25%: 250 records, 1.0 MiB in 1.5 s')
  })

  test('report once that a continuous run is up to date, with the generation it continued from', () => {
    const { lines, progress } = open()
    progress.onProgress({ type: 'resumed', generation: 7, committedAt: '2026-01-02T03:04:05.000Z' })
    progress.onProgress(planned)
    for (const ms of [60_000, 59_000]) {
      progress.onProgress({ type: 'round', ok: true })
      progress.onProgress({ type: 'idle', ms })
    }
    assert.deepEqual(lines.slice(1), ['backup: up to date, generation 7, next round in 1m 00s; 0 records, 0 B so far'])
  })

  test('are not printed without a plan', () => {
    const { clock, lines, progress } = open()
    clock.pass(30_000)
    progress.close(false)
    assert.deepEqual(lines, [])
  })
})
