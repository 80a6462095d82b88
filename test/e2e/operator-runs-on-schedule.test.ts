import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fullTest } from '../full.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { waitFor } from '../servers/use-kube.ts'
import { trigger, useOperatorWorld } from './operator-world.ts'
import { openCluster } from './raw-produce.ts'
import { runCli } from './run-cli.ts'
import { useKafka } from './use-kafka.ts'

const isolation = 'read_committed'
const yearly = '0 0 1 1 *'

describe('the operator runs backups on schedule', () => {
  const kafka = useKafka()
  const world = useOperatorWorld()
  let storage: object
  let path: string

  before(async () => {
    await kafka.driver.createTopic('events', { partitions: 6 })
    await produce(600)
    const volume = await world.stage.volume('backups')
    storage = volume.storage
    path = volume.path
  })

  const produce = (count: number) => kafka.driver.seedBulk('events', { count, partitions: 6, valueBytes: 100 })
  const spec = (more: Record<string, unknown> = {}) => ({
    kafkaCluster: { bootstrapServers: kafka.server.bootstrapServers },
    topics: { include: ['events'] },
    storage,
    ...more,
  })
  const assertHoldsAll = async (backupId: string) =>
    assertSameRecords(
      await kafka.driver.consume('events', { isolation }),
      await readArchivedTopic(path, backupId, 'events'),
    )

  test('a schedule that is not due shows its next time; a trigger runs it once for each value', async () => {
    const { stage, operator } = world
    const ref = await stage.apply('backup', 'yearly', spec({ schedule: yearly, timeZone: 'Europe/Berlin' }))
    const waiting = await stage.until(ref, 'planned', ({ nextScheduleTime }) => nextScheduleTime !== undefined)
    assert.equal(waiting.phase, 'Pending')
    assert.match(waiting.nextScheduleTime ?? '', /^\d{4}-12-31T23:00:00Z$/)
    const first = await trigger(world, ref, 'now')
    assert.equal(first.phase, 'Completed')
    await produce(60)
    const second = await trigger(world, ref, 'again')
    assert.deepEqual([second.history?.length, second.history?.[0]?.records], [2, 60], 'it goes on where it was')
    await assertHoldsAll('yearly')
    const labels = { backup_name: 'yearly', outcome: 'success' }
    await operator.untilSample('kafka_backup_backups_total', labels, 2)
    await stage.annotate(ref, { unrelated: 'change' })
    await stage.apply('backup', 'yearly', spec({ schedule: '0 0 2 1 *' }))
    const moved = await stage.until(ref, 'planned anew', ({ observedGeneration }) => observedGeneration === 2)
    assert.match(moved.nextScheduleTime ?? '', /-01-02T00:00:00Z$/)
    assert.equal(moved.history?.length, 2)
  })

  test('a suspended resource starts nothing until it is resumed', async () => {
    const { stage } = world
    const ref = await stage.apply('backup', 'suspended', spec({ suspend: true }))
    const held = await stage.until(ref, 'held', ({ observedGeneration }) => observedGeneration === 1)
    assert.equal(held.phase, 'Pending')
    assert.deepEqual(await stage.jobs(ref), [])
    await stage.apply('backup', 'suspended', spec({ suspend: false }))
    await stage.untilPhase(ref, 'Completed')
  })

  test('verifies a backup after the run', async () => {
    const { stage, operator } = world
    const ref = await stage.apply('backup', 'verified', spec({ verify: { deep: true } }))
    const status = await stage.until(ref, 'verified', ({ lastVerifyTime }) => lastVerifyTime !== undefined)
    assert.deepEqual(
      status.history?.map(({ purpose, phase }) => `${purpose} ${phase}`),
      ['verify Completed', 'main Completed'],
    )
    assert.equal(status.conditions?.find(({ type }) => type === 'Verified')?.status, 'True')
    const at = Date.parse(status.lastVerifyTime ?? '') / 1000
    await operator.untilSample('kafka_backup_last_verify_timestamp', { backup_name: 'verified' }, at)
  })

  test('drills prove on schedule that a backup can be restored, and report one that cannot', async () => {
    const { stage, operator } = world
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    await stage.secret('drill', { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() })
    const { bootstrapServers } = kafka.server
    const signingKeySecret = { name: 'drill', key: 'key' }
    const drill = { schedule: '* * * * *', kafkaCluster: { bootstrapServers }, signingKeySecret }
    const drilled = (suspend: boolean) => spec({ schedule: yearly, suspend, drill })
    const good = await stage.apply('backup', 'drilled', drilled(true))
    const damaged = await stage.apply('backup', 'undrillable', drilled(true))
    for (const ref of [good, damaged]) assert.equal((await trigger(world, ref, 'now')).phase, 'Completed')
    await flipByte(join(path, 'undrillable/kafka/events/0'))
    const topics = await topicsOf(bootstrapServers)
    for (const name of ['drilled', 'undrillable']) await stage.apply('backup', name, drilled(false))
    const [proven, failed] = await Promise.all(
      [good, damaged].map(ref => stage.until(ref, 'drilled', status => status.drill?.result !== undefined, 150_000)),
    )
    assert.deepEqual([proven?.drill?.result, proven?.drill?.records], ['Proven', proven?.records])
    assert.match(proven?.drill?.evidence ?? '', /^drilled\/reports\/evidence\/drills\/[0-9tz]+-[0-9a-f]{16}$/)
    const { recoverySeconds = 0, lastProvenTime = '' } = proven?.drill ?? {}
    await operator.untilSample('kafka_backup_drill_recovery_seconds', { backup_name: 'drilled' }, recoverySeconds)
    const at = Date.parse(lastProvenTime) / 1000
    await operator.untilSample('kafka_backup_last_successful_drill_timestamp', { backup_name: 'drilled' }, at)
    await operator.untilSample('kafka_backup_last_drill_status', { backup_name: 'undrillable' }, 0)
    assert.equal(failed?.drill?.result, 'Failed')
    assert.match(failed?.drill?.reason ?? '', /^(ARCHIVE_DAMAGED|BATCH_INVALID)$/)
    assert.equal(failed?.conditions?.find(({ type }) => type === 'Drilled')?.status, 'False')
    assert.ok((await stage.events(damaged)).some(({ reason }) => reason === 'DrillFailed'))
    for (const name of ['drilled', 'undrillable']) await stage.apply('backup', name, drilled(true))
    for (const ref of [good, damaged]) await stage.until(ref, 'idle', ({ active }) => active === undefined)
    assert.deepEqual(await topicsOf(bootstrapServers), topics, 'scratch topics are deleted')
    const verifying = join(path, '../drill.pub')
    await writeFile(verifying, publicKey.export({ type: 'spki', format: 'pem' }))
    const verified = await runCli(['drill', 'verify', '--path', path, '-b', 'drilled', '--public-key', verifying])
    assert.match(verified.stdout, /^Authentic: .*\n {2}drill of backup drilled, generation 1: proven, all topics/)
  })

  test('full backups have separate names, and expired ones are removed', async () => {
    const { stage } = world
    const full = spec({ schedule: yearly, mode: 'full', retention: { keepLast: 1, grace: '0s' } })
    const ref = await stage.apply('backup', 'full', full)
    const first = (await trigger(world, ref, 'first')).backupId
    const second = (await trigger(world, ref, 'second')).backupId
    assert.match(first ?? '', /^full-\d{8}t\d{6}z$/)
    assert.notEqual(second, first)
    assert.deepEqual(
      (await readdir(path)).filter(name => name.startsWith('full-')),
      [second],
    )
    await assertHoldsAll(second ?? '')
  })

  test('shards share the work of one backup', async () => {
    const { stage, operator } = world
    const { ref, status } = await world.run('backup', 'shared', spec({ parallelism: 3 }))
    const jobs = (await stage.jobs(ref)).map(
      ({ spec: job }) => job as { completions?: number; completionMode?: string },
    )
    assert.deepEqual(jobs.map(({ completions = 1 }) => completions).sort(), [1, 3])
    const end = (await kafka.driver.endOffsets('events')).reduce((sum, offset) => sum + offset, 0n)
    assert.equal(status.records, Number(end))
    assert.equal(status.history?.length, 1)
    const labels = { backup_name: 'shared', outcome: 'success' }
    await operator.untilSample('kafka_backup_backup_records_total', labels, Number(end))
    await assertHoldsAll('shared')
  })

  test('shards share the work of one restore', async () => {
    const { ref, status } = await world.run('restore', 'shared-back', {
      kafkaCluster: { bootstrapServers: kafka.server.bootstrapServers },
      backupId: 'shared',
      storage,
      parallelism: 3,
      restore: { topicMapping: { events: 'events-back' }, verify: true },
    })
    const jobs = (await world.stage.jobs(ref)).map(({ spec: job }) => job as { completions?: number })
    assert.deepEqual(jobs.map(({ completions = 1 }) => completions).sort(), [1, 3])
    const restored = await kafka.driver.consume('events-back', { isolation })
    assert.equal(status.records, restored.flat().length)
    assertSameRecords(await readArchivedTopic(path, 'shared', 'events'), restored)
  })

  test('a continuous backup follows the topic, and restarts for a new spec', async () => {
    const { stage } = world
    const continuous = (commitInterval: string) => spec({ backup: { continuous: true, commitInterval } })
    const ref = await stage.apply('backup', 'following', continuous('1s'))
    await stage.untilPhase(ref, 'Running')
    await produce(60)
    const holdsAll = () =>
      assertHoldsAll('following').then(
        () => true,
        () => false,
      )
    await waitFor('all records', holdsAll)
    const [before] = await stage.jobs(ref)
    await stage.apply('backup', 'following', continuous('2s'))
    await waitFor('another Job', async () => {
      const [now, ...others] = (await stage.jobs(ref)).filter(({ metadata }) => !metadata.deletionTimestamp)
      return now !== undefined && others.length === 0 && now.metadata.name !== before?.metadata.name
    })
    await produce(60)
    await waitFor('all records again', holdsAll)
    await stage.kube.api.delete(ref)
    await stage.kube.api.waitGone(ref)
    await waitFor('no Job', async () => (await stage.jobs(ref)).length === 0)
  })

  fullTest('a continuous backup continues after kubectl delete job', async () => {
    const { stage } = world
    const ref = await stage.apply('backup', 'resumed', spec({ backup: { continuous: true, commitInterval: '1s' } }))
    await stage.until(ref, 'backed up', ({ lastSuccessfulTime }) => lastSuccessfulTime !== undefined)
    const [before] = await stage.jobs(ref)
    const { name = '', namespace, uid } = before?.metadata ?? {}
    const job = { apiVersion: 'batch/v1', kind: 'Job', name, namespace }
    await stage.kube.api.delete(job, { propagationPolicy: 'Background' })
    // A run that began less than a minute ago waits for the rest of it.
    await stage.kube.api.wait(job, ({ metadata }) => metadata.uid !== uid, 120_000)
    await produce(60)
    await waitFor('all records', () =>
      assertHoldsAll('resumed').then(
        () => true,
        () => false,
      ),
    )
    const { history = [], phase } = await stage.status(ref)
    assert.deepEqual([history, phase], [[], 'Running'])
    await stage.kube.api.delete(ref)
    await stage.kube.api.waitGone(ref)
  })

  test('a deleted resource keeps its backup, or removes it by deletionPolicy', async () => {
    const { stage, operator } = world
    const kept = await world.run('backup', 'kept', spec())
    const removed = await world.run('backup', 'removed', spec({ deletionPolicy: 'Delete' }))
    for (const { ref } of [kept, removed]) await stage.kube.api.delete(ref)
    for (const { ref } of [kept, removed]) await stage.kube.api.waitGone(ref, 60_000)
    const left = await readdir(path)
    assert.deepEqual([left.includes('kept'), left.includes('removed')], [true, false])
    await waitFor('no series', async () => !(await operator.metrics()).includes('"removed"'))
  })
})

async function topicsOf(bootstrapServers: string[]): Promise<string[]> {
  const cluster = await openCluster({ bootstrapServers })
  try {
    const { topics } = await cluster.metadata({ topics: null }, new AbortController().signal)
    const names = topics.map(({ name }) => name)
    return names.filter(name => !name.startsWith('__')).sort()
  } finally {
    cluster.close()
  }
}

async function flipByte(folder: string): Promise<void> {
  const name = (await readdir(folder)).find(file => /\.log(\.zst)?$/.test(file)) ?? assert.fail('no segment')
  const bytes = await readFile(join(folder, name))
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 0xff
  await writeFile(join(folder, name), bytes)
}
