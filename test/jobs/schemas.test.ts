import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { manifestKey } from '../../src/archive/layout.ts'
import { readJob } from '../../src/config/load-job.ts'
import { backup, backupSchemas, check, type RestoreJobDocument, RestoreRefusal, restore } from '../../src/index.ts'
import { compareJob, planTopicsJob } from '../../src/jobs/compare.ts'
import { readOnly } from '../../src/jobs/parts.ts'
import { jobBackupSide } from '../../src/jobs/schema-sides.ts'
import { listSchemasJob } from '../../src/jobs/schemas.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { type TwoRegistries, withTwoRegistries, writesIn } from '../fakes/two-registries.ts'
import { framed } from '../registry/ids/sample-schemas.ts'
import { type FakeTarget, withFakeTarget } from '../restore/fake-target.ts'

const never = new AbortController().signal
const snapshot = snapshotOf([versionOf('orders-value', 1, 1), versionOf('other', 1, 2)])

/** The jobs of two registries, with a cluster that answers. */
function withCluster(
  topics: FakeTopic[],
  work: (stage: TwoRegistries & { servers: { bootstrap_servers: string[] } }) => Promise<void>,
): Promise<void> {
  return withTwoRegistries(snapshot, async two => {
    const fake = await startFakeCluster(topics)
    try {
      await work({ ...two, servers: { bootstrap_servers: fake.brokers.map(({ address }) => address) } })
    } finally {
      await fake.close()
    }
  })
}

test('a backup takes the schemas along, and tells how many', () =>
  withCluster([fakeTopic('orders', [[encodeRun(0n, 10)]])], async ({ backupJob, servers }) => {
    const job = { ...backupJob(), source: { ...servers, topics: { include: ['orders'] } } }
    const { schemas, totals } = await backup(job)
    assert.deepEqual([schemas, totals.records], [{ subjects: 2, versions: 2 }, 10])
    assert.deepEqual((await backupSchemas(job)).isChanged, false)
  }))

test('check shows the registry of a backup job, and one that does not answer', () =>
  withCluster([fakeTopic('orders', [[]])], async ({ backupJob, servers, sourceUrl }) => {
    const source = { ...servers, topics: { include: ['orders'] } }
    const good = await check({ ...backupJob(), source })
    const row = { subject: `schema registry ${sourceUrl}`, action: 'read', allowed: true }
    assert.partialDeepStrictEqual(
      good.checks.filter(({ subject }) => subject.startsWith('schema registry')),
      [{ ...row, detail: 'confluent 8.0.0 answers' }],
    )
    const bad = await check({ ...backupJob({ url: `${sourceUrl}/nowhere` }), source })
    assert.equal(bad.ok, false)
    const missing = bad.checks.find(({ subject }) => subject.startsWith('schema registry'))
    assert.deepEqual([missing?.allowed, missing?.subject], [false, `schema registry ${sourceUrl}/nowhere`])
  }))

interface RestoreStage extends TwoRegistries {
  job: RestoreJobDocument
  kafka: FakeTarget
}

/** A backup of a topic and of a registry, with a cluster and a registry that it can be restored to. */
function withBackup(
  work: (stage: RestoreStage) => Promise<void>,
  batches = [encodeRun(0n, 10)],
  held = snapshot,
): Promise<void> {
  return withTwoRegistries(held, async two => {
    const storage = openStorage({ backend: 'filesystem', path: two.folder })
    const onTarget = async (kafka: FakeTarget) => {
      await backupSchemas({ ...two.backupJob(), backup_id: 'b1' })
      const target = { bootstrap_servers: kafka.fake.brokers.map(({ address }) => address) }
      const settings = { retention: 'apply', replication_factor: 1 } as const
      await work({ ...two, kafka, job: { ...two.restoreJob(), backup_id: 'b1', target, restore: settings } })
    }
    await withFakeTarget([fakeTopic('orders', [batches])], onTarget, storage)
  })
}

function withRestoring(job: RestoreJobDocument, restoring: object): RestoreJobDocument {
  const { schema_registry: registry } = job.enterprise ?? {}
  assert.ok(registry)
  return { ...job, enterprise: { schema_registry: { ...registry, restore: { ...registry.restore, ...restoring } } } }
}

test('a restore brings schemas and then records; a dry run of it writes neither', () =>
  withBackup(async ({ job, requests, target, kafka }) => {
    const plan = await restore(job, { dryRun: true })
    assert.deepEqual([plan.schemas?.counts.register, plan.schemas?.writes], [2, { register: 2 }])
    assert.deepEqual(writesIn(requests), [])
    const events: string[] = []
    const { schemas, totals } = await restore(job, { onProgress: ({ type }) => events.push(type) })
    assert.deepEqual([schemas?.versions.register, totals.records], [2, 10])
    assert.ok(events.lastIndexOf('schemas') < events.indexOf('copied'))
    assert.equal(target.version('orders-value', 1, 'live').schema, snapshot.versions[0]?.schema)
    assert.equal(kafka.log('orders').length, 1)
    const again = await restore(job)
    assert.deepEqual([again.wasComplete, again.schemas?.wasComplete], [true, true])
  }))

test('every command that selects an earlier generation works while the newest manifest is damaged', () =>
  withBackup(async ({ job, backupJob, source, folder, kafka }) => {
    source.register('more', { ...versionOf('more', 1, 9), id: null, version: 0 })
    const { generation: last } = await backupSchemas({ ...backupJob(), backup_id: 'b1' })
    await writeFile(join(folder, manifestKey('b1', last)), '{"format":"kafka-backup"')
    const earlier = { ...job, restore: { ...job.restore, generation: last - 1 } }
    const parsed = readJob(earlier, { source: 'a test', mode: 'restore' })
    const newest = readJob(job, { source: 'a test', mode: 'restore' })
    assert.deepEqual(
      (await planTopicsJob(parsed, readOnly, never)).map(({ name }) => name),
      ['orders'],
    )
    assert.equal((await listSchemasJob(jobBackupSide(parsed), readOnly, never)).subjectList.length, 2)
    await assert.rejects(planTopicsJob(newest, readOnly, never), { code: 'ARCHIVE_DAMAGED' })
    await assert.rejects(listSchemasJob(jobBackupSide(newest), readOnly, never), { code: 'ARCHIVE_DAMAGED' })
    await assert.rejects(restore(job), { code: 'ARCHIVE_DAMAGED' })
    assert.equal((await restore(earlier, { dryRun: true })).schemas?.counts.register, 2)
    const { generation, totals } = await restore(earlier)
    assert.deepEqual([generation, totals.records, kafka.log('orders').length], [last - 1, 10, 1])
    assert.equal((await compareJob(parsed, readOnly, never)).ok, true)
  }))

test('a schema in the way keeps records and schemas from being written', () =>
  withBackup(async ({ job, requests, target, kafka }) => {
    target.register('other', { ...versionOf('other', 1, 9), id: null, version: 0 })
    const forced = withRestoring(job, { force_ids: true })
    await assert.rejects(restore(forced), error => error instanceof RestoreRefusal && /other/.test(error.message))
    assert.deepEqual([writesIn(requests), kafka.topic('orders')], [[], undefined])
  }))

test('check of a restore shows the registry and what would be registered', () =>
  withBackup(async ({ job, targetUrl, target }) => {
    const rows = async (restoring = {}) => {
      const { checks } = await check(withRestoring(job, restoring))
      return checks.filter(({ subject }) => subject.startsWith('schema'))
    }
    assert.deepEqual(await rows(), [
      { subject: `schema registry ${targetUrl}`, action: 'read', allowed: true, detail: 'confluent 8.0.0 answers' },
      { subject: 'schemas', action: 'fits', allowed: true, detail: '2 versions to register, 0 are there' },
    ])
    target.register('other', { ...versionOf('other', 1, 9), id: null, version: 0 })
    assert.deepEqual(
      (await rows({ force_ids: true })).map(({ subject, allowed }) => [subject, allowed]),
      [
        [`schema registry ${targetUrl}`, true],
        ['schema registry', false],
        ['schema subject other', false],
      ],
    )
  }))

test('check of a restore has a registry that does not answer, and a backup without schemas, as findings', () =>
  withBackup(async ({ job, targetUrl }) => {
    const url = `${targetUrl}/nowhere`
    const down = await check({ ...job, enterprise: { schema_registry: { enabled: true, url } } })
    const failed = down.checks.filter(({ allowed }) => !allowed)
    assert.deepEqual([down.ok, failed.map(({ subject }) => subject)], [false, [`schema registry ${url}`]])
    const without = await check({ ...job, restore: { ...job.restore, generation: 1 } })
    const [row, ...others] = without.checks.filter(({ allowed }) => !allowed)
    assert.deepEqual([without.ok, row?.subject, others], [false, 'schemas', []])
    assert.match(row?.detail ?? '', /generation 1 of the backup b1 holds no schemas/)
  }))

/** A batch of one record for each of these schema IDs. */
const batchOf = (baseOffset: number, ids: readonly number[]) =>
  encodeBatch({ baseOffset: BigInt(baseOffset), records: ids.map(id => ({ value: framed(id, '') })) })

/** Only the second of its batches, which no sample takes, has the ID 2. */
const manyBatches = (second: number) => [1, 1, 1, second, 1, 1, 1, 1].map((id, at) => batchOf(at, [id]))

test('preserve stops at a version that differs on the target only where records need it', async () => {
  const text = (name: string) => JSON.stringify({ type: 'record', name, fields: [] })
  const held = snapshotOf([
    versionOf('orders-value', 1, 1, { schema: text('a') }),
    versionOf('orders-value', 2, 2, { schema: text('b') }),
    versionOf('orders-value', 3, 3, { schema: text('c') }),
  ])
  const take = (target: TwoRegistries['target'], schema: string) =>
    target.register('orders-value', { ...versionOf('orders-value', 1, 1), schema, id: null, version: 0 }, true)
  const divert = (target: TwoRegistries['target']) => [text('a'), text('x')].map(schema => take(target, schema))
  const needed = async ({ job, requests, target, kafka }: RestoreStage) => {
    divert(target)
    requests.length = 0
    await assert.rejects(restore(job), error => {
      assert.ok(error instanceof RestoreRefusal)
      assert.match(
        error.message,
        /Schema ID 2 not found in target registry: version 2 of subject orders-value is another schema on the target \(ID 1002\) than in the backup \(ID 2\), and stays so\. The value of orders\/0 at offset 3 carries it/,
      )
      return true
    })
    assert.deepEqual([writesIn(requests), kafka.topic('orders')], [[], undefined])
    const { totals } = await restore(withRestoring(job, { unknown_ids: 'pass', set_compatibility: 'NONE' }))
    assert.deepEqual([totals.records, totals.schemaIds?.value.unknown], [8, 1])
  }
  await withBackup(needed, manyBatches(2), held)
  const unneeded = async ({ job, target }: RestoreStage) => {
    divert(target)
    const { schemas, totals } = await restore(withRestoring(job, { set_compatibility: 'NONE' }))
    assert.deepEqual([schemas?.versions.register, schemas?.unmappedIds, totals.records], [1, ['2'], 8])
  }
  await withBackup(unneeded, manyBatches(3), held)
})

test('force_ids and IDs that stay the same do not keep unknown IDs from being found', async () => {
  const unknown = async ({ job, requests, kafka }: RestoreStage) => {
    for (const restoring of [{ force_ids: true }, {}, { rewrite_ids: false }]) {
      requests.length = 0
      await assert.rejects(
        restore(withRestoring(job, restoring)),
        /Schema ID 77 not found in target registry: no schema of/,
      )
      assert.deepEqual([writesIn(requests), kafka.topic('orders')], [[], undefined])
    }
    const dryRun = await restore(withRestoring(job, { force_ids: true, unknown_ids: 'pass' }), { dryRun: true })
    assert.deepEqual(dryRun.topics[0]?.idCheck, { mode: 'sample', records: 2, unknown: 1 })
    const report = await restore(withRestoring(job, { force_ids: true, unknown_ids: 'pass' }))
    assert.deepEqual(report.totals.idCheck, { mode: 'sample', records: 2, unknown: 1 })
    assert.match(report.warnings.join(), /orders: of 2 records that were checked, 1 keys or values carry schema IDs/)
  }
  await withBackup(unknown, [batchOf(0, [1, 77])])
  const late = async ({ job }: RestoreStage) => {
    const all = withRestoring(job, { force_ids: true, check_ids: 'all' })
    await assert.rejects(restore(all), { code: 'SCHEMA_ID_UNKNOWN', message: /^Schema ID 77 .* at offset 3 / })
    const { totals } = await restore(withRestoring(job, { force_ids: true, check_ids: 'all', unknown_ids: 'pass' }))
    assert.deepEqual(totals.schemaIds?.value, {
      ...{ rewritten: 0, same: 7, unknown: 1, guid: 0, unframed: 0, unclear: 0, kept: 0 },
    })
  }
  await withBackup(late, manyBatches(77))
})
