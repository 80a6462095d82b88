import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { formatGenerations } from '../../src/cli/commands/copy-report.ts'
import { main } from '../../src/cli/main.ts'
import type { CopyReport } from '../../src/copy/sides.ts'
import { KeyRefusal } from '../../src/encryption/open-keys.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Copies } from '../../src/jobs/copy.ts'
import { copyReport, fakeActions, job } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}) {
  const io = new FakeIo()
  const actions = fakeActions(replaced)
  const code = await main(['copy', ...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

const sides = ['--from', '/backups', '--to', '/copies']
const one = [...sides, '--backup-id', 'orders']

/** Copies as `copy` says. */
function copying(copy: (backupId: string) => Promise<CopyReport>): Partial<Actions> {
  return {
    withCopies: (_places, _hooks, _signal, work) =>
      work({ from: '/backups', to: '/copies', listIds: async () => ['orders', 'payments'], copy } satisfies Copies),
  }
}

describe('copy', () => {
  test('reports what was copied and what already existed', async () => {
    const { code, out, err, calls } = await run(one)
    assert.deepEqual([code, err], [0, ''])
    assert.equal(
      out,
      `From /backups to /copies
orders: generations 2 to 3 copied
  12 objects, 376 MiB copied and verified; 4 objects, 1.9 MiB existed before
`,
    )
    assert.deepEqual(calls.withCopies, [
      {
        from: { storage: { backend: 'filesystem', path: '/backups' } },
        to: { storage: { backend: 'filesystem', path: '/copies' }, keyFiles: [] },
        decrypt: false,
      },
    ])
    const { onProgress: _, ...options } = Object(calls['copy orders']?.[0])
    assert.deepEqual(options, { generation: undefined, verifyExisting: false, dryRun: false })
  })

  test('passes its options to the copy', async () => {
    const { calls } = await run([...one, '--generation', '2', '--verify-existing', '--dry-run'])
    const { onProgress: _, ...options } = Object(calls['copy orders']?.[0])
    assert.deepEqual(options, { generation: 2, verifyExisting: true, dryRun: true })
  })

  test('takes both sides from job files, with the backup of the first', async () => {
    const { code, calls } = await run(['--from-config', 'a.yaml', '--to-config', 'b.yaml', '--generation', 'newest'])
    assert.equal(code, 0)
    assert.partialDeepStrictEqual(calls.withCopies, [{ from: { storage: job.storage }, to: { storage: job.storage } }])
    assert.equal(Object(calls['copy orders']?.[0]).generation, 'newest')
  })

  test('copies several backups, or all', async () => {
    for (const ids of [['--all'], ['-b', 'orders', '-b', 'payments', '-b', 'orders']]) {
      const { code, out, calls } = await run([...sides, ...ids])
      assert.equal(code, 0)
      assert.ok(calls['copy orders'] && calls['copy payments'])
      assert.deepEqual(out.match(/^\w+: generations 2 to 3 copied$/gm)?.length, 2)
    }
  })

  test('names damage and exits 3', async () => {
    const problems = [
      { key: 'orders/kafka/a/0/1.log', problem: 'at /backups: its BLAKE3 hash is not the recorded one' },
    ]
    const report = { ...copyReport, ok: false, generations: [2], problems }
    const { code, out } = await run(
      one,
      copying(async () => report),
    )
    assert.equal(code, 3)
    assert.match(out, /^orders: DAMAGED, 1 problem; generation 2 copied$/m)
    const stuck = { ...report, generations: [], newest_generation: 1 }
    const other = await run(
      one,
      copying(async () => stuck),
    )
    assert.match(
      other.out,
      /^orders: DAMAGED, 1 problem; no generation copied; the latest at the target is generation 1$/m,
    )
    assert.match(out, /orders\/kafka\/a\/0\/1\.log {2}at \/backups: its BLAKE3 hash/)
  })

  test('copies the other backups after one fails, and exits with the code of the failure', async () => {
    const conflict = new KafkaBackupError('WRITER_CONFLICT', 'the backup `orders` is not a copy')
    const copy = copying(async backup_id => {
      if (backup_id === 'orders') throw conflict
      return { ...copyReport, backup_id }
    })
    const { code, out } = await run([...sides, '--all'], copy)
    assert.equal(code, 5)
    assert.match(out, /^orders: NOT COPIED: the backup `orders` is not a copy\npayments: generations 2 to 3 copied$/m)
    const { out: json } = await run([...sides, '--all', '--format', 'json'], copy)
    assert.deepEqual(JSON.parse(json), {
      from: '/backups',
      to: '/copies',
      backups: [
        { backup_id: 'orders', error: 'the backup `orders` is not a copy', code: 'WRITER_CONFLICT' },
        { ...copyReport, backup_id: 'payments' },
      ],
    })
    assert.match((await run(one, copy)).err, /^error: the backup `orders` is not a copy/)
    const broken = copying(async () => Promise.reject(new KafkaBackupError('STORAGE_FULL', 'no room')))
    assert.deepEqual((await run([...sides, '--all'], broken)).code, 1)
  })

  for (const code of ['KMS_UNREACHABLE', 'CREDENTIALS_UNREACHABLE', 'CREDENTIALS_REFUSED'] as const) {
    test(`copies the other backups after ${code}, which may be about the key of one`, async () => {
      const copy = copying(async backup_id => {
        const details = { resource: 'AWS KMS key 0001' }
        if (backup_id === 'orders') throw new KafkaBackupError(code, 'the service did not answer', { details })
        return { ...copyReport, backup_id }
      })
      const { out, code: exit } = await run([...sides, '--all'], copy)
      assert.equal(exit, 1)
      assert.match(out, /^orders: NOT COPIED: the service did not answer\npayments: generations 2 to 3 copied$/m)
    })
  }

  test('ends after a location got no credentials, because every other backup would wait for them again', async () => {
    for (const code of ['CREDENTIALS_UNREACHABLE', 'CREDENTIALS_REFUSED'] as const) {
      const tried: string[] = []
      const copy = copying(async backup_id => {
        tried.push(backup_id)
        throw new KafkaBackupError(code, 'no token for gs://copies')
      })
      const { code: exit, err } = await run([...sides, '--all'], copy)
      assert.deepEqual([exit, tried], [1, ['orders']])
      assert.match(err, /^error: no token for gs:\/\/copies/)
    }
  })

  test('gives the code of the service that did not answer, not that of a missing key', async () => {
    const cause = new KafkaBackupError('KMS_UNREACHABLE', 'AWS KMS did not answer')
    const copy = copying(async backup_id => {
      if (backup_id === 'orders') throw new KeyRefusal('the backup `orders`', 'is encrypted', { cause })
      return { ...copyReport, backup_id }
    })
    const { out } = await run([...sides, '--all', '--format', 'json'], copy)
    assert.equal(JSON.parse(out).backups[0].code, 'KMS_UNREACHABLE')
  })

  test('reports what was copied before a failure that ends the run, and what was not tried', async () => {
    const ids = ['orders', 'payments', 'refunds']
    const copy = async (backup_id: string) => {
      if (backup_id === 'payments') throw new KafkaBackupError('STORAGE_FULL', 'no room')
      return { ...copyReport, backup_id }
    }
    const full: Partial<Actions> = {
      withCopies: (_places, _hooks, _signal, work) =>
        work({ from: '/backups', to: '/copies', listIds: async () => ids, copy }),
    }
    const { out, code, err } = await run([...sides, '--all'], full)
    assert.deepEqual([code, err], [1, ''])
    assert.match(out, /^orders: generations 2 to 3 copied$/m)
    assert.match(out, /^payments: NOT COPIED: no room\nrefunds: NOT COPIED: not tried after the failure of payments$/m)
    const { out: json } = await run([...sides, '--all', '--format', 'json'], full)
    assert.deepEqual(JSON.parse(json).backups.slice(1), [
      { backup_id: 'payments', error: 'no room', code: 'STORAGE_FULL' },
      { backup_id: 'refunds', error: 'not tried after the failure of payments', code: 'STORAGE_FULL' },
    ])
  })

  test('reports that nothing is new, or what would be copied', async () => {
    const told = async (changes: Partial<CopyReport>) =>
      (
        await run(
          one,
          copying(async () => ({ ...copyReport, ...changes })),
        )
      ).out
    assert.match(
      await told({ generations: [], objects: 0, bytes: 0 }),
      /^orders: up to date, generation 3\n {2}0 objects/m,
    )
    assert.match(await told({ generations: [], newest_generation: null }), /^orders: no generation copied$/m)
    const tried = await told({ dry_run: true, older_generations: [1] })
    assert.match(tried, /^orders: generations 2 to 3 would be copied\n {2}12 objects, 376 MiB to copy;/m)
    assert.match(tried, /^ {2}generation 1 of the source: older than all at the target, skipped$/m)
    assert.match(await told({ existing_verified: true }), /existed before, read and compared$/m)
  })

  test('of all backups fails where there are none, and names the location', async () => {
    const empty: Partial<Actions> = {
      withCopies: (_places, _hooks, _signal, work) =>
        work({ from: '/backups', to: '/copies', listIds: async () => [], copy: () => assert.fail() }),
    }
    for (const more of [[], ['--dry-run']]) {
      const { code, out, err } = await run([...sides, '--all', ...more], empty)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, /^error: nothing to copy: there are no backups at \/backups\n.*BACKUP_NOT_FOUND/s)
    }
  })

  for (const [argv, message] of [
    [['--to', '/b', '--all'], /say where the backup is, with --from or --from-config/],
    [['--from', '/a', '--all'], /say where the copy goes, with --to or --to-config/],
    [[...sides, '--from-config', 'a.yaml', '--all'], /either --from or --from-config/],
    [[...sides, '--to-config', 'a.yaml', '--all'], /either --to or --to-config/],
    [sides, /pass --backup-id or --all/],
    [[...one, '--all'], /either --backup-id or --all/],
    [[...one, '--generation', '0'], /--generation must be a number from 1, or `newest`/],
    [[...sides, '--all', '--generation', '2'], /--generation with a number needs exactly one backup/],
    [['--from', 'ftp://a', '--to', '/b', '--all'], /scheme `ftp:`/],
  ] as [string[], RegExp][]) {
    test(`refuses ${argv.join(' ')}`, async () => {
      const { code, err } = await run(argv)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }
})

test('prints consecutive generations as ranges', () => {
  assert.equal(formatGenerations([4]), 'generation 4')
  assert.equal(formatGenerations([1, 2, 3, 5, 7, 8]), 'generations 1 to 3, 5, 7 to 8')
})
