import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSchedule, type Schedule } from '../../../src/operator/plan/schedule.ts'
import { createRandom } from '../../fakes/faulty-storage.ts'

const MINUTE_MS = 60_000

test('a time that daylight saving skips runs once, at the change', () => {
  const berlin = scheduleOf('30 2 * * *', 'Europe/Berlin')
  assert.deepEqual(timesFrom(berlin, '2026-03-28T12:00:00Z', 2), ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'])
  const newYork = scheduleOf('15,45 2 * * *', 'America/New_York')
  assert.deepEqual(timesFrom(newYork, '2026-03-08T00:00:00Z', 3), [
    '2026-03-08T07:00:00Z',
    '2026-03-09T06:15:00Z',
    '2026-03-09T06:45:00Z',
  ])
  const lordHowe = scheduleOf('0,15 2 * * *', 'Australia/Lord_Howe')
  assert.deepEqual(timesFrom(lordHowe, '2026-10-03T14:00:00Z', 2), ['2026-10-03T15:30:00Z', '2026-10-04T15:00:00Z'])
})

test('a time that daylight saving repeats runs once, the first time', () => {
  const berlin = scheduleOf('15,45 2 * * *', 'Europe/Berlin')
  assert.deepEqual(timesFrom(berlin, '2026-10-24T12:00:00Z', 3), [
    '2026-10-25T00:15:00Z',
    '2026-10-25T00:45:00Z',
    '2026-10-26T01:15:00Z',
  ])
  assert.equal(iso(berlin.latest(Date.parse('2026-10-25T01:20:00Z'))), '2026-10-25T00:45:00Z')
  const newYork = scheduleOf('30 1 * * *', 'America/New_York')
  assert.deepEqual(timesFrom(newYork, '2026-11-01T00:00:00Z', 2), ['2026-11-01T05:30:00Z', '2026-11-02T06:30:00Z'])
  const lordHowe = scheduleOf('45 1 * * *', 'Australia/Lord_Howe')
  assert.deepEqual(timesFrom(lordHowe, '2026-04-04T00:00:00Z', 2), ['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z'])
})

test('an hourly schedule follows elapsed hours when clocks change', () => {
  const hourly = scheduleOf('@hourly', 'Europe/Berlin')
  assert.deepEqual(timesFrom(hourly, '2026-10-24T23:30:00Z', 3), [
    '2026-10-25T00:00:00Z',
    '2026-10-25T01:00:00Z',
    '2026-10-25T02:00:00Z',
  ])
  assert.deepEqual(timesFrom(hourly, '2026-03-29T00:30:00Z', 2), ['2026-03-29T01:00:00Z', '2026-03-29T02:00:00Z'])
})

test('accepts names such as @daily', () => {
  const after = '2026-11-16T01:46:28Z'
  assert.deepEqual(timesFrom(scheduleOf('@daily'), after, 1), ['2026-11-17T00:00:00Z'])
  assert.deepEqual(timesFrom(scheduleOf('@weekly'), after, 1), ['2026-11-22T00:00:00Z'])
  assert.deepEqual(timesFrom(scheduleOf('@monthly', 'Asia/Tokyo'), after, 1), ['2026-11-30T15:00:00Z'])
  assert.deepEqual(timesFrom(scheduleOf('0 0 29 2 *'), after, 1), ['2028-02-29T00:00:00Z'])
})

test('reports why a schedule is invalid', () => {
  const problemOf = (text: string, zone?: string) => {
    const parsed = parseSchedule(text, zone)
    return 'problem' in parsed ? parsed.problem : undefined
  }
  for (const text of [
    '',
    '61 * * * *',
    '* * * * * *',
    '@reboot',
    '@every 5m',
    '2026-01-01T00:00:00',
    'TZ=UTC 0 0 * * *',
  ]) {
    assert.match(problemOf(text) ?? '', /is neither a cron of five fields/, text)
  }
  assert.match(problemOf('0 0 31 2 *') ?? '', /never comes/)
  for (const zone of ['Mars/Phobos', '', 'Local'])
    assert.match(problemOf('@daily', zone) ?? '', /is not a time zone/, zone)
})

test('next and latest match a scan over every minute, in all unusual time zones', () => {
  const random = createRandom(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  for (let round = 0; round < 25; round++) {
    const zone = pick(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'Antarctica/Troll'])
    const minute = pick(['0', '30', '15,45', '*/20', '10-50/10'])
    const hour = pick(['2', '1,2', '0-3', '*/2', '*', '0'])
    const text = `${minute} ${hour} * * *`
    const schedule = scheduleOf(text, zone)
    const startMs = pick(changesOf(zone)) - 30 * 3_600_000
    const expected = walk(minute, hour, zone, startMs, 60 * 60)
    const got: number[] = []
    const endMs = startMs + 3600 * MINUTE_MS
    for (let at = schedule.next(startMs - 1); at !== undefined && at < endMs; at = schedule.next(at)) got.push(at)
    assert.deepEqual(got.map(iso), expected.map(iso), `${text} ${zone}`)
    for (let index = 0; index < 20; index++) {
      const at = startMs + 20 * 3_600_000 + Math.floor(random() * 30 * 3_600_000)
      const latest = expected.findLast(time => time <= at)
      if (latest !== undefined) assert.equal(iso(schedule.latest(at)), iso(latest), `${text} ${zone} at ${iso(at)}`)
    }
  }
})

function scheduleOf(text: string, zone?: string): Schedule {
  const parsed = parseSchedule(text, zone)
  assert.ok('schedule' in parsed, JSON.stringify(parsed))
  return parsed.schedule
}

function timesFrom(schedule: Schedule, after: string, count: number): (string | undefined)[] {
  const times: (string | undefined)[] = []
  for (let at = schedule.next(Date.parse(after)); at !== undefined && times.length < count; at = schedule.next(at)) {
    times.push(iso(at))
  }
  return times
}

function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString().replace('.000', '')
}

/** Around the changes of the clocks in 2026. */
function changesOf(zone: string): number[] {
  const changes: Record<string, string[]> = {
    'Europe/Berlin': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
    'America/New_York': ['2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'],
    'Australia/Lord_Howe': ['2026-04-04T15:00:00Z', '2026-10-03T15:30:00Z'],
    'Africa/Cairo': ['2026-04-23T22:00:00Z', '2026-10-29T21:00:00Z'],
    'Antarctica/Troll': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
  }
  return (changes[zone] ?? []).map(time => Date.parse(time))
}

/** By looking at the clock every minute: what it leaps over is due at the leap, what it showed already is not again. */
function walk(minute: string, hour: string, zone: string, startMs: number, minutes: number): number[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const wallAt = (ms: number) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`)
  const found: number[] = []
  let seen = wallAt(startMs - 6 * 3_600_000)
  for (let ms = startMs - 6 * 3_600_000; ms < startMs + minutes * MINUTE_MS; ms += MINUTE_MS) {
    const wall = wallAt(ms)
    const shown = hour === '*' ? [wall] : wallsBetween(seen, wall)
    if (shown.some(one => fits(minute, one, 'getUTCMinutes', 60) && fits(hour, one, 'getUTCHours', 24))) found.push(ms)
    seen = Math.max(seen, wall)
  }
  return found.filter(ms => ms >= startMs)
}

function wallsBetween(after: number, upTo: number): number[] {
  return Array.from({ length: Math.max(0, (upTo - after) / MINUTE_MS) }, (_, index) => after + (index + 1) * MINUTE_MS)
}

function fits(field: string, wall: number, part: 'getUTCMinutes' | 'getUTCHours', size: number): boolean {
  const value = new Date(wall)[part]()
  return field.split(',').some(one => {
    const [range = '', step = '1'] = one.split('/')
    const [low = 0, high = range === '*' ? size : low] = range === '*' ? [0, size] : range.split('-').map(Number)
    return value >= low && value <= high && (value - low) % Number(step) === 0
  })
}
