import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { readAccess } from '../../src/archive/access.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { parseJob } from '../../src/config/load-job.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { dryRunRestoreJob, runRestoreJob } from '../../src/jobs/restore.ts'
import type { BackupRestoreReport } from '../../src/restore/restore-backup.ts'
import { openLocation } from '../open-location.ts'
import { type Acl, type DriverQuota, openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { guarded, loginOf, runTool } from './access-world.ts'
import { backUp, makeJob, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { type RestoreJobSpec, restoreJobText } from './restore-job.ts'
import { run } from './run-cli.ts'
import { useKafka, useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const all = { acls: true, quotas: true, users: true }

const rules: Acl[] = [
  { principal: 'User:alice', operation: 'READ', resourceType: 'TOPIC', resourceName: 'orders' },
  { principal: 'User:alice', operation: 'WRITE', resourceType: 'TOPIC', resourceName: 'orders', host: '10.0.0.1' },
  {
    principal: 'User:mallory',
    operation: 'ALL',
    resourceType: 'TOPIC',
    resourceName: 'ord',
    patternType: 'PREFIXED',
    permission: 'DENY',
  },
  { principal: 'User:*', operation: 'DESCRIBE', resourceType: 'TOPIC', resourceName: '*' },
  { principal: 'User:alice', operation: 'READ', resourceType: 'GROUP', resourceName: 'billing' },
  {
    principal: 'User:CN=a, O="x"',
    operation: 'IDEMPOTENT_WRITE',
    resourceType: 'CLUSTER',
    resourceName: 'kafka-cluster',
  },
  {
    principal: 'User:alice',
    operation: 'WRITE',
    resourceType: 'TRANSACTIONAL_ID',
    resourceName: 'tx-',
    patternType: 'PREFIXED',
  },
  { principal: 'User:alice', operation: 'TWO_PHASE_COMMIT', resourceType: 'TRANSACTIONAL_ID', resourceName: 'tx' },
  { principal: 'User:alice', operation: 'DESCRIBE', resourceType: 'DELEGATION_TOKEN', resourceName: 'token-1' },
  { principal: 'User:alice', operation: 'CREATE_TOKENS', resourceType: 'USER', resourceName: 'User:bob' },
]

/** Wide enough to let the tests themselves through. */
const quotas: DriverQuota[] = [
  { entity: { user: 'alice' }, values: { producer_byte_rate: 1048576, request_percentage: 12.5 } },
  { entity: { user: 'alice', 'client-id': 'app' }, values: { consumer_byte_rate: 2 } },
  { entity: { user: null }, values: { consumer_byte_rate: 3e9 } },
  { entity: { 'client-id': null }, values: { controller_mutation_rate: 3500.5 } },
  { entity: { user: null, 'client-id': 'x' }, values: { consumer_byte_rate: 9007199254740992 } },
  { entity: { ip: '10.0.0.1' }, values: { connection_creation_rate: 4 } },
  { entity: { ip: null }, values: { connection_creation_rate: 5000 } },
]

const jobOf = (spec: RestoreJobSpec) => parseJob(restoreJobText(spec), { source: 'test job', env: {}, mode: 'restore' })

async function restoreTo(spec: RestoreJobSpec): Promise<BackupRestoreReport> {
  return runRestoreJob(jobOf(spec), { onProgress: () => undefined }, never)
}

describe('access rules', () => {
  const kafka = useOwnKafka(guarded)
  /** Without an authorizer. */
  const open = useKafka()

  before(async () => {
    await kafka.driver.createTopic('orders')
    await kafka.driver.seedBulk('orders', { count: 10, partitions: 1, valueBytes: 10, startTimestamp: Date.now() })
    await kafka.driver.createAcls(rules)
    await kafka.driver.createScramUser('alice', 'secret', 'SCRAM-SHA-256')
    await kafka.driver.createScramUser("o'hara", 'secret', 'SCRAM-SHA-512')
    await kafka.driver.setQuotas(quotas)
  })

  const spec = (path: string, backup: Record<string, unknown> = all) => ({
    servers: kafka.server.bootstrapServers,
    path,
    include: ['orders'],
    backup,
  })

  test('are all restored to another cluster, and a second run changes nothing', () =>
    withFolder(async path => {
      const backed = await backUp(spec(path))
      assert.deepEqual(backed.warnings, [])
      const { access } = backed.manifest
      assert.deepEqual(
        [access?.acls, access?.quotas, access?.users],
        [10, 8, 2].map(count => ({ state: 'taken', count })),
      )
      await using server = await startKafka(guarded)
      await using driver = await openDriver(server)
      const to = { servers: server.bootstrapServers, path, restore: all }
      const planned = await dryRunRestoreJob(jobOf(to), never)
      assert.deepEqual(await driver.listAcls(), [], 'a dry run makes nothing')
      assert.equal(planned.access?.acls?.items.filter(({ decision }) => decision === 'create').length, 10)
      const told = planned.findings.map(({ subject, problem }) => `${subject}: ${problem}`).join('\n')
      assert.match(told, /ACLs: 1 would allow something to everybody: ALLOW User:\* DESCRIBE on every topic/)
      assert.match(told, /SCRAM users: the target lacks alice \(SCRAM-SHA-256\); o'hara \(SCRAM-SHA-512\)/)

      const report = await restoreTo(to)
      assert.deepEqual(report.access?.totals, { created: 18, kept: 0, differs: 0, cannot: 2, failed: 0 })
      assert.equal(report.access?.acls?.items[0]?.item.permission, 'DENY', 'denials come first')
      const source = await kafka.driver.listAcls()
      assert.equal(source.length, 10)
      assert.deepEqual(await driver.listAcls(), source)
      const limits = await kafka.driver.listQuotas()
      assert.equal(limits.length, 7)
      assert.deepEqual(await driver.listQuotas(), limits)
      const again = await restoreTo(to)
      assert.deepEqual(again.access?.totals, { created: 0, kept: 18, differs: 0, cannot: 2, failed: 0 })
      await runCommands(server, report)
      const { users } = (await restoreTo(to)).access ?? {}
      assert.deepEqual(
        users?.items.map(({ decision }) => decision),
        ['kept', 'kept'],
        'the commands of the report make the users',
      )
    }))

  /** The commands of a report, as a shell would run them but for the script around the class. */
  async function runCommands(server: Parameters<typeof runTool>[0], { access }: BackupRestoreReport): Promise<void> {
    for (const { notes } of access?.users?.items ?? []) {
      const command = notes[0]
        ?.replaceAll('<password>', 'secret')
        .replace('kafka-configs.sh --bootstrap-server <target> ', '')
      const { stdout } = await run('sh', ['-c', `printf '%s\\n' ${command}`])
      await runTool(server, 'kafka.admin.ConfigCommand', ...stdout.trim().split('\n'))
    }
  }

  test('of the target stay, those of a renamed topic follow it, and refused ones do not stop the rest', () =>
    withFolder(async path => {
      await backUp(spec(path))
      // A Kafka before 4.0 does not know two-phase commits.
      await using server = await startKafka({ ...guarded, version: '3.9.1' })
      await using driver = await openDriver(server)
      await driver.createAcls([
        { principal: 'User:alice', operation: 'READ', resourceType: 'GROUP', resourceName: 'billing' },
        { principal: 'User:own', operation: 'ALL', resourceType: 'TOPIC', resourceName: 'own' },
      ])
      await driver.setQuotas([{ entity: { user: 'alice' }, values: { producer_byte_rate: 7 } }])
      const restore = { ...all, topic_mapping: { orders: 'restored' } }
      const report = await restoreTo({ servers: server.bootstrapServers, path, restore })
      assert.deepEqual(report.access?.totals, { created: 15, kept: 1, differs: 1, cannot: 2, failed: 1 })
      const of = (decision: string) => report.access?.acls?.items.filter(one => one.decision === decision) ?? []
      assert.match(of('failed')[0]?.notes.join() ?? '', /INVALID_REQUEST \(42\): Invalid operation UNKNOWN/)
      assert.equal(of('failed')[0]?.item.operation, 'TWO_PHASE_COMMIT')
      assert.equal(of('kept')[0]?.item.resourceName, 'billing')
      const notes = report.access?.acls?.items.flatMap(one => one.notes).join('\n') ?? ''
      assert.match(notes, /for topic orders of the backup/)
      assert.match(notes, /the prefix is kept: it covered orders, and does not cover restored/)
      const there = (await driver.listAcls()).join('\n')
      assert.match(there, /name=restored, .*principal=User:alice/)
      assert.doesNotMatch(there, /name=orders, /)
      assert.match(there, /name=own, .*principal=User:own/)
      assert.ok((await driver.listQuotas()).includes('{user=alice} {producer_byte_rate=7.0, request_percentage=12.5}'))
    }))

  test('are reported with exit code 4 without the Alter permission, which check names, and the records are restored', () =>
    withFolder(async path => {
      await backUp(spec(path))
      await using server = await startKafka(guarded)
      await using driver = await openDriver(server)
      await driver.createScramUser('restorer', 'secret', 'SCRAM-SHA-256')
      const allow = (resourceType: string, resourceName: string, operations: string[]) =>
        driver.createAcls(
          operations.map(operation => ({ principal: 'User:restorer', operation, resourceType, resourceName })),
        )
      await allow('TOPIC', '*', ['ALL'])
      await allow('GROUP', '*', ['READ'])
      await allow('CLUSTER', 'kafka-cluster', ['DESCRIBE', 'DESCRIBE_CONFIGS'])
      const text = restoreJobText({
        servers: server.secureBootstrapServers,
        path,
        security: loginOf('restorer'),
        restore: all,
      })
      const file = join(path, 'restore.yaml')
      await writeFile(file, text)
      const cli = (...args: string[]) => callCli([...args, '--config', file])
      const checked = await cli('check')
      assert.equal(checked.code, 1)
      assert.match(checked.stdout, /--operation Alter --operation AlterConfigs --cluster/)
      const { code, stdout } = await cli('restore', '--format', 'json')
      assert.equal(code, 4)
      const { ok, totals, access } = JSON.parse(stdout)
      assert.deepEqual([ok, totals.records], [false, 10])
      assert.deepEqual(access.totals, { created: 0, kept: 0, differs: 0, cannot: 2, failed: 18 })
      assert.match(access.acls.rules[0].notes.join(), /CLUSTER_AUTHORIZATION_FAILED/)
      assert.equal((await driver.listAcls()).filter(line => !line.includes('User:restorer')).length, 0)
      await allow('CLUSTER', 'kafka-cluster', ['ALTER', 'ALTER_CONFIGS'])
      const after = await cli('restore')
      assert.equal(after.code, 0, after.stderr)
      assert.match(after.stdout, /Access +18 created, 0 already exist, 2 cannot be restored/)
      assert.match(after.stdout, /kafka-configs\.sh .* --entity-name alice --add-config/)
    }))

  test('are stored without secrets in a verified object, which is written again only after a change', () =>
    withFolder(async path => {
      const first = (await backUp(spec(path))).manifest.access
      const second = (await backUp(spec(path))).manifest.access
      assert.ok(first && second)
      assert.equal(second.key, first.key)
      const storage = openLocation(path)
      const { users } = await readAccess(storage, second, never)
      assert.deepEqual(users, [
        { user: 'alice', mechanism: 'SCRAM-SHA-256', iterations: 4096 },
        { user: "o'hara", mechanism: 'SCRAM-SHA-512', iterations: 4096 },
      ])
      const verified = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(verified.problems, [])
      assert.equal((await describeBackup(storage, 'b1', {}, never)).access.acls.count, 10)
      const third = await backUp(spec(path, { quotas: true }))
      assert.deepEqual(third.manifest.access?.acls, { state: 'off' })
      assert.match(third.warnings.join(), /ACLs are no longer taken \(backup\.acls\); the generation before had 10/)
      const without = await backUp(spec(path, {}))
      assert.equal(without.manifest.access, undefined)
      await assert.rejects(
        restoreTo({
          servers: kafka.server.bootstrapServers,
          path,
          restore: { ...all, topic_mapping: { orders: 'o2' } },
        }),
        {
          code: 'RESTORE_REFUSED',
          message: /ACLs: generation 4 of the backup has none: backup\.acls was off/,
        },
      )
    }))

  test('are left out with a warning without the Describe permission', () =>
    withFolder(async path => {
      await kafka.driver.createScramUser('reader', 'secret', 'SCRAM-SHA-256')
      const allow = ['READ', 'DESCRIBE', 'DESCRIBE_CONFIGS'].map(operation => ({
        principal: 'User:reader',
        operation,
        resourceType: 'TOPIC',
        resourceName: 'orders',
      }))
      await kafka.driver.createAcls(allow)
      const job = { ...spec(path), servers: kafka.server.secureBootstrapServers, security: loginOf('reader') }
      const { manifest, warnings } = await backUp(job)
      const { acls, quotas: limits, users } = manifest.access ?? {}
      for (const kind of [acls, limits, users]) {
        assert.ok(kind?.state === 'failed')
        assert.match(kind.error, /CLUSTER_AUTHORIZATION_FAILED \(31\)/)
      }
      assert.match(
        warnings.join('\n'),
        /ACLs could not be read.*\n.*client quotas could not be read.*\n.*SCRAM users could/,
      )
      const { checks } = await checkJob(makeJob(job), never)
      const missing = checks.filter(({ allowed }) => !allowed).map(({ subject }) => subject)
      assert.deepEqual(missing, ['backup.acls', 'backup.quotas', 'backup.users'])
    }))

  test('are neither backed up nor restored without an authorizer, and nothing fails', async () => {
    const { server, driver } = open
    await driver.createTopic('orders')
    await driver.seedBulk('orders', { count: 5, partitions: 1, valueBytes: 10, startTimestamp: Date.now() })
    await withFolder(async path => {
      const from = { servers: server.bootstrapServers, path, include: ['orders'] }
      const { manifest, warnings } = await backUp({ ...from, backup: all })
      const { acls } = manifest.access ?? {}
      assert.ok(acls?.state === 'failed')
      assert.match(acls.error, /SECURITY_DISABLED \(54\)/)
      assert.match(warnings.join(), /ACLs could not be read, so this generation has none/)
      assert.equal((await checkJob(makeJob({ ...from, backup: all }), never)).ok, true)
    })
    await withFolder(async path => {
      await backUp(spec(path, { acls: true }))
      const cannot = (await kafka.driver.listAcls()).length
      const restore = { acls: true, topic_mapping: { orders: 'restored' } }
      const { access, warnings } = await restoreTo({ servers: server.bootstrapServers, path, restore })
      assert.deepEqual(access?.totals, { created: 0, kept: 0, differs: 0, cannot, failed: 0 })
      assert.match(access?.acls?.reason ?? '', /the target has no authorizer/)
      const lost = `ACLs: ${cannot} of the backup do not come to the target: the target has no authorizer`
      assert.ok(warnings.join().includes(lost), warnings.join())
    })
  })
})
