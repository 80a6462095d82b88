import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { OffsetsPlace, OffsetsSession } from '../../src/jobs/offsets.ts'
import type { OffsetsOutcome, OffsetsPlan, PlannedGroup } from '../../src/offsets/plan-reset.ts'
import type { ResetRequest } from '../../src/offsets/reset-request.ts'
import type { PlanReport } from '../../src/offsets/run-plan.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const planned = (group: string, changes: Partial<PlannedGroup> = {}): PlannedGroup => ({
  now: { group, type: 'classic', state: 'Empty', members: 0, positions: [], undecided: [] },
  positions: [
    { topic: 'orders', partition: 0, from: 5n, to: 50n, leaderEpoch: -1, metadata: '', isChange: true },
    {
      ...{ topic: 'orders', partition: 1, from: 9n, to: 3n, leaderEpoch: -1, metadata: '', isChange: true },
      note: '3 is where it ends',
    },
  ],
  ...changes,
})
const plan = (...groups: PlannedGroup[]): OffsetsPlan => ({
  ...{ clusterId: 'c1', strategy: 'earliest', topicIds: new Map(), groups },
})
const report = (...outcomes: OffsetsOutcome[]): PlanReport => ({
  clusterId: 'c1',
  strategy: 'earliest',
  snapshotId: 's1',
  groups: outcomes.map((outcome, i) => ({
    planned: planned(`g${i}`),
    outcome,
    ...(outcome === 'failed' && { error: new KafkaBackupError('GROUP_ACTIVE', `g${i} came back`) }),
  })),
})

/** Runs `offsets` with a session that has these answers; what it opened and was asked for is told. */
async function offsets(
  args: string[],
  answers: Partial<OffsetsSession> = {},
  actions: Partial<Actions> = {},
  terminal: { columns?: number; answer?: string } = {},
) {
  const { answer, ...size } = terminal
  const questions: string[] = []
  const ask = async (question: string) => {
    questions.push(question)
    return answer ?? ''
  }
  const io = Object.assign(new FakeIo(size), answer === undefined ? {} : { ask })
  const seen: { place?: OffsetsPlace; requests: ResetRequest[]; closed: number } = { requests: [], closed: 0 }
  const session: Partial<OffsetsSession> = {
    plan: async request => {
      seen.requests.push(request)
      return plan(planned('billing'))
    },
    readOrigin: async from => ({ name: JSON.stringify(from), clusterId: 'c0', groups: [] }),
    requests: () => ({ OffsetCommit: 2, Metadata: 1 }),
    close: async () => {
      seen.closed++
    },
    ...answers,
  }
  const openOffsets: Actions['openOffsets'] = async place => {
    seen.place = place
    return session as OffsetsSession
  }
  const code = await main(['offsets', ...args], io, fakeActions({ openOffsets, ...actions }))
  return { code, io, seen, questions }
}

const at = ['--bootstrap-server', 'kafka:9092']

test('offsets plan prints current offset, new offset and difference, and changes nothing', async () => {
  const { code, io, seen } = await offsets(['plan', ...at, '--group', 'billing', '--strategy', 'earliest'])
  assert.equal(code, 0)
  assert.match(io.stdout.text, /^earliest: 2 committed offsets of 1 group to change; nothing changed$/m)
  assert.match(io.stdout.text, /^billing +orders +0 +5 +50 +\+45$/m)
  assert.match(io.stdout.text, /^billing +orders +1 +9 +3 +-6 +3 is where it ends$/m)
  assert.equal(seen.closed, 1)
  const json = await offsets(['plan', ...at, '--group', 'billing', '--strategy', 'earliest', '--format', 'json'])
  assert.deepEqual(JSON.parse(json.io.stdout.text).groups[0].positions[0], {
    ...{ topic: 'orders', partition: 0, from: 5, to: 50, difference: 45, changes: true },
  })
})

test('offsets plan names groups with active members', async () => {
  const now = { group: 'busy', type: 'consumer', state: 'Stable', members: 2, positions: [] } as const
  const answers = { plan: async () => plan(planned('busy', { now: { ...now, positions: [], undecided: [] } })) }
  const { io } = await offsets(['plan', ...at, '--group', 'busy', '--strategy', 'earliest'], answers)
  assert.match(io.stdout.text, /active members, which block a reset\n {2}busy: Stable, 2 members/)
})

for (const [outcomes, exitCode] of [
  [['done', 'unchanged'], 0],
  [['done', 'failed'], 4],
  [['partly'], 4],
  [['failed', 'failed'], 1],
] as [OffsetsOutcome[], number][]) {
  test(`offsets reset exits ${exitCode} if groups are ${outcomes.join(' and ')}`, async () => {
    const answers: Partial<OffsetsSession> = {
      reset: async (_, onSnapshot) => {
        onSnapshot('s1')
        return report(...outcomes)
      },
    }
    const reset = ['reset', ...at, '--path', '/x', '-g', 'a', '--strategy', 'earliest', '--yes']
    const { code, io } = await offsets([...reset, '-v'], answers)
    assert.equal(code, exitCode)
    assert.match(io.stdout.text, /saved as snapshot s1;/)
    assert.match(io.stdout.text, /3 requests to brokers: OffsetCommit 2, Metadata 1/)
    assert.doesNotMatch((await offsets(reset, answers)).io.stdout.text, /requests to brokers/)
    assert.match(io.stderr.text, /saved as snapshot s1/)
    if (outcomes.includes('failed')) assert.match(io.stdout.text, /g1: g1 came back \(GROUP_ACTIVE\)/)
  })
}

test('offsets delete without a terminal suggests only options that it accepts', async () => {
  const { code, io } = await offsets(['delete', ...at, '--path', '/x', '--snapshot-id', 's1'], {})
  assert.equal(code, 2)
  assert.match(io.stderr.text, /nothing was deleted: no terminal to confirm on\nhelp: Pass --yes to confirm\./)
})

for (const [action, ...args] of [
  ['reset', '-g', 'a', '--strategy', 'earliest'],
  ['rollback', '--snapshot-id', 's1'],
]) {
  const name = `offsets ${action}`
  const line = [action ?? '', ...at, '--path', '/x', ...args]
  const answers = (done: string[]): Partial<OffsetsSession> => ({
    planRollback: async () => plan(planned('billing')),
    reset: async () => {
      done.push('reset')
      return report('done')
    },
    rollback: async () => {
      done.push('rollback')
      return report('done')
    },
  })

  test(`${name} shows the plan, asks on a terminal, and acts only on yes`, async () => {
    for (const answer of ['y', '']) {
      const done: string[] = []
      const { code, io, questions } = await offsets(line, answers(done), {}, { columns: 80, answer })
      assert.deepEqual([code, done], [0, answer === 'y' ? [action] : []])
      assert.deepEqual(questions, ['Change 2 committed offsets? [y/N] '])
      assert.match(io.stderr.text, /billing +orders +0 +5 +50/)
      assert.equal(/^nothing was changed$/m.test(io.stderr.text), answer === '')
    }
  })

  test(`${name} changes nothing without a terminal and --yes, and exits 2 with one document`, async () => {
    const done: string[] = []
    const { code, io } = await offsets([...line, '--format', 'json'], answers(done))
    assert.deepEqual([code, done], [2, []])
    assert.match(JSON.parse(io.stdout.text).error.message, /nothing was changed: no terminal to confirm on/)
  })

  test(`${name} --dry-run ends with the exit code of the run`, async () => {
    const lost = { ...planned('g').positions[0], problem: 'the topic does not exist on this cluster', isChange: false }
    const [whole] = planned('g').positions
    assert.ok(whole)
    const partly = planned('g', { positions: [whole, { ...whole, ...lost }] })
    const failed = planned('g', { positions: [{ ...whole, ...lost }] })
    const busy = planned('g', { now: { ...planned('g').now, state: 'Stable', members: 1 } })
    for (const [groups, exitCode] of [
      [[partly], 4],
      [[planned('a'), failed], 4],
      [[failed], 1],
      [[planned('a'), busy], 1],
    ] as const) {
      const shown = async () => plan(...groups)
      const { code } = await offsets([...line, '--dry-run'], { plan: shown, planRollback: shown })
      assert.equal(code, exitCode)
    }
  })

  test(`${name} --dry-run shows the plan and changes nothing`, async () => {
    const done: string[] = []
    const { code, io } = await offsets([...line, '--dry-run'], answers(done))
    assert.deepEqual([code, done], [0, []])
    assert.match(io.stdout.text, /2 committed offsets of 1 group to change; nothing changed/)
  })
}

test('a failed group is not listed as one that was not set, because it may be set', async () => {
  const failed = report('failed')
  const error = new KafkaBackupError('KAFKA_NOT_READY', 'group g0 was set, but cannot be read back: no answer')
  const groups = failed.groups.map(one => ({ ...one, error }))
  const { io } = await offsets(['reset', ...at, '-g', 'a', '--strategy', 'earliest', '--yes'], {
    reset: async () => ({ ...failed, groups }),
  })
  assert.match(io.stdout.text, /^Groups that failed\n {2}g0: group g0 was set, but cannot be read back/m)
  assert.doesNotMatch(io.stdout.text, /not set/)
})

test('offsets rollback to a snapshot without groups succeeds, because there is nothing to set', async () => {
  const line = ['rollback', ...at, '--snapshot-id', 's1']
  const answers = { planRollback: async () => plan(), rollback: async () => ({ ...report(), snapshotId: null }) }
  const done = await offsets([...line, '--yes'], answers)
  assert.equal(done.code, 0)
  assert.match(done.io.stdout.text, /^earliest: 0 groups$/m)
  assert.equal((await offsets([...line, '--dry-run'], answers)).code, 0)
})

test('offsets prints its result on separate lines after the progress', async () => {
  const io = new FakeIo({ columns: 80 })
  Object.assign(io, { stdout: io.stderr })
  const openOffsets: Actions['openOffsets'] = async () =>
    ({
      plan: async () => {
        io.clock.pass(1000)
        return plan(planned('billing'))
      },
      close: async () => undefined,
    }) as Partial<OffsetsSession> as OffsetsSession
  await main(['offsets', 'plan', ...at, '-g', 'a', '--strategy', 'earliest'], io, fakeActions({ openOffsets }))
  assert.ok(io.stderr.text.startsWith('offsets: querying the brokers\r\u001b[K'), io.stderr.text)
  assert.ok(/\[K.*earliest.*: 2 committed offsets/.test(io.stderr.text), io.stderr.text)
})

test('offsets parses the options of each strategy', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'map.json')
  await writeFile(file, '{"positions": [{"topic": "orders", "partition": 0, "offset": 3}]}')
  const asked = async (...args: string[]) => {
    const { code, io, seen } = await offsets(['plan', ...at, '-g', 'a,b', '--strategy', ...args])
    assert.equal(code, 0, io.stderr.text)
    return seen.requests[0]
  }
  const selection = { groups: ['a,b'], topics: [], partitions: [] }
  const origin = (from: object) => ({ name: JSON.stringify(from), clusterId: 'c0', groups: [] })
  assert.deepEqual(await asked('latest', '--topic', 'x, y*', '--partition', '0,2'), {
    strategy: 'latest',
    selection: { groups: ['a,b'], topics: ['x', 'y*'], partitions: [0, 2] },
  })
  const timestampMs = BigInt(Date.parse('2026-01-31T08:00:00Z'))
  assert.deepEqual(await asked('timestamp', '--timestamp', '2026-01-31T08:00:00Z'), {
    ...{ strategy: 'timestamp', selection, timestampMs },
  })
  assert.deepEqual(await asked('offset', '--offset', '7'), { strategy: 'offset', selection, offset: 7n })
  assert.deepEqual(await asked('from_backup', '--backup-id', 'b1'), {
    ...{ strategy: 'from_backup', selection, origin: origin({ backupId: 'b1' }) },
  })
  assert.deepEqual(await asked('from_mapping', '--mapping', file), {
    strategy: 'from_mapping',
    selection,
    mapping: { positions: [{ topic: 'orders', partition: 0, offset: 3n }] },
    origin: undefined,
  })
  const headers = ['--from-snapshot', 's1', '--topic-mapping', 'a=b', '--since', '1700000000000']
  assert.deepEqual(await asked('header_based', ...headers), {
    strategy: 'header_based',
    selection,
    origin: origin({ snapshotId: 's1' }),
    topicMapping: new Map([['a', 'b']]),
    sinceMs: 1_700_000_000_000n,
  })
})

const asked = ['-g', 'a', '--strategy']
for (const [args, wrong] of [
  [['plan', ...at, '-g', 'a'], /pass --strategy: earliest/],
  [['plan', ...at, '--strategy', 'latest'], /pass --group/],
  [['plan', ...at, ...asked, 'sideways'], /sideways/],
  [['plan', ...at, ...asked, 'offset'], /the strategy needs --offset/],
  [['plan', ...at, ...asked, 'offset', '--offset', 'x'], /--offset is an offset from 0/],
  [['plan', ...at, ...asked, 'latest', '--offset', '1'], /--offset does not apply to the strategy latest/],
  [['plan', ...at, ...asked, 'timestamp', '--timestamp', '2026-01-31'], /--timestamp 2026-01-31 is a day/],
  [['plan', ...at, ...asked, 'header_based'], /needs --from-snapshot or --backup-id/],
  [['plan', ...at, ...asked, 'latest', '--partition', 'x'], /--partition takes numbers/],
  [['plan', ...at, '-c', 'job.yaml', ...asked, 'latest'], /either --bootstrap-server or --config/],
  [['plan', ...at, ...asked, 'latest', '--strict'], /--strict is not an option of `offsets plan`/],
  [['list', ...at, '--snapshot-id', 's1'], /--snapshot-id is not an option of `offsets list`/],
  [['rollback', ...at, '--path', '/x'], /pass --snapshot-id or --file/],
  [['rollback', ...at, '--file', 'y', '--snapshot-id', 's'], /either --snapshot-id or --file/],
  [['snapshot', ...at, '--path', '/x', '--snapshot-as', 's'], /--snapshot-as is not an option of `offsets snapshot`/],
  [['reset', ...at, '--file', 'y', '--snapshot-as', 's', ...asked, 'latest'], /either --file or --snapshot-as/],
  [['show', ...at], /pass --group/],
  [['explode', ...at], /explode/],
] as [string[], RegExp][]) {
  test(`offsets ${args.join(' ')} is refused`, async () => {
    const { code, io } = await offsets(args)
    assert.equal(code, 2)
    assert.match(io.stderr.text, wrong)
  })
}

test('offsets rollback --dry-run fails if no group can be rolled back, and is partial if some cannot', async () => {
  const error = new KafkaBackupError('OFFSETS_REFUSED', 'it is not in it')
  const lost = planned('lost', { positions: [], error })
  const dryRun = async (...groups: PlannedGroup[]) => {
    const args = ['rollback', ...at, '--path', '/x', '--snapshot-id', 's1', '--dry-run']
    return (await offsets(args, { planRollback: async () => plan(...groups) })).code
  }
  assert.deepEqual([await dryRun(lost), await dryRun(lost, planned('fine')), await dryRun(planned('fine'))], [1, 4, 0])
})

test('offsets takes cluster and storage from a job, and one snapshot from a file', async () => {
  const list = async () => ({ groups: [], leftOut: [] })
  const byJob = await offsets(['list', '-c', 'job.yaml'], { list })
  assert.deepEqual(byJob.seen.place?.cluster?.bootstrapServers, ['kafka:9092'])
  assert.deepEqual(byJob.seen.place?.storage, { backend: 'filesystem', path: '/backups' })
  const verify = async () => ({ snapshotId: 's1', isStrict: true, ok: false, groups: [] })
  const byFile = await offsets(['verify', ...at, '--file', '/tmp/before.json', '--strict'], { verify })
  assert.equal(byFile.code, 3)
  assert.deepEqual(byFile.seen.place?.file, { folder: '/tmp', name: 'before.json' })
  assert.equal(byFile.seen.place?.storage, undefined)
})

test('offsets script prints only the script', async () => {
  const { code, io } = await offsets(['script', '-c', 'job.yaml', '-g', 'billing', '--strategy', 'earliest'])
  assert.equal(code, 0)
  assert.match(io.stdout.text, /^#!\/bin\/sh\n/)
  assert.match(
    io.stdout.text,
    /\norders,0,50\norders,1,3\nEND\nkafka-consumer-groups\.sh --bootstrap-server kafka:9092 /,
  )
})

test('offsets snapshots lists unreadable snapshots, and fails', async () => {
  const error = new KafkaBackupError('ARCHIVE_DAMAGED', 'offset-snapshots/s0.json is damaged')
  const listSnapshots = async () => [{ snapshotId: 's0', key: 'offset-snapshots/s0.json', error }]
  const { code, io } = await offsets(['snapshots', '--path', '/x'], { listSnapshots })
  assert.equal(code, 1)
  assert.match(io.stdout.text, /s0 +- +UNREADABLE/)
  assert.match(io.stdout.text, /offset-snapshots\/s0\.json is damaged/)
})

test('offsets snapshots lists snapshots of other keys, and does not fail because of them', async () => {
  const error = new KafkaBackupError('ENCRYPTION_KEY', 'the offset snapshot offset-snapshots/s0.json is encrypted')
  const listSnapshots = async () => [{ snapshotId: 's0', key: 'offset-snapshots/s0.json', error }]
  const { code, io } = await offsets(['snapshots', '--path', '/x'], { listSnapshots })
  assert.equal(code, 0)
  assert.match(io.stdout.text, /s0 +- +no key +- +- +yes/)
})

test('offsets snapshots names the location that has none', async () => {
  const { code, io } = await offsets(['snapshots', '--path', '/typo'], { listSnapshots: async () => [] })
  assert.deepEqual([code, io.stdout.text], [0, 'There are no offset snapshots at /typo.\n'])
})
