import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { type BackupOutcome, newOutcome, type PruneReport } from '../../src/retention/outcome.ts'
import type { RetentionPolicy } from '../../src/retention/policy.ts'
import { fakeActions, pruneReport } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const DAY = 86_400_000

interface Ran {
  code: number
  out: string
  err: string
  /** Of each prune: its policy, and whether it was a dry run. */
  prunes: { policy: RetentionPolicy; isDryRun: boolean }[]
  questions: string[]
  calls: Record<string, unknown[]>
}

async function run(
  argv: string[],
  options: { answer?: string | ((question: string) => string); actions?: Partial<Actions> } = {},
): Promise<Ran> {
  const prunes: Ran['prunes'] = []
  const questions: string[] = []
  const { answer } = options
  const io = Object.assign(
    new FakeIo(),
    answer === undefined
      ? {}
      : {
          ask: async (question: string) => {
            questions.push(question)
            return typeof answer === 'string' ? answer : answer(question)
          },
        },
  )
  const actions = fakeActions({
    pruneAt: async (_storage, policy, _hooks, { isDryRun }): Promise<PruneReport> => {
      prunes.push({ policy, isDryRun })
      return { ...pruneReport, isDryRun }
    },
    ...options.actions,
  })
  const code = await main([...argv, '--no-progress'], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, prunes, questions, calls: actions.calls }
}

const at = ['prune', '--path', '/backups']

describe('prune', () => {
  test('--dry-run shows every backup with its reason, without a confirmation', async () => {
    const { code, out, prunes, questions } = await run([...at, '--keep-last', '1', '--dry-run'], { answer: 'y' })
    assert.deepEqual([code, questions, prunes.map(({ isDryRun }) => isDryRun)], [0, [], [true]])
    assert.match(
      out,
      /^prune \(dry run\): 4 objects \(4\.0 KiB\) would be removed, 12 objects .* would wait for the end/,
    )
    assert.match(out, /orders-1 .* expire +no rule keeps it/)
    assert.match(out, /orders-2 .* keep +keep_last, the newest complete one/)
    assert.match(out, /orders-2: 6 segments of 2 partitions, 60 records, .* would be removed/)
    assert.match(out, /orders-2: in use by restore on h1/)
    assert.match(out, /not removed: orders-2\/notes\.txt/)
  })

  test('accepts key files for encrypted backups', async () => {
    const { code, calls } = await run([...at, '--key-file', 'a.key', '--dry-run'], { answer: 'y' })
    assert.equal(code, 0)
    assert.equal(calls.openLocation?.[0], '/backups')
    assert.deepEqual(Object(calls.openLocation?.[1]).keyFiles, ['a.key'])
  })

  test('asks on a terminal, and acts only on yes', async () => {
    for (const [answer, isDone] of [
      ['y', true],
      ['YES', true],
      ['', false],
      ['n', false],
    ] as const) {
      const { code, prunes, questions, err } = await run([...at, '--keep-last', '1'], { answer })
      assert.equal(code, 0)
      assert.deepEqual(questions, ['Remove 1 backup, 6 segments, 3 old generations, 4 objects (4.0 KiB)? [y/N] '])
      assert.deepEqual(
        prunes.map(({ isDryRun }) => isDryRun),
        isDone ? [true, false] : [true],
      )
      assert.equal(err.includes('nothing was removed'), !isDone)
    }
  })

  test('removes nothing and exits 2 without a terminal and without --yes', async () => {
    const { code, out, err, prunes } = await run([...at, '--keep-last', '1'])
    assert.deepEqual([code, prunes.length], [2, 1])
    assert.match(out, /orders-1/)
    assert.match(err, /nothing was removed: no terminal to confirm on/)
    assert.doesNotMatch(err, /orders-1/)
    const json = await run([...at, '--keep-last', '1', '--format', 'json'])
    assert.equal(JSON.parse(json.out).error.code, 'USAGE')
  })

  test('--yes removes without a confirmation', async () => {
    const { code, out, prunes } = await run([...at, '--keep-last', '1', '--yes'])
    assert.deepEqual([code, prunes.map(({ isDryRun }) => isDryRun)], [0, [false]])
    assert.match(out, /^prune: 4 objects \(4\.0 KiB\) removed/)
  })

  describe('while the clock may be wrong', () => {
    const clockDoubt = 'the clock of this machine says that, and that of the store says this'
    const doubtful: PruneReport = { ...pruneReport, backups: [{ ...newOutcome('a'), state: 'kept' }], clockDoubt }
    const runDoubtful = async (argv: string[], answer?: string) => {
      const trusted: unknown[] = []
      const pruneAt = async (
        ...[, , , own]: [unknown, unknown, unknown, { isDryRun: boolean; trustsClock?: boolean | undefined }]
      ) => {
        const { isDryRun, trustsClock = false } = own
        trusted.push([isDryRun, trustsClock])
        return { ...(trustsClock ? pruneReport : doubtful), isDryRun }
      }
      return { ...(await run(argv, { ...(answer !== undefined && { answer }), actions: { pruneAt } })), trusted }
    }

    test('removes nothing with --yes, and ends with exit code 4', async () => {
      const { code, trusted, questions } = await runDoubtful([...at, '--yes'])
      assert.deepEqual([code, trusted, questions], [4, [[false, false]], []])
    })

    test('shows on a terminal what would go, and removes it only if a word is typed', async () => {
      for (const [answer, isDone] of [
        ['prune', true],
        ['y', false],
      ] as const) {
        const { code, trusted, questions, err } = await runDoubtful(at, answer)
        const asked = [
          [true, false],
          [false, false],
          [true, true],
        ]
        assert.deepEqual([code, trusted], isDone ? [0, [...asked, [false, true]]] : [4, asked])
        assert.deepEqual(
          questions.map(text => text.trim()),
          [`${clockDoubt}. Type the word prune to remove by this clock nevertheless:`],
        )
        assert.match(err, /4 objects .* would be removed/)
      }
    })

    test('reports what each of both runs removed, and names the backups that the first left', async () => {
      const [a, b, c] = ['a', 'b', 'c'].map(id => newOutcome(id)) as [BackupOutcome, BackupOutcome, BackupOutcome]
      const kept: Partial<BackupOutcome> = { state: 'kept', reasons: ['keep_last'] }
      const first: PruneReport = {
        ...pruneReport,
        clockDoubt,
        doubtedBackups: ['a'],
        backups: [
          { ...a, ...kept, notes: [`nothing of it is removed, because ${clockDoubt}`] },
          { ...b, ...kept, generationsRemoved: 2, removed: { objects: 5, bytes: 500 } },
          { ...c, state: 'removed', reasons: ['no rule keeps it'], removed: { objects: 7, bytes: 700 } },
        ],
      }
      const second: PruneReport = {
        ...pruneReport,
        backups: [
          { ...a, ...kept, generationsRemoved: 1, removed: { objects: 1, bytes: 100 } },
          { ...b, ...kept, removed: { objects: 1, bytes: 50 } },
        ],
      }
      const pruneAt: Actions['pruneAt'] = async (_storage, _policy, _hooks, { isDryRun, trustsClock = false }) => ({
        ...(trustsClock ? second : first),
        isDryRun,
      })
      const answer = (question: string) => (question.startsWith('Remove') ? 'y' : 'prune')
      const { code, out } = await run([...at, '--format', 'json'], { answer, actions: { pruneAt } })
      const { totals, backups } = JSON.parse(out)
      assert.deepEqual([code, totals.removed, totals.generations], [0, { objects: 14, bytes: 1350 }, 3])
      assert.deepEqual(
        backups.map((one: Record<string, unknown>) => [
          one.backup_id,
          one.state,
          Object(one.removed).objects,
          one.notes,
        ]),
        [
          ['a', 'kept', 1, []],
          ['b', 'kept', 6, []],
          ['c', 'removed', 7, []],
        ],
      )
    })
  })

  test('does not ask, or call itself a dry run, if there is nothing to remove', async () => {
    const nothing: PruneReport = { ...pruneReport, backups: [{ ...newOutcome('a'), state: 'kept' }] }
    const { code, questions, out } = await run(at, { answer: 'y', actions: { pruneAt: async () => nothing } })
    assert.deepEqual([code, questions], [0, []])
    assert.match(out, /^prune: 0 objects \(0 B\) removed$/m)
  })

  test('takes rules from options; by default it keeps every backup, with a grace period of a day', async () => {
    const { prunes } = await run([...at, '--yes'])
    assert.deepEqual(prunes[0]?.policy, { match: ['*'], eachAlone: true, graceMs: DAY })
    const rules = ['--keep-daily', '14', '--keep-yearly', '2', '--older-than', '30d', '--grace', '0s']
    const { prunes: ruled } = await run([...at, '--yes', ...rules, '--match', 'a-*', '--match', 'b'])
    assert.deepEqual(ruled[0]?.policy, {
      match: ['a-*', 'b'],
      graceMs: 0,
      keepDaily: 14,
      keepYearly: 2,
      olderThanMs: 30 * DAY,
    })
  })

  test('takes rules from the job, which options override, for the backup of the job unless it matches others', async () => {
    const text = (retention: string) => `mode: backup
backup_id: orders
source: { bootstrap_servers: [kafka:9092], topics: { include: [orders] } }
storage: { backend: filesystem, path: /backups }
${retention}`
    const load = (retention: string) => ({
      loadClusterlessJob: async () => parseJob(text(retention), { source: 'job.yaml', env: {} }),
    })
    const given = ['prune', '--config', 'job.yaml', '--yes']
    const plain = await run(given, { actions: load('') })
    assert.deepEqual(plain.prunes[0]?.policy, { match: ['orders'], graceMs: DAY })
    const rules = 'retention: { match: [orders-*], keep_last: 7, older_than: 30d, grace: 2h, after_backup: true }'
    const ruled = await run([...given, '--keep-last', '3'], { actions: load(rules) })
    assert.deepEqual(ruled.prunes[0]?.policy, {
      match: ['orders-*'],
      graceMs: 7_200_000,
      keepLast: 3,
      olderThanMs: 30 * DAY,
    })
  })

  test('refuses invalid numbers and durations, and --yes with --dry-run', async () => {
    for (const [wrong, message] of [
      [['--keep-last', '-1'], /--keep-last/],
      [['--keep-monthly', 'two'], /--keep-monthly "two" is not a whole number/],
      [['--older-than', '30'], /--older-than "30" is not a duration/],
      [['--grace', 'soon'], /--grace "soon" is not a duration/],
      [['--yes', '--dry-run'], /exclude each other/],
    ] as const) {
      const { code, err, prunes } = await run([...at, ...wrong])
      assert.deepEqual([code, prunes], [2, []])
      assert.match(err, message)
    }
  })

  test('--keep keeps expired backups and does nothing else', async () => {
    const { code, out, calls, prunes } = await run([...at, '--keep', 'orders-1'])
    assert.deepEqual([code, out, prunes], [0, 'backup orders-1 is kept\n', []])
    assert.equal(calls.keepExpiredAt?.[1], 'orders-1')
  })

  test('refuses --keep with --dry-run', async () => {
    const { code, err, calls } = await run([...at, '--keep', 'orders-1', '--dry-run'])
    assert.deepEqual([code, calls.keepExpiredAt], [2, undefined])
    assert.match(err, /--dry-run and --keep exclude each other/)
  })

  test('prints one JSON document with totals and all backups', async () => {
    const { out } = await run([...at, '--keep-last', '1', '--yes', '--format', 'json'])
    const { dry_run, totals, backups } = JSON.parse(out)
    assert.deepEqual([dry_run, totals.backups, totals.segments, backups.length], [false, 1, 6, 2])
    assert.deepEqual(backups[1].unknown, ['orders-2/notes.txt'])
  })
})

describe('prune --keep-generations', () => {
  test('adds rules for generations to those for backups', async () => {
    const argv = ['--keep-generations', 'daily=7', '--keep-generations', 'last=3', '--keep-last', '1', '--dry-run']
    const { code, prunes } = await run([...at, ...argv])
    assert.equal(code, 0)
    const { generations, keepLast } = prunes[0]?.policy ?? {}
    assert.deepEqual([generations, keepLast], [{ keepDaily: 7, keepLast: 3 }, 1])
  })

  test('refuses what is not a rule', async () => {
    for (const text of ['7', 'daily', 'daily=x', 'days=7', 'daily=-1', '=1']) {
      const { code, err } = await run([...at, '--keep-generations', text])
      assert.equal(code, 2)
      assert.match(err, /is not a rule: write last=N, hourly=N, daily=N, weekly=N, monthly=N, yearly=N/)
    }
  })

  test('shows the generations that the rules keep', async () => {
    const generationsKept = Array.from({ length: 12 }, (_, at) => ({ generation: at + 1, reasons: ['keep_daily'] }))
    const pruneAt = async () => ({ ...pruneReport, backups: [{ ...newOutcome('orders'), generationsKept }] })
    const { out } = await run([...at, '--dry-run'], { actions: { pruneAt } })
    assert.match(
      out,
      /orders: 12 generations kept by rules: 12 \(keep_daily\), .* 3 \(keep_daily\), and 2 earlier ones/,
    )
  })
})
