import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import {
  backup,
  backupSchemas,
  describe,
  diffSchemas,
  listSchemas,
  type ProgressEvent,
  RestoreRefusal,
  restoreSchemas,
} from '../../src/index.ts'
import { openLosses } from '../../src/registry/restore/schema-report.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { withTwoRegistries, writesIn } from '../fakes/two-registries.ts'

/** Each version can read those before it. */
const record = (name: string, ...fields: string[]) => ({
  schema: JSON.stringify({
    type: 'record',
    name,
    fields: fields.map(name => ({ name, type: 'int', default: 0 })),
  }),
})

const snapshot = snapshotOf(
  [
    versionOf('address', 1, 1, record('Address', 'street')),
    versionOf('orders-value', 1, 2, { ...record('Order', 'a'), refs: ['address@1'] }),
    versionOf('orders-value', 2, 3, { ...record('Order', 'a', 'b'), isDeleted: true }),
    versionOf('orders-value', 3, 4, { ...record('Order', 'a', 'b', 'c'), metadata: { properties: { owner: 'me' } } }),
    versionOf(':.eu:orders-value', 1, 1, record('Order', 'x')),
  ],
  { contexts: ['.', '.eu'], subjects: { 'orders-value': { compatibility: 'FULL' } } },
)
const all = { backup: { include_soft_deleted: true } }

test('schemas are backed up without Kafka, and again only when they have changed', () =>
  withTwoRegistries(snapshot, async ({ backupJob, folder, source }) => {
    const events: ProgressEvent[] = []
    const report = await backupSchemas(backupJob(all), { onProgress: event => events.push(event) })
    assert.deepEqual([report.generation, report.isChanged, report.subjects, report.versions], [1, true, 3, 5])
    assert.ok(events.some(({ type }) => type === 'committed'))
    assert.equal((await backupSchemas(backupJob(all))).isChanged, false)
    source.updateConfig('address', { compatibility: 'FULL' })
    const next = await backupSchemas(backupJob(all))
    assert.deepEqual([next.generation, next.isChanged], [2, true])
    const { schemaRegistry, topics } = await describe({ location: folder, backupId: 'orders' })
    assert.deepEqual([schemaRegistry.subjectsCount, schemaRegistry.schemasCount, topics], [3, 5, []])
  }))

test('schemas are restored without Kafka: a dry run writes nothing, a second run finds all there', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, requests }) => {
    await backupSchemas(backupJob(all))
    const plan = await restoreSchemas(restoreJob(), { dryRun: true })
    assert.deepEqual([plan.counts.register, plan.findings], [5, []])
    assert.deepEqual(writesIn(requests), [])
    const done = await restoreSchemas(restoreJob())
    assert.deepEqual([done.wasComplete, done.versions.register, done.generation], [false, 5, 1])
    assert.deepEqual(
      done.ids.map(({ context, source }) => `${context} ${source}`),
      ['. 1', '. 2', '. 3', '. 4', '.eu 1'],
    )
    assert.ok(done.ids.every(({ target }) => target > 1000))
    assert.ok(writesIn(requests).length > 0)
    requests.length = 0
    const again = await restoreSchemas(restoreJob())
    assert.deepEqual([again.wasComplete, again.ids], [true, done.ids])
    assert.deepEqual(writesIn(requests), [])
  }))

test('a schema that differs on the target is kept by preserve, and reported', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, target }) => {
    await backupSchemas(backupJob(all))
    target.register('address', { ...versionOf('address', 1, 99), id: null, version: 0 })
    const { findings } = await restoreSchemas(restoreJob(), { dryRun: true })
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    )
    assert.match(findings[0]?.problem ?? '', /version 1 of subject address is another schema on the target/)
  }))

test('schemas need no cluster in their jobs, and a cluster that is given has to be right', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob }) => {
    const { source: _, ...from } = backupJob(all)
    const { target: __, ...to } = restoreJob()
    assert.equal((await backupSchemas(from)).versions, 5)
    assert.equal((await listSchemas({ job: from, from: 'registry' })).versions, 5)
    assert.equal((await restoreSchemas(to)).versions.register, 5)
    assert.equal((await diffSchemas({ job: to }, { job: to, from: 'registry' })).ok, true)
    await assert.rejects(backup(from as ReturnType<typeof backupJob>), {
      code: 'CONFIG_INVALID',
      message: /source: is required/,
    })
    const wrong = { ...to, target: { bootstrap_servers: ['kafka'] } }
    await assert.rejects(restoreSchemas(wrong), { code: 'CONFIG_INVALID', message: /target\.bootstrap_servers/ })
  }))

test('a conflict of schemas refuses the restore before the first write, as findings', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, requests, target }) => {
    await backupSchemas(backupJob(all))
    target.register('address', { ...versionOf('address', 1, 99), id: null, version: 0 })
    const job = restoreJob({ force_ids: true })
    const { findings } = await restoreSchemas(job, { dryRun: true })
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'error').map(({ subject }) => subject),
      ['schema registry', 'schema subject address'],
    )
    await assert.rejects(restoreSchemas(job), error => {
      assert.ok(error instanceof RestoreRefusal)
      assert.deepEqual(error.findings, findings)
      return error.exitCode === 1
    })
    assert.deepEqual(writesIn(requests), [])
  }))

test('a backup, a registry and another registry are compared in any pair', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, folder, sourceUrl, targetUrl, source }) => {
    const job = backupJob(all)
    const backup = { location: folder, backupId: 'orders' }
    await backupSchemas(job)
    assert.equal((await diffSchemas({ job }, { job, from: 'registry' }, { ids: true })).ok, true)
    assert.equal((await diffSchemas(backup, { registry: sourceUrl })).ok, true)

    const empty = await diffSchemas({ registry: sourceUrl }, { registry: targetUrl })
    assert.deepEqual([empty.ok, empty.left.subjects, empty.right.subjects], [false, 3, 0])
    assert.deepEqual(
      empty.differences.map(({ subject, kind }) => `${subject} ${kind}`),
      [':.eu:orders-value missing', 'address missing', 'orders-value missing'],
    )
    await restoreSchemas(restoreJob())
    const copied = await diffSchemas({ registry: sourceUrl }, { registry: targetUrl })
    assert.deepEqual([copied.ok, copied.differences, copied.ids.length], [true, [], 5])

    source.updateConfig('address', { compatibility: 'FULL' })
    await backupSchemas(job)
    const { differences } = await diffSchemas({ ...backup, generation: 1 }, backup)
    const row = { subject: 'address', version: null, kind: 'compatibility', left: null, right: 'FULL' }
    assert.deepEqual(differences, [row])
  }))

test('what a job has restored under other names is compared under those', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, sourceUrl, targetUrl }) => {
    await backupSchemas(backupJob(all))
    const job = restoreJob({ subject_mapping: { address: 'shop-address' } })
    await restoreSchemas(job)
    const target = { job, from: 'registry' } as const
    assert.deepEqual((await diffSchemas({ job }, target)).differences, [])
    assert.deepEqual((await diffSchemas({ registry: sourceUrl }, target)).differences, [])
    assert.deepEqual((await diffSchemas(target, { registry: targetUrl }, { ids: true })).differences, [])
    assert.equal((await diffSchemas({ registry: sourceUrl }, { registry: targetUrl })).ok, false)
  }))

test('a backup job looks at its registry through its own selection', () =>
  withTwoRegistries(snapshot, async ({ backupJob, sourceUrl }) => {
    const job = backupJob({ backup: { subjects: ['orders-*'], include_versions: 'latest' } })
    await backupSchemas(job)
    assert.equal((await diffSchemas({ job }, { job, from: 'registry' })).ok, true)
    assert.equal((await diffSchemas({ job }, { registry: sourceUrl })).ok, false)
  }))

test('subjects of a backup and of a registry are listed alike', () =>
  withTwoRegistries(snapshot, async ({ backupJob, folder, sourceUrl }) => {
    await backupSchemas(backupJob(all))
    const ofBackup = await listSchemas({ location: folder, backupId: 'orders' })
    const ofRegistry = await listSchemas({ registry: sourceUrl })
    assert.deepEqual(ofBackup.subjectList, ofRegistry.subjectList)
    assert.deepEqual(
      [ofBackup.name, ofRegistry.name],
      [`generation 1 of the backup orders at ${folder}`, `registry ${sourceUrl}`],
    )
    assert.deepEqual(
      ofBackup.subjectList.map(({ name, versions, latestId, deletedVersions }) => [
        name,
        versions,
        latestId,
        deletedVersions,
      ]),
      [
        [':.eu:orders-value', 1, 1, 0],
        ['address', 1, 1, 0],
        ['orders-value', 3, 4, 1],
      ],
    )
  }))

test('what a registry cannot hold is a loss, in the plan, after the restore and in every run after it', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, targetUrl }) => {
    await backupSchemas(backupJob(all))
    const old = await openOldRegistry(targetUrl)
    try {
      const schema_registry = { enabled: true, url: old.url }
      const job = { ...restoreJob(), enterprise: { schema_registry } }
      const lossyIn = (notes: readonly { kind: string; subject: string | null }[]) =>
        notes.filter(({ kind }) => kind === 'lossy').map(({ subject }) => subject)
      assert.deepEqual(lossyIn((await restoreSchemas(job, { dryRun: true })).notes), ['orders-value'])
      assert.deepEqual(lossyIn((await restoreSchemas(job)).notes), ['orders-value'])
      const again = await restoreSchemas(job)
      assert.deepEqual([again.wasComplete, lossyIn(again.notes)], [true, ['orders-value']])
      const accepting = { enabled: true, url: old.url, restore: { accept_loss: ['metadata'] as const } }
      const accepted = await restoreSchemas({ ...restoreJob(), enterprise: { schema_registry: accepting } })
      assert.deepEqual([openLosses(again), openLosses(accepted)], [['metadata'], []])
      const { differences } = await diffSchemas({ job }, { job, from: 'registry' })
      assert.deepEqual(
        differences.map(({ subject, version, kind }) => [subject, version, kind]),
        [['orders-value', 3, 'metadata']],
      )
    } finally {
      await old.close()
    }
  }))

/** The same registry, which says that it is of a version that knows no metadata. */
async function openOldRegistry(url: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { method = 'GET', url: path = '/' } = request
    const isVersion = path.startsWith('/v1/metadata/version')
    const answer = await fetch(`${url}${path}`, { method, ...(body !== '' && { body }) })
    const told = isVersion ? JSON.stringify({ version: '7.3.0', commitId: 'old' }) : await answer.text()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(told)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}`, close }
}

test('jobs without a registry, backups without schemas and places that are none are errors with codes', () =>
  withTwoRegistries(snapshot, async ({ backupJob, restoreJob, folder }) => {
    const isCode = (code: Parameters<typeof hasCode>[1]) => (error: unknown) => hasCode(error, code)
    await assert.rejects(backupSchemas(backupJob({ enabled: false })), isCode('CONFIG_INVALID'))
    await assert.rejects(restoreSchemas(restoreJob({ enabled: false })), isCode('CONFIG_INVALID'))
    await assert.rejects(restoreSchemas(restoreJob()), isCode('BACKUP_NOT_FOUND'))
    const location = resolve(import.meta.dirname, '../golden/v0.1.0')
    await assert.rejects(listSchemas({ location, backupId: 'golden' }), isCode('SCHEMAS_NOT_FOUND'))
    await assert.rejects(listSchemas({ registry: 'localhost:8081' }), isCode('USAGE'))
    await backupSchemas(backupJob())
    await assert.rejects(listSchemas({ location: folder, backupId: 'orders', generation: 9 }), /no generation 9/)
    // @ts-expect-error A program in JavaScript may forget it.
    await assert.rejects(listSchemas({ location: folder }), isCode('USAGE'))
    // @ts-expect-error The same.
    await assert.rejects(listSchemas({}), isCode('USAGE'))
  }))
