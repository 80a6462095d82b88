import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets } from '../../src/kafka/group-offsets.ts'
import { jobText } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { run, runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const consumerGroupCommand = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'
const firstTime = 1_700_000_000_000

describe('consumer-group offsets are reset and rolled back', () => {
  const kafka = useKafka()
  let cluster: Cluster
  let folder: string
  let config: string

  before(async () => {
    cluster = await openCluster(kafka.server)
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    config = join(folder, 'job.yaml')
    const servers = kafka.server.bootstrapServers
    await writeFile(config, jobText({ servers, path: join(folder, 'store'), include: ['events'] }))
    await kafka.driver.createTopic('events', { partitions: 6 })
    await kafka.driver.seedBulk('events', { count: 600, partitions: 6, valueBytes: 50, startTimestamp: firstTime })
  })
  after(async () => {
    cluster?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const offsets = async (...args: string[]) => {
    const isAsked = ['reset', 'rollback', 'delete'].includes(args[0] ?? '') && !args.includes('--dry-run')
    const agreed = isAsked ? ['--yes'] : []
    const { code, stdout, stderr } = await callCli(['offsets', ...args, ...agreed, '--format', 'json'])
    return { code, stderr, out: JSON.parse(stdout) }
  }
  const commit = (group: string, at: readonly bigint[], metadata = '') =>
    commitGroupOffsets(
      cluster,
      group,
      at.map((offset, partition) => ({ topic: 'events', partition, offset, leaderEpoch: -1, metadata })),
      never,
    )
  const positions = async (group: string) =>
    (await fetchGroupOffsets(cluster, group, 'all', never))
      .sort((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset))

  test('groups are listed and shown with their lag', async () => {
    await commit('listed', [10n, 100n], 'noted')
    const { code, out } = await offsets('list', '--config', config)
    assert.equal(code, 0)
    const row = out.groups.find((one: { group: string }) => one.group === 'listed')
    assert.deepEqual([row.type, row.state, row.members, row.lag], ['classic', 'Empty', 0, 90])
    const shown = await offsets('show', '--bootstrap-server', kafka.server.bootstrapServers.join(), '--group', 'listed')
    assert.deepEqual(shown.out.groups[0].positions[0], {
      ...{ topic: 'events', partition: 0, offset: 10, leader_epoch: -1, metadata: 'noted' },
      ...{ log_start: 0, log_end: 100, lag: 90 },
    })
    const text = await callCli(['offsets', 'show', '--config', config, '--group', 'listed'])
    assert.match(text.stdout, /events +0 +10 +0 +100 +90 +noted/)
  })

  test('a plan changes nothing, a reset sets offsets, and a rollback restores them, and can be rolled back', async () => {
    await commit('billing', [5n, 6n, 7n], 'mine')
    const asked = ['--config', config, '--group', 'billing', '--strategy', 'timestamp', '--topic', 'events']
    const when = ['--timestamp', String(firstTime + 300)]
    const plan = await offsets('plan', ...asked, ...when)
    assert.equal(plan.code, 0, plan.stderr)
    assert.deepEqual(
      plan.out.groups[0].positions.map((one: Record<string, unknown>) => [one.from, one.to, one.difference]),
      [
        [5, 50, 45],
        [6, 50, 44],
        [7, 50, 43],
        [null, 50, null],
        [null, 50, null],
        [null, 50, null],
      ],
    )
    const dry = await offsets('reset', ...asked, ...when, '--dry-run')
    assert.deepEqual([dry.code, dry.out.groups], [0, plan.out.groups], dry.stderr)
    const unconfirmed = await callCli(['offsets', 'reset', ...asked, ...when])
    assert.equal(unconfirmed.code, 2)
    assert.match(unconfirmed.stderr, /nothing was changed: no terminal to confirm on/)
    assert.deepEqual(await positions('billing'), [5, 6, 7])
    const reset = await offsets('reset', ...asked, ...when)
    assert.equal(reset.code, 0, reset.stderr)
    assert.deepEqual(await positions('billing'), [50, 50, 50, 50, 50, 50])
    const id = reset.out.snapshot_id
    const differs = await offsets('verify', '--config', config, '--snapshot-id', id)
    assert.equal(differs.code, 3, 'positions were added')
    const back = await offsets('rollback', '--config', config, '--snapshot-id', id, '--dry-run')
    assert.equal(back.out.groups[0].positions[5].to, null)
    assert.deepEqual(await positions('billing'), [50, 50, 50, 50, 50, 50])
    const rolled = await offsets('rollback', '--config', config, '--snapshot-id', id)
    assert.equal(rolled.code, 0, rolled.stderr)
    assert.deepEqual(await positions('billing'), [5, 6, 7], 'the first positions are taken away again')
    assert.equal((await fetchGroupOffsets(cluster, 'billing', 'all', never))[0]?.metadata, 'mine')
    assert.equal((await offsets('verify', '--config', config, '--snapshot-id', id, '--strict')).code, 0)
    const forth = await offsets('rollback', '--config', config, '--snapshot-id', rolled.out.snapshot_id)
    assert.equal(forth.code, 0, forth.stderr)
    assert.deepEqual(await positions('billing'), [50, 50, 50, 50, 50, 50])
    const { out } = await offsets('snapshots', '--config', config)
    assert.deepEqual(out.snapshots.map((one: { reason: string }) => one.reason).sort(), [
      'reset',
      'rollback',
      'rollback',
    ])
    assert.equal((await offsets('delete', '--config', config, '--snapshot-id', id)).code, 0)
    assert.equal((await offsets('rollback', '--config', config, '--snapshot-id', id)).code, 1)
  })

  test('with a key the snapshot of a reset is encrypted, a rollback opens it, and a planted plain one is refused', async () => {
    await commit('secret-readers', [5n, 6n])
    const keyFile = join(folder, 'ops.key')
    await writeFile(keyFile, 'ab'.repeat(32))
    const place = ['--config', config, '--path', join(folder, 'sealed')]
    const asked = ['--group', 'secret-readers', '--strategy', 'earliest', '--key-file', keyFile]
    const reset = await offsets('reset', ...place, ...asked)
    assert.deepEqual([reset.code, await positions('secret-readers')], [0, [0, 0]], reset.stderr)
    const snapshots = join(folder, 'sealed/offset-snapshots')
    const stored = await readFile(join(snapshots, `${reset.out.snapshot_id}.json`))
    assert.ok(!stored.includes('secret-readers') && !stored.includes('events'))
    const back = ['rollback', ...place, '--snapshot-id', reset.out.snapshot_id]
    const without = await callCli(['offsets', ...back, '--yes'])
    assert.equal(without.code, 1)
    assert.match(without.stderr, /is encrypted, and opens with key [0-9a-f]{16}.*no key was given.*\(ENCRYPTION_KEY\)/s)
    const rollback = await offsets(...back, '--key-file', keyFile)
    assert.deepEqual([rollback.code, await positions('secret-readers')], [0, [5, 6]], rollback.stderr)

    const planted = await offsets('snapshot', ...place, '--group', 'secret-readers')
    assert.match(planted.stderr, /is not encrypted, as no key is given, but other snapshots at .* are/)
    const toPlain = ['rollback', ...place, '--snapshot-id', planted.out.snapshot_id, '--key-file', keyFile]
    const refused = await callCli(['offsets', ...toPlain, '--yes'])
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /is not encrypted, but keys are given.*--accept-plain-snapshot.*\(ENCRYPTION_MISMATCH\)/s,
    )
    const accepted = await offsets(...toPlain, '--accept-plain-snapshot')
    assert.equal(accepted.code, 0, accepted.stderr)
    const listed = await offsets('snapshots', '--path', join(folder, 'sealed'), '--key-file', keyFile)
    const encrypted = listed.out.snapshots.map((one: { encrypted: boolean }) => one.encrypted)
    assert.deepEqual([listed.code, encrypted.sort()], [0, [false, true, true]])
  })

  test('a group whose name holds control characters, which Kafka accepts, is shown harmlessly and rolled back', async () => {
    const name = 'strange\nhelp: \x1b[2J\0'
    await commit(name, [3n])
    const shown = await callCli(['offsets', 'show', '--config', config, '--group', 'strange*'])
    assert.ok(shown.stdout.includes('strange\\u000ahelp: \\u001b[2J\\u0000: '), shown.stdout)
    const reset = await offsets('reset', '--config', config, '--group', 'strange*', '--strategy', 'earliest')
    assert.deepEqual([reset.code, await positions(name)], [0, [0]], reset.stderr)
    const rollback = await offsets('rollback', '--config', config, '--snapshot-id', reset.out.snapshot_id)
    assert.deepEqual([rollback.code, await positions(name)], [0, [3]], rollback.stderr)
  })

  test('a snapshot can be kept in a file, and rolled back to', async () => {
    await commit('filed', [1n, 2n])
    const place = ['--bootstrap-server', kafka.server.bootstrapServers.join()]
    const file = ['--file', join(folder, 'before.json')]
    const asked = ['--group', 'filed', '--strategy', 'latest']
    const nowhere = await offsets('reset', ...place, ...asked)
    assert.deepEqual([nowhere.code, await positions('filed')], [2, [1, 2]], 'without a place for it nothing is set')
    assert.equal((await offsets('reset', ...place, ...file, ...asked)).code, 0)
    assert.deepEqual(await positions('filed'), [100, 100])
    const taken = await offsets('reset', ...place, ...file, '--group', 'filed', '--strategy', 'earliest')
    assert.deepEqual([taken.code, taken.out.error.code], [1, 'STORAGE_EXISTS'])
    assert.deepEqual(await positions('filed'), [100, 100])
    const back = await offsets('rollback', ...place, ...file)
    assert.equal(back.code, 0, back.stderr)
    assert.deepEqual(await positions('filed'), [1, 2])
    const beside = ['--path', folder, '--snapshot-id', back.out.snapshot_id]
    assert.equal((await offsets('rollback', ...place, ...beside)).code, 0)
    assert.deepEqual(await positions('filed'), [100, 100])
    assert.equal((await offsets('delete', ...file)).code, 0)
  })

  for (const protocol of ['classic', 'consumer'] as const) {
    test(`refuses a group of the ${protocol} protocol with a member by name, and writes nothing`, async () => {
      const group = `active-${protocol}`
      await kafka.driver.holdGroup({ group, topics: ['events'], protocol })
      const seen = (await offsets('show', '--config', config, '--group', group)).out.groups[0]
      assert.deepEqual([seen.type, seen.members], [protocol, 1])
      const refused = await offsets(
        'reset',
        '--config',
        config,
        '--group',
        group,
        '--topic',
        'events',
        '--strategy',
        'latest',
      )
      assert.equal(refused.code, 1)
      assert.equal(refused.out.error.code, 'GROUP_ACTIVE')
      assert.match(refused.out.error.message, new RegExp(`${group} \\(`))
      await assert.rejects(
        commit(group, [1n]),
        { code: 'GROUP_ACTIVE' },
        'who joins after a plan is told by the broker',
      )
      await kafka.driver.releaseGroup(group)
      const ended = await offsets(
        'reset',
        '--config',
        config,
        '--group',
        group,
        '--topic',
        'events',
        '--strategy',
        'latest',
      )
      assert.equal(ended.code, 0, ended.stderr)
      assert.deepEqual(await positions(group), [100, 100, 100, 100, 100, 100])
    })
  }

  test("the script of a plan does with Kafka's own tool what a reset does", async () => {
    await commit("it's $odd", [1n, 2n, 3n, 4n, 5n, 6n])
    const asked = ['--config', config, '--group', "it's $odd", '--strategy', 'offset', '--offset', '42']
    const { code, stdout, stderr } = await callCli(['offsets', 'script', ...asked])
    assert.equal(code, 0, stderr)
    const script = join(folder, 'reset.sh')
    const tool = join(folder, 'kafka-consumer-groups.sh')
    await writeFile(script, stdout)
    await writeFile(tool, `#!/bin/sh\nexec java -Xmx256m -cp '${kafka.server.libs}/*' ${consumerGroupCommand} "$@"\n`)
    await chmod(tool, 0o755)
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
    const ran = await run('sh', [script], { env })
    assert.equal(ran.code, 0, ran.stdout + ran.stderr)
    assert.deepEqual(await positions("it's $odd"), [42, 42, 42, 42, 42, 42], await readFile(script, 'utf8'))
  })

  test('200 groups with 6 partitions each are reset in one run', async t => {
    const names = Array.from({ length: 200 }, (_, i) => `many-${String(i).padStart(3, '0')}`)
    for (let i = 0; i < names.length; i += 20) {
      await Promise.all(names.slice(i, i + 20).map(name => commit(name, [1n, 2n, 3n, 4n, 5n, 6n])))
    }
    const started = performance.now()
    const { code, out, stderr } = await offsets(
      'reset',
      '--config',
      config,
      '--group',
      'many-*',
      '--strategy',
      'latest',
    )
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    assert.equal(code, 0, stderr)
    assert.equal(out.groups.length, 200)
    assert.ok(out.groups.every((one: { outcome: string }) => one.outcome === 'done'))
    const requests = Object.values<number>(out.requests).reduce((sum, one) => sum + one, 0)
    t.diagnostic(`200 groups with 6 partitions: ${seconds} s, ${requests} requests: ${JSON.stringify(out.requests)}`)
    assert.ok(requests < 450, `${requests} requests`)
    for (const name of names) assert.deepEqual(await positions(name), [100, 100, 100, 100, 100, 100])
    const again = await offsets('reset', '--config', config, '--group', 'many-*', '--strategy', 'latest')
    assert.deepEqual([again.code, again.out.snapshot_id], [0, null], 'nothing is left to do')
  })

  test('a reset that is killed after its snapshot can be rolled back for all groups, and run again', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `killed-${i}`)
    await Promise.all(names.map(name => commit(name, [1n, 2n, 3n, 4n, 5n, 6n])))
    const asked = ['--config', config, '--group', 'killed-*', '--strategy', 'latest']
    const kill = { signal: 'SIGKILL', when: /saved as snapshot/ } as const
    const killed = await runCli(['offsets', 'reset', ...asked, '-v', '--no-progress', '--yes'], kill)
    assert.equal(killed.code, null, killed.stdout)
    const id = /saved as snapshot ([\w-]+)/.exec(killed.stderr)?.[1] ?? ''
    const back = await offsets('rollback', '--config', config, '--snapshot-id', id)
    assert.equal(back.code, 0, back.stderr)
    for (const name of names) assert.deepEqual(await positions(name), [1, 2, 3, 4, 5, 6])
    const again = await offsets('reset', ...asked)
    assert.equal(again.code, 0, again.stderr)
    for (const name of names) assert.deepEqual(await positions(name), [100, 100, 100, 100, 100, 100])
  })
})
