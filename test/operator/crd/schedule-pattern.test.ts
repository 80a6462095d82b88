import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cron } from 'croner'
import { schedulePattern } from '../../../src/operator/crd/schedule-fields.ts'

const pattern = new RegExp(schedulePattern)

const good = [
  '0 2 * * *',
  '*/15 * * * *',
  '0-30/10 8-18 1,15 * MON-FRI',
  '59 23 31 12 7',
  '5 4 * jan,Mar sun',
  '0  2 * * *',
  '@hourly',
  '@daily',
  '@weekly',
  '@monthly',
  '@YEARLY',
]

const bad = [
  '',
  '* * * *',
  '0 0 2 * * *',
  '60 * * * *',
  '0 24 * * *',
  '0 0 0 * *',
  '0 0 32 * *',
  '0 0 * 13 *',
  '0 0 * * 8',
  '0 0 * * MONDAY',
  '5/15 * * * *',
  '*/0 * * * *',
  '*/60 * * * *',
  '0 0 L * *',
  '@reboot',
  '@every 5m',
  'CRON_TZ=UTC 0 2 * * *',
  ' 0 2 * * *',
  '0,, 2 * * *',
]

for (const schedule of good) {
  test(`accepts the schedule ${schedule}`, () => {
    assert.match(schedule, pattern)
    assert.ok(new Cron(schedule, { paused: true, mode: '5-part' }).nextRun())
  })
}

for (const schedule of bad) {
  test(`refuses the schedule ${JSON.stringify(schedule)}`, () => assert.doesNotMatch(schedule, pattern))
}

test('the operator can parse every schedule that the pattern accepts, except descending ranges', () => {
  const fields = [
    ['*', '0', '59', '7', '*/5', '0-59/59', '10-20,30'],
    ['*', '0', '23', '9-17', '*/23'],
    ['*', '1', '31', '01', '1-31/2'],
    ['*', '1', '12', 'DEC', 'JAN-JUN', '*/12'],
    ['*', '0', '7', 'SAT', 'SUN-MON', '*/7'],
  ]
  const all = fields.reduce<string[]>((rows, field) => rows.flatMap(row => field.map(one => `${row} ${one}`)), [''])
  for (const schedule of all.map(row => row.trim())) {
    assert.match(schedule, pattern)
    assert.doesNotThrow(() => new Cron(schedule, { paused: true, mode: '5-part' }), schedule)
  }
})
