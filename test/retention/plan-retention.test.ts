import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planRetention, type RetainedBackup } from '../../src/retention/plan-retention.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const now = Date.parse('2026-03-15T12:00:00Z')
const at = (time: string, changes: Partial<RetainedBackup> = {}): RetainedBackup => ({
  backupId: time,
  timeMs: Date.parse(time.length === 10 ? `${time}T06:00:00Z` : `${time}Z`),
  hasComplete: true,
  users: [],
  ...changes,
})

const keptOf = (backups: RetainedBackup[], policy: Partial<RetentionPolicy>): string[] =>
  [...planRetention(backups, { match: ['*'], graceMs: 0, ...policy }, now).values()]
    .filter(({ isKept }) => isKept)
    .map(({ backupId }) => backupId)

const days = ['2026-03-15', '2026-03-14', '2026-03-13', '2026-03-10', '2026-02-28', '2026-02-01', '2025-12-31']
const rows: [name: string, policy: Partial<RetentionPolicy>, backups: RetainedBackup[], kept: string[]][] = [
  ['no rule keeps all', {}, days.map(day => at(day)), days],
  [
    'keep_last keeps each of the backups that are no series',
    { keepLast: 1, eachAlone: true },
    days.map(day => at(day)),
    days,
  ],
  [
    'older_than keeps the newest state of each of the backups that are no series',
    { olderThanMs: 86_400_000, eachAlone: true },
    days.map(day => at(day)),
    days,
  ],
  ['keep_last counts from the newest', { keepLast: 2 }, days.map(day => at(day)), days.slice(0, 2)],
  ['keep_last 0 keeps the newest complete one all the same', { keepLast: 0 }, days.map(day => at(day)), ['2026-03-15']],
  [
    'keep_daily takes the newest of each day that has one, not of each day of the calendar',
    { keepDaily: 3 },
    [at('2026-03-15T01:00:00'), at('2026-03-15T02:00:00'), at('2026-03-10'), at('2026-03-02'), at('2026-03-01')],
    ['2026-03-15T02:00:00', '2026-03-10', '2026-03-02'],
  ],
  [
    'keep_hourly tells hours apart',
    { keepHourly: 2 },
    [at('2026-03-15T01:10:00'), at('2026-03-15T01:50:00'), at('2026-03-15T00:59:00'), at('2026-03-14T23:59:00')],
    ['2026-03-15T01:50:00', '2026-03-15T00:59:00'],
  ],
  [
    'keep_weekly begins weeks on Monday, in UTC',
    { keepWeekly: 2 },
    // 2026-03-09 is a Monday.
    [at('2026-03-15'), at('2026-03-09'), at('2026-03-08'), at('2026-03-02')],
    ['2026-03-15', '2026-03-08'],
  ],
  ['keep_monthly', { keepMonthly: 2 }, days.map(day => at(day)), ['2026-03-15', '2026-02-28']],
  ['keep_yearly', { keepYearly: 5 }, days.map(day => at(day)), ['2026-03-15', '2025-12-31']],
  [
    'rules add up',
    { keepLast: 1, keepMonthly: 3 },
    days.map(day => at(day)),
    ['2026-03-15', '2026-02-28', '2025-12-31'],
  ],
  [
    'older_than alone keeps what is younger',
    { olderThanMs: 10 * 86_400_000 },
    days.map(day => at(day)),
    ['2026-03-15', '2026-03-14', '2026-03-13', '2026-03-10'],
  ],
  [
    'older_than never takes the newest complete one',
    { olderThanMs: 86_400_000 },
    [at('2025-01-01'), at('2024-01-01')],
    ['2025-01-01'],
  ],
  [
    'with older_than and keep rules only what is older and kept by none goes',
    { olderThanMs: 3 * 86_400_000, keepYearly: 2 },
    days.map(day => at(day)),
    ['2026-03-15', '2026-03-14', '2026-03-13', '2025-12-31'],
  ],
  [
    'one in use stays',
    { keepLast: 1 },
    [at('2026-03-15'), at('2026-03-14', { users: ['restore on h1'] }), at('2026-03-13')],
    ['2026-03-15', '2026-03-14'],
  ],
  [
    'one that cannot be read stays, and takes no place of a rule',
    { keepLast: 1 },
    [at('2026-03-15', { error: 'damaged' }), at('2026-03-14'), at('2026-03-13')],
    ['2026-03-15', '2026-03-14'],
  ],
  [
    'one that is not complete takes no place of a rule, and stays until a newer one is complete',
    { keepLast: 1 },
    [at('2026-03-15', { hasComplete: false }), at('2026-03-14'), at('2026-03-13', { hasComplete: false })],
    ['2026-03-15', '2026-03-14'],
  ],
  [
    'where none is complete all stay',
    { keepLast: 1 },
    [at('2026-03-15', { hasComplete: false }), at('2026-03-14', { hasComplete: false })],
    ['2026-03-15', '2026-03-14'],
  ],
  [
    'of two of the same time one is the newest',
    { keepLast: 1 },
    [at('2026-03-15', { backupId: 'a' }), at('2026-03-15', { backupId: 'b' })],
    ['b'],
  ],
]

describe('of all backups', () => {
  for (const [name, policy, backups, kept] of rows) {
    test(name, () => assert.deepEqual(keptOf(backups, policy), kept))
  }
})

test('the reasons name every rule that keeps a backup, and why one goes', () => {
  const verdicts = planRetention(
    [at('2026-03-15'), at('2026-03-14')],
    { match: ['*'], graceMs: 0, keepLast: 1, keepDaily: 1, keepYearly: 1 },
    now,
  )
  assert.deepEqual(
    [...verdicts.values()].map(({ reasons }) => reasons),
    [['keep_last', 'keep_daily', 'keep_yearly', 'the newest complete one'], ['no rule keeps it']],
  )
})

test('what is cut is what has grown of late: the newest, and others that no rule keeps whole', () => {
  const cutOf = (policy: Partial<RetentionPolicy>) =>
    [
      ...planRetention(
        days.map(day => at(day)),
        { match: ['*'], graceMs: 0, ...policy },
        now,
      ).values(),
    ]
      .filter(({ mayCut }) => mayCut)
      .map(({ backupId }) => backupId)
  const olderThanMs = 3 * 86_400_000
  assert.deepEqual(cutOf({ olderThanMs }), days.slice(0, 3))
  assert.deepEqual(cutOf({ olderThanMs, keepDaily: 2, keepMonthly: 12 }), ['2026-03-15', '2026-03-13'])
  assert.deepEqual(cutOf({ olderThanMs: 0 }), [])
  assert.deepEqual(cutOf({ keepLast: 3 }), [])
})

test('whatever the rules and the backups: the newest complete one, all in use and all unreadable stay', () => {
  const random = createRandom(7)
  const pick = (max: number) => Math.floor(random() * max)
  for (let round = 0; round < 2000; round++) {
    const backups = Array.from({ length: pick(12) }, (_, i) => ({
      backupId: `b${i}`,
      timeMs: now - pick(800) * 3_600_000,
      hasComplete: random() < 0.8,
      users: random() < 0.2 ? ['somebody'] : [],
      error: random() < 0.1 ? 'damaged' : undefined,
    }))
    const maybe = () => (random() < 0.4 ? pick(4) : undefined)
    const policy: RetentionPolicy = {
      match: ['*'],
      graceMs: 0,
      keepLast: maybe(),
      keepHourly: maybe(),
      keepDaily: maybe(),
      keepWeekly: maybe(),
      keepMonthly: maybe(),
      keepYearly: maybe(),
      olderThanMs: random() < 0.3 ? pick(800) * 3_600_000 : undefined,
    }
    const verdicts = planRetention(backups, policy, now)
    const gone = backups.filter(({ backupId }) => !verdicts.get(backupId)?.isKept)
    const complete = backups.filter(one => one.hasComplete && one.error === undefined)
    const newestMs = Math.max(...complete.map(({ timeMs }) => timeMs))
    assert.ok(gone.every(({ users, error }) => users.length === 0 && error === undefined))
    assert.ok(complete.length === 0 || complete.some(one => one.timeMs === newestMs && !gone.includes(one)))
  }
})
