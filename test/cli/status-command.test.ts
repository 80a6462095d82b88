import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BackupStatus } from '../../src/archive/backup-status.ts'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { fakeActions, job, statuses } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const [orders = assert.fail()] = statuses
const stale: BackupStatus = {
  ...orders,
  level: 'critical',
  findings: [
    { level: 'critical', kind: 'stale', message: 'the last commit is 3 d old', action: 'check the schedule' },
    { level: 'notice', kind: 'not_drilled', message: 'never proven by a drill', action: 'run a drill' },
  ],
}
const damaged: BackupStatus = {
  ...orders,
  backup_id: 'audit',
  level: 'critical',
  findings: [{ level: 'critical', kind: 'damaged', message: 'a verification found damage', action: 'run verify' }],
}
const unread = (kind: 'denied' | 'unreachable'): BackupStatus => ({
  ...orders,
  level: 'critical',
  age_seconds: null,
  findings: [{ level: 'critical', kind, message: 'commits/ cannot be read', action: 'grant access' }],
})
const returning = (...backups: BackupStatus[]) => ({ readStatus: async () => backups })
const watched = {
  ...job,
  monitoring: {
    expectedIntervalMs: 3_600_000,
    webhooks: [{ url: 'https://hooks/secret-path', format: 'json', events: ['stale'] }],
  },
} as typeof job

async function run(argv: string[], actions: Partial<Actions> = {}, io = new FakeIo()) {
  const all = { ...fakeActions(), ...actions }
  const code = await main(['status', ...argv], io, all)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: all.calls }
}

describe('status', () => {
  test('shows a backup on one line of 80 columns, and what to do below', async () => {
    const io = new FakeIo({ columns: 80, env: { NO_COLOR: '1' } })
    const long = { ...stale, backup_id: 'a-backup-with-a-rather-long-name', gaps: 1234 }
    const { out } = await run(['/backups'], returning(orders, long), io)
    assert.deepEqual(
      out.split('\n').filter(line => line.length > 80),
      [],
    )
    for (const title of ['BACKUP', 'STATE', 'AGE', 'EVERY', 'VERIFY', 'DRILL', 'GAPS', 'STORED', 'PER DAY']) {
      assert.match(out, new RegExp(title))
    }
    assert.match(out, /the last commit is 3 d old: check the schedule/)
    assert.ok(out.indexOf('3 d old') < out.indexOf('never proven by a drill'), 'the worst comes first')
  })

  for (const [name, backups, code] of [
    ['all is well', [orders], 0],
    ['a backup is stale', [orders, stale], 4],
    ['a backup is damaged, also next to one that is stale', [stale, damaged], 3],
    ['a backup is denied', [orders, unread('denied')], 1],
    ['a backup is denied, next to one that is damaged', [unread('unreachable'), damaged], 3],
    ['there are only notices', [{ ...orders, findings: stale.findings.slice(1) }], 0],
  ] as const) {
    test(`exits ${code} if ${name}`, async () => {
      assert.equal((await run(['/backups'], returning(...backups))).code, code)
    })
  }

  test('reports the backup of a job that is not there, also next to others, and exits 4', async () => {
    const loadClusterlessJob = async () => watched
    const other = { ...orders, backup_id: 'audit' }
    const found = await run(['-c', 'job.yaml'], { loadClusterlessJob, ...returning(other) })
    assert.equal(found.code, 4)
    assert.match(found.out, /orders +critical[\s\S]*orders: there is no such backup at the location: run its job/)
    const nagios = await run(['-c', 'job.yaml', '--nagios'], { loadClusterlessJob, ...returning(other) })
    assert.equal(nagios.code, 2)
    assert.match(nagios.out, /^KAFKA_BACKUP CRITICAL - 2 backups; orders: there is no such backup at the location \|/)
  })

  test('warns of a location without backups, which may be a wrong one, and exits 4', async () => {
    const { code, out } = await run(['/backups'], returning())
    assert.deepEqual([code, out], [4, 'No backups at /backups.\n'])
    const nagios = await run(['/backups', '--nagios'], returning())
    assert.deepEqual([nagios.code, nagios.out], [1, 'KAFKA_BACKUP WARNING - 0 backups; no backups at /backups\n'])
  })

  test('shows the other locations if one cannot be read, and exits 1', async () => {
    const { openLocation } = fakeActions()
    const failing: Actions['openLocation'] = (path, ...rest) => {
      if (path === '/gone') throw new KafkaBackupError('STORAGE_NOT_FOUND', 'there is nothing at /gone')
      return openLocation(path, ...rest)
    }
    const { code, out } = await run(['/gone', '/backups'], { openLocation: failing })
    assert.equal(code, 1)
    assert.match(out, /orders +ok[\s\S]*\/gone: there is nothing at \/gone/)
  })

  test('prints every fact as one JSON document', async () => {
    const { out } = await run(['/backups', '--format', 'json'], returning(stale))
    const { level, locations, checked_at } = JSON.parse(out)
    assert.deepEqual([level, checked_at], ['critical', '2025-11-15T09:30:00.000Z'])
    assert.deepEqual(locations[0].backups, [JSON.parse(JSON.stringify(stale))])
  })

  test('expects the interval of the option, or that of the job for its own backup', async () => {
    const expected = async (argv: string[]) => {
      const { calls } = await run(argv, { loadClusterlessJob: async () => watched })
      const [, { expectedOf, at }] = calls.readStatus as [unknown, { expectedOf: (id: string) => unknown; at: string }]
      assert.equal(at, '--config job.yaml')
      return [expectedOf('orders'), expectedOf('other')]
    }
    assert.deepEqual(await expected(['-c', 'job.yaml']), [{ ms: 3_600_000, source: 'job' }, undefined])
    const option = { ms: 1_800_000, source: 'option' }
    assert.deepEqual(await expected(['-c', 'job.yaml', '--interval', '30m']), [option, option])
  })

  test('refuses a wrong duration, and options that exclude each other', async () => {
    assert.match((await run(['/b', '--interval', '5'])).err, /--interval 5 is not a duration/)
    assert.match((await run(['/b', '--nagios', '--format', 'json'])).err, /--nagios excludes/)
    assert.match((await run(['/b', '--notify'])).err, /--notify needs --config/)
    assert.match((await run([])).err, /pass a location, --path or --config/)
  })

  test('watches until it is stopped', async () => {
    const io = new FakeIo()
    let readings = 0
    const readStatus = async () => {
      if (++readings === 3) io.signal('SIGINT')
      else queueMicrotask(() => setImmediate(() => io.clock.pass(5000)))
      return statuses
    }
    const { code } = await run(['/backups', '--watch', '--every', '5s'], { readStatus }, io)
    assert.deepEqual([code, readings], [130, 3])
  })
})

describe('status --nagios', () => {
  test('prints one line with performance data and exits as plugins do', async () => {
    const fine = await run(['/backups', '--nagios'])
    assert.deepEqual(
      [fine.code, fine.out],
      [0, "KAFKA_BACKUP OK - 1 backup | 'orders_age'=7200s 'orders_stored'=394264576B 'orders_gaps'=0\n"],
    )
    const bad = await run(['/backups', '--nagios'], returning(stale))
    assert.equal(bad.code, 2)
    assert.match(bad.out, /^KAFKA_BACKUP CRITICAL - 1 backup; orders: the last commit is 3 d old \| /)
  })

  test('keeps backups of the same name at two locations apart', async () => {
    const { out } = await run(['/a', '/b', '--nagios'], {
      openLocation: async path => ({ location: path, close: async () => undefined }) as never,
      readStatus: async storage => (storage.location === '/b' ? [stale, damaged] : [orders]),
    })
    assert.match(out, /; orders@\/b: the last commit is 3 d old; audit: /)
    const labels = [...out.matchAll(/'([^']+)'=/g)].map(([, label]) => label)
    assert.deepEqual([labels.length, new Set(labels).size], [9, 9])
    assert.ok(labels.includes('orders@/a_age') && labels.includes('audit_age'), out)
  })

  test('is UNKNOWN where a location or a job file cannot be read', async () => {
    const error = new KafkaBackupError('STORAGE_NOT_FOUND', 'there is | nothing')
    const openLocation = async () => Promise.reject(error)
    const unread = await run(['/gone', '--nagios'], { openLocation })
    assert.equal(unread.code, 3)
    assert.match(unread.out, /^KAFKA_BACKUP UNKNOWN - 0 backups; \/gone: there is {3}nothing\n$/)
    const openOther = async (path: string) =>
      path === '/gone' ? Promise.reject(error) : ({ location: path, close: async () => undefined } as never)
    const hidden = async (found: BackupStatus) => {
      const { code, out } = await run(['/gone', '/b', '--nagios'], { openLocation: openOther, ...returning(found) })
      return [code, out.split(' ')[1]]
    }
    assert.deepEqual(await hidden(damaged), [2, 'CRITICAL'], 'what is known to be critical counts more')
    assert.deepEqual(await hidden({ ...orders, level: 'warning' }), [3, 'UNKNOWN'])
    const loadClusterlessJob = async () => Promise.reject(new KafkaBackupError('CONFIG_UNREADABLE', 'no such job file'))
    const noJob = await run(['-c', 'x.yaml', '--nagios'], { loadClusterlessJob })
    assert.deepEqual([noJob.code, noJob.out], [3, 'KAFKA_BACKUP UNKNOWN - no such job file\n'])
  })
})

describe('status --notify', () => {
  const loadClusterlessJob = async () => watched

  test('posts a backup that is stale or missing, and nothing else', async () => {
    const found = await run(['-c', 'job.yaml', '--notify'], { loadClusterlessJob, ...returning(stale) })
    const [, about] = found.calls.notifyWebhooks as [unknown, { event: string; message: string }]
    assert.deepEqual([about.event, about.message], ['stale', 'the last commit is 3 d old'])
    const missing = await run(['-c', 'job.yaml', '--notify'], { loadClusterlessJob, ...returning() })
    const [, aboutMissing] = missing.calls.notifyWebhooks as [unknown, { message: string }]
    assert.match(aboutMissing.message, /no such backup/)
    const fine = await run(['-c', 'job.yaml', '--notify'], { loadClusterlessJob, ...returning(orders) })
    assert.equal(fine.calls.notifyWebhooks, undefined)
  })

  test('warns where a webhook does not answer, without its address', async () => {
    const notifyWebhooks = async () => ['not delivered to https://hooks/secret-path']
    const { code, err } = await run(['-c', 'job.yaml', '--notify'], {
      loadClusterlessJob,
      notifyWebhooks,
      ...returning(stale),
    })
    assert.equal(code, 4)
    assert.match(err, /not delivered to \[redacted\]/)
  })
})
