import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LastVerification } from '../../src/archive/verification.ts'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { parseJson } from '../../src/lib/json.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { description, fakeActions, gap, job, summaries, verification, verifyReport } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main([...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const at = ['--path', '/backups']
const one = [...at, '--backup-id', 'orders']
const config = ['--config', 'job.yaml']

describe('list', () => {
  const broken = async () => [
    ...summaries,
    { backup_id: 'broken', error: 'manifests/3.json is not JSON', code: 'ARCHIVE_DAMAGED' as const },
  ]

  test('prints one row for each backup', async () => {
    const { code, out, err } = await run(['list', ...at])
    assert.equal(code, 0)
    assert.equal(err, '')
    assert.equal(
      out,
      `BACKUP  STATE     GEN  CREATED               TOPICS  PARTITIONS    RECORDS    BYTES   STORED  GAPS  VERIFIED  CLUSTER
orders  complete    3  2025-11-15 09:36:12Z       1           1  1,500,000  1.2 GiB  376 MiB     -  just now  MkU3OEVBNTcwNTJENDM2Qk
`,
    )
  })

  test('shows damage that was read around as a warning, and exits 0', async () => {
    const warnings = ['checkpoints/7: it is missing']
    const listBackups = async () => summaries.map(one => ({ ...one, warnings }))
    const { code, out } = await run(['list', ...at], { listBackups })
    assert.deepEqual([code, out.trimEnd().split('\n').at(-1)], [0, 'orders: checkpoints/7: it is missing'])
    const { out: json } = await run(['list', ...at, '--format', 'json'], { listBackups })
    assert.deepEqual(JSON.parse(json).backups[0].warnings, warnings)
  })

  test('shows when a backup was last verified, and that it was damaged', async () => {
    const [orders = assert.fail()] = summaries
    const listed = async (last_verification: LastVerification, last_damage: LastVerification = null) => {
      const listBackups = async () => [{ ...orders, last_verification, last_damage }]
      const { code, out } = await run(['list', ...at], { listBackups })
      assert.equal(code, 0)
      return out
    }
    assert.match(await listed(null), / never {5}MkU/)
    assert.match(await listed({ error: 'denied' }), / unknown {3}MkU/)
    const finished_at = '2025-11-12T00:00:00.000Z'
    assert.match(await listed({ ...verification, finished_at }), / 3 d ago {3}MkU/)
    assert.match(await listed({ ...verification, finished_at }, { error: 'torn' }), / unknown {3}MkU/)
    const found = { ...verification, finished_at, problems: 2 }
    const damaged = await listed(found, found)
    assert.match(damaged, / DAMAGED 3 d ago {2}MkU/)
    assert.match(damaged, /\n\norders: a verification found damage \(3 d ago, generation 3, 2 problems, .*verify/)
    const last_deep_verification = { ...verification, deep: true, finished_at, problems: 2 }
    const quick = {
      ...orders,
      last_verification: { ...verification, deep: false },
      last_deep_verification,
      last_damage: last_deep_verification,
    }
    const { out } = await run(['list', ...at], { listBackups: async () => [quick] })
    assert.match(out, / DAMAGED 3 d ago {2}MkU/)
    assert.match(out, /; every byte was read 3 d ago, generation 3, 2 problems\); `verify --deep` lists the problems/)
  })

  test('shows that the last drill did not prove a backup', async () => {
    const [orders = assert.fail()] = summaries
    const last_drill = {
      ...{ generation: 3, proven: false, scope: 'all topics', records: 7, recovery_ms: 900 },
      ...{ started_at: '2025-11-12T00:00:00.000Z', finished_at: '2025-11-12T00:00:00.000Z' },
    }
    const { code, out } = await run(['list', ...at], {
      listBackups: async () => [{ ...orders, last_drill, last_failed_drill: last_drill }],
    })
    assert.equal(code, 0)
    assert.match(
      out,
      /orders: a drill did not prove the backup \(3 d ago, generation 3, FAILED: all topics, 7 records in 900 ms\)/,
    )
  })

  test('shows an unreadable backup with the reason, and exits 3', async () => {
    const { code, out } = await run(['list', ...at], { listBackups: broken })
    assert.equal(code, 3)
    assert.match(out, /^orders {2}complete .*\nbroken {2}DAMAGED +- /m)
    assert.match(out, /\n\nbroken: manifests\/3\.json is not JSON\n$/)
  })

  test('tells damage from what the reader or the store lacks', async () => {
    for (const [code, state] of [
      ['ENCRYPTION_KEY', 'encrypted, no key'],
      ['STORAGE_DENIED', 'ACCESS DENIED'],
      ['STORAGE_UNAVAILABLE', 'UNREACHABLE'],
      ['ARCHIVE_TOO_NEW', 'TOO NEW'],
      ['STORAGE_SHORT', 'DAMAGED'],
      ['STORAGE_REFUSED', 'UNREADABLE'],
    ] as const) {
      const { out } = await run(['list', ...at], { listBackups: async () => [{ backup_id: 'a', error: 'why', code }] })
      assert.match(out, new RegExp(`^a +${state} `, 'm'), code)
    }
  })

  test('reports that there are no backups', async () => {
    const { code, out } = await run(['list', ...at], { listBackups: async () => [] })
    assert.deepEqual([code, out], [0, 'No backups at /backups.\n'])
  })

  test('prints the location and every field as JSON', async () => {
    const { out } = await run(['list', ...at, '--format', 'json'], { listBackups: broken })
    assert.deepEqual(JSON.parse(out), { location: '/backups', backups: await broken() })
  })

  test('takes the location from a job file, with its overrides', async () => {
    const { code, calls } = await run(['list', ...config, '--set', 'a=1', '--set', 'b=2'])
    assert.equal(code, 0)
    assert.equal(calls.openJobStorage?.[0], job)
    assert.equal(calls.loadClusterlessJob?.[0], 'job.yaml')
    assert.deepEqual(Object(calls.loadClusterlessJob?.[1]).set, ['a=1', 'b=2'])
  })

  const elsewhere = ['--path', '/backups', '--path', 's3://bucket/a']
  const opening = (failing?: string): Partial<Actions> => ({
    openLocation: async path => {
      if (path === failing) throw new KafkaBackupError('STORAGE_NOT_FOUND', `there is nothing at ${path}`)
      return { location: path, close: async () => undefined } as unknown as Storage
    },
  })

  test('prints one table with a location column for several locations', async () => {
    const { code, out } = await run(['list', ...elsewhere], opening())
    assert.equal(code, 0)
    const rows = out.split('\n').map(line => line.split(/ {2,}/).slice(0, 3))
    assert.deepEqual(rows.slice(0, 3), [
      ['LOCATION', 'BACKUP', 'STATE'],
      ['/backups', 'orders', 'complete'],
      ['s3://bucket/a', 'orders', 'complete'],
    ])
  })

  test('names an unreadable location after the others, and exits 1', async () => {
    const { code, out } = await run(['list', ...elsewhere], opening('/backups'))
    assert.equal(code, 1)
    assert.match(out, /^LOCATION .*\ns3:\/\/bucket\/a {2}orders .*\n\n\/backups: there is nothing at \/backups\n$/)
    const { out: json } = await run(['list', ...elsewhere, '--format', 'json'], opening('/backups'))
    assert.deepEqual(JSON.parse(json), {
      locations: [
        { location: '/backups', error: 'there is nothing at /backups', code: 'STORAGE_NOT_FOUND' },
        { location: 's3://bucket/a', backups: summaries },
      ],
    })
  })

  test('names locations without backups, and the location of a broken backup', async () => {
    const listBackups: Actions['listBackups'] = async ({ location }) => (location === '/backups' ? [] : broken())
    const { code, out } = await run(['list', ...elsewhere], { ...opening(), listBackups })
    assert.equal(code, 3)
    assert.match(out, /\n\nNo backups at \/backups\.\nbroken at s3:\/\/bucket\/a: manifests\/3\.json is not JSON\n$/)
  })

  test('fails with the error of a single unreadable location', async () => {
    const { code, err } = await run(['list', ...at], opening('/backups'))
    assert.equal(code, 1)
    assert.match(err, /error: there is nothing at \/backups/)
  })

  test('accepts several job files, but not together with a path', async () => {
    const { code, out } = await run(['list', '--config', 'a.yaml', '--config', 'b.yaml'])
    assert.deepEqual([code, out.split('\n').length], [0, 4])
    assert.match((await run(['list', ...at, ...config])).err, /either --path or --config/)
    assert.match((await run(['list', ...at, '--set', 'a=1'])).err, /--set needs --config/)
    const without = /pass --path or --config, or set KAFKA_BACKUP_LOCATION/
    for (const argv of [['list'], ['describe', 'orders']]) assert.match((await run(argv)).err, without)
  })

  test('closes the storage after a failure, too', async () => {
    assert.ok((await run(['list', ...at])).calls.close)
    const failed = await run(['list', ...at], { listBackups: () => Promise.reject(new Error('x')) })
    assert.ok(failed.calls.close)
  })
})

describe('describe', () => {
  test('counts earlier and later generations of a chosen one', async () => {
    const lineOf = async (generation: number) => {
      const describeBackup = async () => ({ ...description, generation, generations: [1, 2, 3, 4] })
      const { out } = await run(['describe', ...one], { describeBackup })
      return out.split('\n').find(text => text.startsWith('Generation'))
    }
    assert.equal(await lineOf(4), 'Generation  4, 3 earlier generations kept')
    assert.equal(await lineOf(2), 'Generation  2, 1 earlier generation kept, 2 later ones')
    assert.equal(await lineOf(1), 'Generation  1, 3 later ones')
  })

  test('does not blame the source for gaps of a repair', async () => {
    const titleWith = async (...reasons: ('retention' | 'damaged')[]) => {
      const gaps = reasons.map(reason => ({ partition: 0, from: 1n, to: 2n, reason, found_at: 'x' }))
      const topics = description.topics.slice(0, 1).map(topic => ({ ...topic, gaps }))
      const { out } = await run(['describe', ...one], { describeBackup: async () => ({ ...description, topics }) })
      return out.split('\n').find(text => text.startsWith('Gaps:'))
    }
    assert.equal(await titleWith('retention'), 'Gaps: lost at the source before they could be copied')
    const repaired = 'lost with objects of the backup, which was repaired without them'
    assert.equal(await titleWith('damaged'), `Gaps: ${repaired}`)
    assert.equal(await titleWith('retention', 'damaged'), `Gaps: lost at the source, or ${repaired}`)
  })

  test('prints a summary, topics, settings, gaps and warnings', async () => {
    const { code, out } = await run(['describe', ...one])
    assert.equal(code, 0)
    assert.equal(
      out,
      `Backup      orders
Location    /backups
State       complete
Generation  3, 2 earlier generations kept
Created     2025-11-15 09:36:12Z, begun 2025-11-15 09:35:00Z
Verified    just now, generation 3, no problems, every byte was read
Drilled     never
Restorable  2025-11-10 00:00:00Z (generation 1) to 2025-11-15 09:36:12Z (generation 3)
Cluster     MkU3OEVBNTcwNTJENDM2Qk, 3 brokers
Selection   orders, payments-*, without *-tmp
Holds       2 topics, 2 partitions, 1,500,000 records
Groups      2 consumer groups, 7 committed offsets, 1 could not be read
Access      12 ACLs, no users: denied
Size        1.2 GiB, 376 MiB stored (3.3x)
Written by  kafka-backup 0.1.0, format 1

TOPIC                      PARTITIONS    RECORDS    BYTES   STORED  RATIO  FIRST                 LAST                  GAPS
orders                              1  1,500,000  1.2 GiB  376 MiB   3.3x  2025-11-01 00:00:00Z  2025-11-15 09:36:12Z     1
audit@dG9waWMt (replaced)           1          0      0 B      0 B      -  -                     -                        -

TOPIC                      RESTORABLE FROM
audit@dG9waWMt (replaced)  2025-11-12 00:00:00Z (generation 2)

Settings that differ from the default
  orders
    cleanup.policy = compact,delete
    retention.ms = 604800000

Gaps: lost at the source before they could be copied
TOPIC   PARTITION  FROM    TO  OFFSETS  REASON
orders          0   100  1300    1,200  deleted at the source before the backup read it

Warnings
  orders/0 has an open transaction
`,
    )
  })

  test('shows the subjects of a registry', async () => {
    const schema_registry = {
      enabled: true,
      taken_at: '2026-11-14T10:00:00.000Z',
      subjects_count: 2,
      schemas_count: 1204,
      subjects: [
        { name: 'orders-value', versions: 1203, latest_id: 100001 },
        { name: 'bare', versions: 1, latest_id: null },
      ],
    }
    const { out } = await run(['describe', ...one], {
      describeBackup: async () => ({ ...description, schema_registry }),
    })
    assert.match(out, /^Schemas +2 subjects, 1,204 versions$/m)
    const table = `SUBJECT       VERSIONS  LATEST ID
orders-value     1,203     100001
bare                 1          -
`
    assert.ok(out.includes(table), out)
    const older = { ...description, schema_registry, carried_sections: ['schema_registry' as const] }
    const { out: carried } = await run(['describe', ...one], { describeBackup: async () => older })
    assert.match(carried, /^Schemas +2 subjects, 1,204 versions, read 2026-11-14 10:00:00Z$/m)
  })

  test('prints the complete description as JSON, with exact 64-bit numbers', async () => {
    const [topic] = description.topics
    const far = { ...description, topics: topic ? [{ ...topic, last_timestamp: 1_763_199_372_123_456_789n }] : [] }
    const { out } = await run(['describe', ...one, '--format', 'json'], { describeBackup: async () => far })
    assert.match(out, /"last_timestamp": 1763199372123456789,/)
    const parsed = parseJson(out) as typeof far
    assert.deepEqual(Object.keys(parsed), Object.keys(far))
    assert.deepEqual(parsed.schema_registry, {
      enabled: false,
      taken_at: null,
      subjects_count: 0,
      schemas_count: 0,
      subjects: [],
    })
  })

  test('describes the backup of a job file, or the named one', async () => {
    assert.equal((await run(['describe', ...config])).calls.describeBackup?.[1], 'orders')
    assert.equal((await run(['describe', ...config, '--backup-id', 'x'])).calls.describeBackup?.[1], 'x')
  })
})

test('describe shows that a backup of schemas only has no cluster yet', async () => {
  const selection = { include: [], exclude: [] }
  const cluster = { id: null, brokers: 0 }
  const { out } = await run(['describe', ...one], {
    describeBackup: async () => ({ ...description, selection, cluster, topics: [] }),
  })
  assert.match(out, /^Cluster {5}none yet: only schemas$/m)
  assert.doesNotMatch(out, /^Selection/m)
})

describe('verify', () => {
  const problems = [{ key: 'orders/kafka/orders/0/0.log.zst', problem: 'the object is missing' }]
  const damaged = { ...verifyReport, ok: false, deep: true, problems, gaps: [gap], warnings: ['the copy is old'] }

  test('reports in one line that a backup is intact, and what was checked', async () => {
    const { code, out, calls } = await run(['verify', ...one])
    assert.equal(code, 0)
    assert.equal(
      out,
      `orders generation 3: intact
  5 objects, 376 MiB, 1 partition, 1,500,000 records (presence, sizes and offsets; --deep reads every byte)
`,
    )
    assert.equal(Object(calls.verifyBackup?.[2]).deep, false)
  })

  test('stores its result unless --no-record is given, and says why there is none', async () => {
    for (const [argv, record] of [
      [['verify', ...one], true],
      [['verify', ...one, '--no-record'], false],
    ] as const) {
      assert.equal(Object((await run([...argv])).calls.verifyBackup?.[2]).record, record)
    }
    const report = { ...verifyReport, record: { not_recorded: 'the folder is read-only' } }
    const { code, out } = await run(['verify', ...one], { verifyBackup: async () => report })
    assert.equal(code, 0)
    assert.match(out, /^orders generation 3: intact\n.*\n {2}this result is not recorded: the folder is read-only\n$/)
  })

  test('passes --deep to the verification', async () => {
    const { calls } = await run(['verify', ...one, '--deep'])
    assert.equal(Object(calls.verifyBackup?.[2]).deep, true)
  })

  test('exits 3 on damage, and lists problems separately from gaps and warnings', async () => {
    const { code, out } = await run(['verify', ...one, '--deep'], { verifyBackup: async () => damaged })
    assert.equal(code, 3)
    assert.equal(
      out,
      `orders generation 3: DAMAGED, 1 problem
  5 objects, 376 MiB, 1 partition, 1,500,000 records (every byte was read)

OBJECT                           PROBLEM
orders/kafka/orders/0/0.log.zst  the object is missing

Gaps: lost at the source; the backup itself is intact
TOPIC   PARTITION  FROM    TO  OFFSETS  REASON
orders          0   100  1300    1,200  deleted at the source before the backup read it

Warnings
  the copy is old
`,
    )
  })

  test('exits 0 with gaps alone', async () => {
    const { code } = await run(['verify', ...one], { verifyBackup: async () => ({ ...verifyReport, gaps: [gap] }) })
    assert.equal(code, 0)
  })

  test('prints the report as JSON, also for a damaged backup', async () => {
    const { code, out } = await run(['verify', ...one, '--format', 'json'], { verifyBackup: async () => damaged })
    assert.equal(code, 3)
    assert.deepEqual(JSON.parse(out), { ...damaged, gaps: [{ ...gap, from: 100, to: 1300 }] })
  })
})

describe('color', () => {
  const coloured = (options: ConstructorParameters<typeof FakeIo>[0]) =>
    run(['list', ...at], {}, new FakeIo(options)).then(({ out }) => out.includes('\x1b['))

  test('is used only on a terminal', async () => {
    assert.equal(await coloured({ columns: 200 }), true)
    assert.equal(await coloured({}), false)
  })

  test('is off with NO_COLOR or a dumb terminal, and on with FORCE_COLOR', async () => {
    assert.equal(await coloured({ columns: 200, env: { NO_COLOR: '1' } }), false)
    assert.equal(await coloured({ columns: 200, env: { TERM: 'dumb' } }), false)
    assert.equal(await coloured({ env: { FORCE_COLOR: '1' } }), true)
    assert.equal(await coloured({ columns: 200, env: { FORCE_COLOR: '0' } }), false)
    assert.equal(await coloured({ columns: 200, env: { NO_COLOR: '1', FORCE_COLOR: '1' } }), false)
  })
})
