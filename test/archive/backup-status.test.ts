import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeBackup, type StatusFacts } from '../../src/archive/backup-status.ts'
import type { GenerationSummary } from '../../src/archive/generations.ts'
import type { ExpectedInterval } from '../../src/archive/status-finding.ts'
import { summaries } from '../cli/fake-actions.ts'

const HOUR_MS = 3_600_000
const committed = Date.parse('2026-01-10T00:00:00Z')
const at = (ms: number) => new Date(ms).toISOString()

type Readable = Exclude<(typeof summaries)[number], { error: string }>
const [sample] = summaries as Readable[]
const proof = { generation: 3, started_at: at(committed), finished_at: at(committed) }
const verified = { ...proof, deep: true, problems: 0 }
const drilled = { ...proof, proven: true, scope: 'all topics', records: 1, recovery_ms: 1 }
const healthy = {
  ...(sample ?? assert.fail()),
  created_at: at(committed),
  last_verification: verified,
  last_deep_verification: verified,
  last_damage: null,
  last_drill: drilled,
  last_proven_drill: drilled,
  last_failed_drill: null,
}

function generation(ageHours: number, more: Partial<Readable> = {}): GenerationSummary {
  const created_at = at(committed - ageHours * HOUR_MS)
  return { ...healthy, ...more, generation: 100 - ageHours, created_at, started_at: created_at, hold: null }
}

function judge(facts: Partial<StatusFacts>, hoursLater = 0) {
  const status = judgeBackup({ summary: healthy, generations: [], ...facts }, committed + hoursLater * HOUR_MS)
  return { ...status, kinds: status.findings.map(({ kind }) => kind) }
}

const daily: ExpectedInterval = { ms: 24 * HOUR_MS, source: 'job' }

describe('the age of a backup', () => {
  for (const [hours, level, kinds] of [
    [24, 'ok', []],
    [30, 'ok', []],
    [31, 'warning', ['late']],
    [48, 'warning', ['late']],
    [49, 'critical', ['stale']],
  ] as const) {
    test(`of ${hours} hours is ${level} if one commit a day is expected`, () => {
      const status = judge({ expected: daily }, hours)
      assert.deepEqual([status.level, status.kinds], [level, kinds])
      assert.equal(status.age_seconds, hours * 3600)
    })
  }

  test('is compared with the usual time between commits where nothing is stated, which only warns', () => {
    const generations = [0, 6, 12, 18, 24].map(hours => generation(hours))
    const status = judge({ generations }, 100)
    assert.deepEqual([status.expected_interval_seconds, status.expected_interval_source], [6 * 3600, 'history'])
    assert.deepEqual([status.level, status.kinds], ['warning', ['stale']])
    assert.deepEqual(judge({ generations, expected: { ms: 1000 * HOUR_MS, source: 'option' } }, 100).kinds, [])
  })

  test('is not known of a commit in the future, which a wrong clock made', () => {
    for (const [hours, expected, level, kinds, seconds] of [
      [-1, daily, 'critical', ['future'], null],
      [-59 / 60, daily, 'warning', ['future'], null],
      [-6 / 60, daily, 'warning', ['future'], null],
      [-1, undefined, 'warning', ['future'], null],
      [-4 / 60, daily, 'ok', [], 0],
    ] as const) {
      const status = judge({ expected }, hours)
      assert.deepEqual([status.level, status.kinds, status.age_seconds], [level, kinds, seconds])
    }
    const unreadable = judge({ summary: { ...healthy, created_at: 'yesterday' }, expected: daily })
    assert.deepEqual([unreadable.level, unreadable.kinds], ['critical', ['future']])
  })

  test('has no expectation after few commits, or from commits that are incomplete', () => {
    assert.equal(
      judge({ generations: [0, 6, 12].map(hours => generation(hours)) }, 500).expected_interval_seconds,
      null,
    )
    const broken = [0, 6, 12, 18].map(hours => generation(hours, { complete: false }))
    assert.equal(judge({ generations: broken }, 500).expected_interval_seconds, null)
  })
})

describe('the content of a backup', () => {
  test('grows by what was stored between the oldest and the latest listed generation', () => {
    const generations = [generation(0, { stored_bytes: 3000 }), generation(12, { stored_bytes: 1000 })]
    assert.equal(judge({ generations }).growth_bytes_per_day, 4000)
    assert.equal(judge({ generations: [generation(0), generation(0.5)] }).growth_bytes_per_day, null)
  })

  test('warns of gaps by the time at which they were found, and not of older ones', () => {
    const found = (...hoursAgo: number[]) => ({
      ...healthy,
      gaps: hoursAgo.length * 2,
      found_gaps: hoursAgo.map(hours => ({ found_at: at(committed - hours * HOUR_MS), gaps: 2 })),
    })
    const status = judge({ summary: found(0, 12, 30) })
    assert.deepEqual([status.level, status.kinds, status.gaps, status.new_gaps], ['warning', ['new_gaps'], 6, 4])
    assert.match(status.findings[0]?.message ?? '', /^4 new gaps: /)
    // Commits of every minute must not hide them, and gaps that others have replaced neither.
    const generations = [0, 1, 2].map(hours => generation(hours, { gaps: 9 }))
    assert.deepEqual(judge({ summary: found(12), generations }).kinds, ['new_gaps'])
    assert.deepEqual(judge({ summary: found(30, 400), generations }).kinds, [])
    // Also of a backup that no run continues.
    assert.deepEqual(judge({ summary: found(1) }, 48).kinds, [])
    const weekly: ExpectedInterval = { ms: 7 * 24 * HOUR_MS, source: 'job' }
    assert.deepEqual(judge({ summary: found(0), expected: weekly }, 6 * 24).kinds, ['new_gaps'])
    assert.deepEqual(judge({ summary: found(0), expected: weekly }, 7 * 24 + 1).kinds, [])
  })

  test('names each part that the last run could not read', () => {
    const failed_sections = [
      { section: 'consumer_groups', error: 'not authorized' },
      { section: 'quotas', error: 'timed out' },
    ] as const
    const { level, kinds, findings } = judge({ summary: { ...healthy, failed_sections: [...failed_sections] } })
    assert.deepEqual([level, kinds], ['warning', ['section_failed', 'section_failed']])
    assert.deepEqual(
      findings.map(({ message }) => message),
      [
        'the last run could not read committed offsets of consumer groups: not authorized',
        'the last run could not read client quotas: timed out',
      ],
    )
    const old = judge({ summary: { ...healthy, old_schemas_at: '2026-01-01T00:00:00Z' } })
    assert.deepEqual([old.level, old.kinds], ['ok', ['old_schemas']])
  })

  test('warns of a commit that is incomplete', () => {
    assert.deepEqual(judge({ summary: { ...healthy, complete: false } }).kinds, ['incomplete'])
  })

  test('that cannot be read is critical, and a missing key a warning', () => {
    const error = { backup_id: 'x', error: 'the reason' }
    for (const [code, level, kind] of [
      ['ARCHIVE_DAMAGED', 'critical', 'unreadable'],
      ['STORAGE_DENIED', 'critical', 'denied'],
      ['STORAGE_UNAVAILABLE', 'critical', 'unreachable'],
      ['ARCHIVE_TOO_NEW', 'critical', 'unreachable'],
      ['ENCRYPTION_KEY', 'warning', 'locked'],
    ] as const) {
      const status = judge({ summary: { ...error, code } })
      assert.deepEqual([status.level, status.kinds, status.age_seconds], [level, [kind], null])
      assert.equal(/verify/.test(status.findings[0]?.action ?? ''), kind === 'unreadable')
    }
  })

  test('whose generations cannot be listed is not called fresh', () => {
    const problem = { code: 'STORAGE_UNAVAILABLE', error: 'its generations cannot be listed: timed out' } as const
    const { level, findings } = judge({ problem })
    assert.deepEqual([level, findings[0]?.kind, findings[0]?.message], ['warning', 'unreachable', problem.error])
  })
})

test('actions name the location, so that they can be run as they are', () => {
  const none = { last_deep_verification: null, last_proven_drill: null, last_drill: null }
  const actions = (at: string) => judge({ summary: { ...healthy, ...none }, at }).findings.map(one => one.action)
  assert.deepEqual(actions('--path /backups'), [
    'run `kafka-backup verify --deep orders --path /backups`',
    'run `kafka-backup drill --backup-id orders --path /backups --target <brokers>`',
  ])
  assert.deepEqual(actions('--config job.yaml'), [
    'run `kafka-backup verify --deep orders --config job.yaml`',
    'run `kafka-backup drill` with the job file of a restore',
  ])
})

describe('proofs of a backup', () => {
  test('that are missing or a month old are notices', () => {
    const none = {
      last_verification: null,
      last_deep_verification: null,
      last_drill: null,
      last_proven_drill: null,
      last_failed_drill: null,
    }
    const status = judge({ summary: { ...healthy, ...none } })
    assert.deepEqual([status.level, status.kinds], ['ok', ['not_verified', 'not_drilled']])
    assert.deepEqual(judge({}, 24 * 31).kinds, ['not_verified', 'not_drilled'])
    assert.deepEqual([judge({}).kinds, judge({}).last_drilled_at], [[], at(committed)])
  })

  test('that failed are critical', () => {
    const damage = { ...verified, problems: 2 }
    assert.deepEqual(judge({ summary: { ...healthy, last_damage: damage } }).kinds, ['damaged'])
    const older = { ...damage, generation: 3, latest: false }
    const [found] = judge({ summary: { ...healthy, last_damage: older }, at: '--path /b' }).findings
    assert.equal(found?.action, 'run `kafka-backup verify --deep --generation 3 orders --path /b`')
    const failed = { ...drilled, proven: false }
    const status = judge({ summary: { ...healthy, last_drill: failed, last_failed_drill: failed } })
    assert.deepEqual([status.level, status.kinds], ['critical', ['drill_failed']])
  })

  test('of which one cannot be read are a warning, because it may have failed', () => {
    const error = { error: 'the store does not answer' }
    const status = judge({ summary: { ...healthy, last_failed_drill: error } })
    assert.deepEqual([status.level, status.kinds], ['warning', ['drill_unknown']])
    const verification = judge({ summary: { ...healthy, last_damage: error } })
    assert.deepEqual([verification.level, verification.kinds], ['warning', ['verification_unknown']])
  })
})
