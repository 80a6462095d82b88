import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { formatAge } from '../../src/cli/commands/list-generations.ts'
import { main } from '../../src/cli/main.ts'
import { fakeActions, generationDiff, generationListing, holdReport, repairReport } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main([...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const one = ['--path', '/backups', '--backup-id', 'orders']

describe('list --generations', () => {
  test('prints one row for each generation, and that there are more', async () => {
    const { code, out, calls } = await run(['list', ...one, '--generations'])
    assert.equal(code, 0)
    assert.match(out, /^ {4}GEN {2}COMMITTED .* AGE {2}STATE .* RECORDS {3}STORED {2}GAPS {2}HELD$/m)
    assert.match(out, /^1000003 {2}2025-11-15 09:36:12Z .* incomplete .* 1,500,000 {2}376 MiB {5}2 {2}-$/m)
    assert.match(out, /^1000002 {2}2025-11-14 08:30:00Z .* complete .* 900,000 {2}191 MiB {5}- {2}yes$/m)
    assert.match(
      out,
      /\n\ngeneration 1000002 is held since 2025-11-15 09:36:12Z: audit of 2025\nThere are older generations; --limit lists more of them\.\n$/,
    )
    assert.deepEqual(calls.listGenerationsOf?.slice(1, 3), ['orders', { limit: 20 }])
  })

  test('takes a limit and the backup of a job file', async () => {
    const { calls } = await run(['list', '--config', 'job.yaml', '--generations', '--limit', '500'])
    assert.deepEqual(calls.listGenerationsOf?.slice(1, 3), ['orders', { limit: 500 }])
  })

  test('shows a damaged generation with the reason, and exits 3', async () => {
    const broken = { generation: 7, error: 'commits/7 is missing', code: 'ARCHIVE_DAMAGED' as const, hold: null }
    const listGenerationsOf = async () => ({ ...generationListing, generations: [broken], more: false })
    const { code, out } = await run(['list', ...one, '--generations'], { listGenerationsOf })
    assert.equal(code, 3)
    assert.match(out, /^ {2}7 {2}- .* DAMAGED /m)
    assert.match(out, /\n\ngeneration 7: commits\/7 is missing\n$/)
  })

  test('shows damage that was read around as a warning, and exits 0', async () => {
    const listGenerationsOf = async () => ({
      ...generationListing,
      more: false,
      warnings: ['rollups/7: it is missing'],
    })
    const { code, out } = await run(['list', ...one, '--generations'], { listGenerationsOf })
    assert.deepEqual([code, out.trimEnd().split('\n').at(-1)], [0, 'rollups/7: it is missing'])
  })

  test('prints every field as JSON', async () => {
    const { out } = await run(['list', ...one, '--generations', '--format', 'json'])
    assert.deepEqual(JSON.parse(out), generationListing)
  })

  const wrong: Record<string, [string[], RegExp]> = {
    'two locations': [[...one, '--path', '/copies', '--generations'], /needs one --path or one --config/],
    'no backup': [['--path', '/backups', '--generations'], /needs --backup-id or --config/],
    'a limit of 0': [[...one, '--generations', '--limit', '0'], /--limit "0" is not a whole number from 1/],
    'a backup without --generations': [one, /--backup-id and --limit need --generations/],
  }
  for (const [name, [argv, message]] of Object.entries(wrong)) {
    test(`refuses ${name}`, async () => {
      const { code, err } = await run(['list', ...argv])
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }

  test('ages are exact to their second unit', () => {
    const minute = 60_000
    const ages = [0, 59_999, minute, 59 * minute, 60 * minute, 61 * minute, 24 * 60 * minute, 50 * 60 * minute, -1]
    assert.deepEqual(ages.map(formatAge), ['0s', '59s', '1m', '59m', '1h', '1h 1m', '1d', '2d 2h', '-'])
    assert.equal(formatAge(Number.NaN), '-')
  })
})

describe('--generation and --as-of', () => {
  const time = '2026-01-31T08:00:00Z'
  const asOfMs = BigInt(Date.parse(time))

  test('select the state that is described and verified', async () => {
    assert.deepEqual((await run(['describe', ...one, '--generation', '4'])).calls.describeBackup?.[2], {
      generation: 4,
    })
    assert.deepEqual((await run(['describe', ...one, '--as-of', time])).calls.describeBackup?.[2], { asOfMs })
    const { calls } = await run(['verify', ...one, '--as-of', time, '--deep'])
    const { onProgress: _, ...options } = Object(calls.verifyBackup?.[2])
    assert.deepEqual(options, { deep: true, record: true, asOfMs })
  })

  test('select the state that is restored and compared, in the place of that of the job', async () => {
    for (const [command, action] of [
      ['restore', 'runRestoreJob'],
      ['compare', 'compareJob'],
    ] as const) {
      const argv = [command, '--config', 'restore.yaml']
      const jobOf = async (...options: string[]) =>
        Object((await run([...argv, ...options])).calls[action]?.[0]).restore
      assert.equal((await jobOf('--generation', '4')).generation, 4)
      const restored = await jobOf('--as-of', time)
      assert.deepEqual([restored.asOfMs, 'generation' in restored], [asOfMs, false])
    }
    const plain = await run(['compare', ...one, '--target', 'localhost:9092', '--generation', '4'])
    assert.equal(Object(plain.calls.compareJob?.[0]).restore.generation, 4)
  })

  const wrong: [string[], RegExp][] = [
    [['--generation', '4', '--as-of', time], /pass either --generation or --as-of, not both/],
    [['--generation', '0'], /--generation 0 is not a generation: use a whole number from 1/],
    [['--as-of', '2026-01-31'], /--as-of 2026-01-31 is a day without a time/],
    [['--as-of', 'yesterday'], /--as-of yesterday is not a time; write it as 2026-01-31T08:00:00Z/],
  ]
  for (const [argv, message] of wrong) {
    test(`refuses ${argv.join(' ')}`, async () => {
      for (const command of [
        ['describe', ...one],
        ['verify', ...one],
        ['restore', '--config', 'restore.yaml'],
        ['compare', '--config', 'restore.yaml'],
      ]) {
        const { code, err } = await run([...command, ...argv])
        assert.equal(code, 2)
        assert.match(err, message)
      }
    })
  }
})

describe('diff', () => {
  test('prints what changed in topics, partitions, settings, schemas, groups and access rules', async () => {
    const { code, out, calls } = await run(['diff', ...one, '--from', '41', '--to', '43'])
    assert.equal(code, 0)
    assert.deepEqual(calls.diffGenerations?.slice(1, 3), ['orders', { from: 41, to: 43 }])
    assert.equal(
      out,
      `Backup   orders
From     generation 41, 2025-11-14 08:30:00Z, complete
To       generation 43, 2025-11-15 09:36:12Z, complete
Result   different
Records  900,000 to 1,500,000 (+600,000)
Size     763 MiB to 1.2 GiB (+466 MiB)
Schemas  1 subject added (orders-value); 1 subject changed (orders-key); settings of the registry changed
Groups   1 group removed (audit)
Access   acls: taken before, failed now; 12 ACLs removed; 1 quota added

TOPIC   CHANGE   PARTITIONS   RECORDS     BYTES   GAPS
orders  changed           1  +600,000  +466 MiB  +1 -2

PARTITION  CHANGE      START                END   RECORDS     BYTES   GAPS
orders/0   changed  0 to 100  900000 to 1500100  +600,000  +466 MiB  +1 -2

Settings
  orders
    retention.ms: (default) to 604800000
`,
    )
  })

  test('shows damage that was read around as a warning', async () => {
    const warnings = ['checkpoints/7: it is missing']
    const diffGenerations = async () => ({ ...generationDiff, warnings })
    const { out } = await run(['diff', ...one, '--from', '41'], { diffGenerations })
    assert.match(out, /\n\nWarnings\n {2}checkpoints\/7: it is missing\n$/)
  })

  test('compares with the latest generation by default, and needs the earlier one', async () => {
    const { calls } = await run(['diff', '--config', 'job.yaml', '--from', '41'])
    assert.deepEqual(calls.diffGenerations?.slice(1, 3), ['orders', { from: 41, to: undefined }])
    assert.equal((await run(['diff', ...one])).code, 2)
    const { code, err } = await run(['diff', ...one, '--from', 'x'])
    assert.deepEqual([code, /--from x is not a generation/.test(err)], [2, true])
  })
})

describe('hold', () => {
  test('pins the latest generation, or the one that is selected, with a reason', async () => {
    const { code, out, calls } = await run(['hold', ...one])
    assert.deepEqual([code, out], [0, 'generation 41 of backup orders is held\n'])
    assert.deepEqual(calls.holdAt?.slice(1, 3), ['orders', { generation: undefined, reason: '' }])
    const chosen = await run(['hold', ...one, '--generation', '41', '--reason', 'audit'])
    assert.deepEqual(chosen.calls.holdAt?.[2], { generation: 41, reason: 'audit' })
  })

  test('says since when a generation was held before', async () => {
    const { out } = await run(['hold', ...one], { holdAt: async () => ({ ...holdReport, changed: false }) })
    assert.equal(out, 'generation 41 of backup orders was held before, since 2025-11-15 09:36:12Z: audit of 2025\n')
  })

  test('releases a generation', async () => {
    const { code, out, calls } = await run(['hold', ...one, '--release', '--generation', '41'])
    assert.deepEqual([code, out], [0, 'generation 41 of backup orders is released\n'])
    assert.deepEqual(calls.releaseAt?.slice(1, 3), ['orders', 41])
  })

  test('refuses to release without a number, and a reason for it', async () => {
    for (const argv of [['--release'], ['--release', '--generation', '1', '--reason', 'x']]) {
      assert.equal((await run(['hold', ...one, ...argv])).code, 2)
    }
  })
})

describe('repair', () => {
  test('says of offsets that are gone whether retention may have cut them off', async () => {
    const [range = assert.fail()] = repairReport.lost
    for (const isCut of [false, true]) {
      const lost = [{ ...range, ...(isCut && { may_be_cut_off: true as const }) }]
      const { out } = await run(['repair', ...one, '--dry-run'], { repairAt: async () => ({ ...repairReport, lost }) })
      assert.equal(/a gap; retention may have cut it off/.test(out.replace(/\s+/g, ' ')), isCut, out)
    }
  })

  test('names topics that only a lost commit has named by their segments, or by their ID as the tools of Kafka show it', async () => {
    const id = 'ef7b57cd85c2486587d5e5979e414325'
    const lost = [{ topic: id, topic_id: id, partition: 0, from: 0n, to: 9n, at_end: true }]
    const unnamed = ['payments', 'a', 'b', 'c', 'd', 'e']
    const repairAt = async () => ({ ...repairReport, lost, unnamed_topics: unnamed })
    const { out } = await run(['repair', ...one, '--dry-run'], { repairAt })
    const flat = out.replace(/\s+/g, ' ')
    assert.match(flat, /no readable commit names, as a lost one may have: payments, a, b, c, d and 1 more topic/)
    assert.match(flat, /ID 73tXzYXCSGWH1eWXnkFDJQ 0 0 9 the next run copies it/)
  })

  test('shows what is lost with --dry-run, and ends with 3 where a repair is needed', async () => {
    const { code, out, calls } = await run(['repair', ...one, '--deep', '--dry-run'])
    assert.equal(code, 3)
    assert.match(out, /^orders: would commit generation 42, 1 range of offsets lost, 1 commit lost$/m)
    assert.match(out, /^ {2}generations that cannot be read: 41$/m)
    assert.match(out, /^orders +0 +100 +120 +a gap$/m)
    assert.match(out, /^ {2}taken from older generations: orders\/1 from offset 40 to 80$/m)
    const [, , request] = calls.repairAt ?? []
    assert.equal((request as { isDryRun: boolean }).isDryRun, true)
  })

  test('writes nothing without a confirmation, and ends with 4 where something is lost', async () => {
    const asked = await run(['repair', ...one])
    assert.equal(asked.code, 2)
    assert.match(asked.err, /nothing was repaired: no terminal to confirm on/)
    const repairAt = async () => ({ ...repairReport, dry_run: false })
    const { code, out } = await run(['repair', ...one, '--yes'], { repairAt })
    assert.equal(code, 4)
    assert.match(out, /committed generation 42, 1 range of offsets lost/)
    assert.equal((await run(['repair', ...one, '--yes', '--dry-run'])).code, 2)
  })

  test('does not say that nothing is lost where a commit is', async () => {
    const repairAt = async () => ({ ...repairReport, lost: [], dry_run: false })
    const { code, out } = await run(['repair', ...one, '--yes'], { repairAt })
    assert.equal(code, 4)
    assert.match(out, /committed generation 42, 1 commit lost$/m)
    assert.doesNotMatch(out, /nothing is lost/)
  })

  test('says that it writes a lost marker again, and names no generation where it commits none', async () => {
    const lost = {
      ...repairReport,
      generation: undefined,
      marker: 'orders/manifests/1.json',
      lost_commits: [],
      lost: [],
    }
    const planned = await run(['repair', ...one, '--dry-run'], { repairAt: async () => lost })
    assert.equal(planned.code, 3)
    assert.match(planned.out, /^orders: would write the marker again, nothing is lost$/m)
    const done = await run(['repair', ...one, '--yes'], { repairAt: async () => ({ ...lost, dry_run: false }) })
    assert.equal(done.code, 0)
    assert.match(done.out, /^orders: wrote the marker again, nothing is lost$/m)
    assert.doesNotMatch(planned.out + done.out, /undefined|begins with/)
    const both = await run(['repair', ...one, '--dry-run'], { repairAt: async () => ({ ...lost, generation: 42 }) })
    assert.match(both.out, /would write the marker again and commit generation 42, nothing is lost$/m)
  })

  test('has nothing to do for version 1, and for an intact backup', async () => {
    const intact = { ...repairReport, needed: false, generation: undefined, unreadable: [], lost_commits: [], lost: [] }
    const first = await run(['repair', ...one], {
      repairAt: async () => ({ ...intact, format_version: 1, problems: [] }),
    })
    assert.deepEqual(
      [first.code, /in format version 1 each generation is complete by itself/.test(first.out)],
      [0, true],
    )
    const second = await run(['repair', ...one], { repairAt: async () => ({ ...intact, problems: [] }) })
    assert.deepEqual([second.code, second.out], [0, 'orders: nothing to repair; --deep reads every byte\n'])
  })
})
