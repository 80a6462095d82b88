import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'
import { preparedRestore, restoreShardReport } from './restore-samples.ts'

async function run(argv: string[], replaced: Partial<Actions> = {}, io = new FakeIo()) {
  const actions = fakeActions(replaced)
  const code = await main(['restore', '--config', 'restore.yaml', ...argv], io, actions)
  return { code, out: io.stdout.text, err: io.stderr.text, calls: actions.calls }
}

describe('a restore that several processes share', () => {
  test('--prepare shows what each shard writes, and names the next commands', async () => {
    const { code, out, err, calls } = await run(['--prepare', '--shards', '2'])
    assert.deepEqual([code, err, calls.prepareRestoreJob?.[1]], [0, '', 2])
    assert.equal(
      out,
      `Prepared the restore of orders from /backups
  Into        2 topics, 5 partitions
  Generation  3, committed 2026-01-02 03:04:05Z
  Restore ID  5f1c9a3b7d2e4f60

SHARD  PARTITIONS    RECORDS    BYTES
0/2             3  1,000,001  267 MiB
1/2             2    500,000  133 MiB

Next, anywhere: kafka-backup restore --config restore.yaml --shard 0/2 to --shard 1/2, then kafka-backup restore --config restore.yaml --finish
`,
    )
    const again = await run(['--prepare', '--shards', '2'], {
      prepareRestoreJob: async () => ({ ...preparedRestore, wasPrepared: true }),
    })
    assert.match(again.out, /^Already prepared: the restore of orders/)
    const json = JSON.parse((await run(['--prepare', '--shards', '2', '--format', 'json'])).out)
    assert.deepEqual(json.shards[1], { shard: 1, partitions: 2, records: 500_000, bytes: 139_810_134 })
  })

  test('--shard restores one part, and names the command that completes the restore', async () => {
    const { code, out, err, calls } = await run(['--shard', '1/2'])
    assert.deepEqual(
      [code, err, calls.restoreShardJob?.[1]],
      [0, '', { step: 'shard', shard: { index: 1, count: 2 }, prepares: false }],
    )
    assert.equal(
      out,
      `Restored shard 1 of 2 of orders from /backups
  Wrote       500,000 records, 133 MiB in 5.0 s
  Into        1 topic, 2 partitions
  Generation  3, committed 2026-01-02 03:04:05Z
  Restore ID  5f1c9a3b7d2e4f60

SOURCE  TARGET    TOPIC    PARTITIONS  RECORDS    BYTES   TIME        RATE
orders  orders-2  resumed           2  500,000  133 MiB  4.0 s  33.3 MiB/s

When all shards are done: kafka-backup restore --config restore.yaml --finish
`,
    )
    const done = await run(['--shard', '1/2'], {
      restoreShardJob: async () => ({ ...restoreShardReport, wasComplete: true }),
    })
    assert.match(done.out, /^Already complete: shard 1 of 2 .*\n {2}Wrote +nothing: no records are left/)
  })

  test('names the next commands with every option that selects what is restored', async () => {
    const same = [
      '--set',
      'restore.verify=true',
      '--set',
      'restore.topics.include=a b',
      '--as-of',
      '2026-01-31T08:00:00Z',
    ]
    const command =
      "kafka-backup restore --config restore.yaml --set restore.verify=true --set 'restore.topics.include=a b' --as-of 2026-01-31T08:00:00Z"
    const prepared = await run(['--prepare', '--shards', '2', ...same])
    assert.ok(
      prepared.out.includes(`Next, anywhere: ${command} --shard 0/2 to --shard 1/2, then ${command} --finish\n`),
    )
    const shard = await run(['--shard', '1/2', ...same])
    assert.ok(shard.out.endsWith(`When all shards are done: ${command} --finish\n`), shard.out)
    const numbered = await run(['--shard', '1/2', '--generation', '7'])
    assert.ok(numbered.out.endsWith('kafka-backup restore --config restore.yaml --generation 7 --finish\n'))
  })

  test('reports what a shard waits for without -v, and does not count it as a warning', async () => {
    const waiting = 'waiting for shard 0 to prepare the restore r1'
    const { err } = await run(['--prepare', '--shard', '1/2'], {
      restoreShardJob: async (_, __, { onProgress }) => {
        onProgress({ type: 'waiting', message: waiting })
        return restoreShardReport
      },
    })
    assert.equal(err, `warning: ${waiting}\n`)
  })

  test('--prepare --shard prepares in shard 0 and waits in the others', async () => {
    const { calls } = await run(['--prepare', '--shard', '2/4'])
    assert.equal(Object(calls.restoreShardJob?.[1]).prepares, true)
    assert.equal(calls.prepareRestoreJob, undefined)
  })

  test('--finish completes and reports like a restore, and exits 4 for a missing shard', async () => {
    const { code, out, calls } = await run(['--finish'])
    assert.deepEqual([code, calls.runRestoreJob, calls.finishRestoreJob?.length], [0, undefined, 3])
    assert.match(out, /^Restored orders from \/backups/)
    const missing = await run(['--finish'], {
      finishRestoreJob: async () => {
        throw new KafkaBackupError('SHARDS_INCOMPLETE', 'records are missing: shard 1 of 2')
      },
    })
    assert.deepEqual([missing.code, missing.out], [4, ''])
    assert.match(missing.err, /shard 1 of 2\n.*SHARDS_INCOMPLETE/)
  })

  const wrong: [string[], RegExp][] = [
    [['--prepare'], /--prepare needs the number of shards/],
    [['--shards', '4'], /--shards belongs to --prepare/],
    [['--prepare', '--shards', '0'], /--shards `0` is not a number of shards/],
    [['--prepare', '--shards', 'four'], /--shards `four` is not a number of shards/],
    [['--prepare', '--shards', '1025'], /at most 1024 shards/],
    [['--shard', '0/1025'], /at most 1024 shards/],
    [['--shard', '4/4'], /--shard `4\/4` is not i\/n/],
    [['--shard='], /is not i\/n/],
    [['--finish', '--shard', '0/2'], /--finish and --shard exclude each other/],
    [['--prepare', '--finish'], /--finish and --prepare exclude each other/],
    [['--prepare', '--shards', '2', '--shard', '0/2'], /--shards and --shard exclude each other/],
    [['--dry-run', '--finish'], /--dry-run and --finish exclude each other/],
    [['--dry-run', '--prepare', '--shards', '2'], /--dry-run and --prepare exclude each other/],
    [['--dry-run', '--shard', '0/2'], /--dry-run and --shard exclude each other/],
  ]
  for (const [argv, message] of wrong) {
    test(`refuses ${argv.join(' ')}`, async () => {
      const { code, err, calls } = await run(argv)
      assert.equal(code, 2)
      assert.match(err, message)
      assert.deepEqual([calls.runRestoreJob, calls.restoreShardJob, calls.prepareRestoreJob], Array(3).fill(undefined))
    })
  }
})
