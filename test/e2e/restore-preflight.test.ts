import assert from 'node:assert/strict'
import { readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { RequiredRule } from '../../src/access/required-acls.ts'
import { parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { requiredAclsOf } from '../../src/jobs/required-acls.ts'
import {
  dryRunRestoreJob,
  finishRestoreJob,
  prepareRestoreJob,
  restoreShardJob,
  runRestoreJob,
} from '../../src/jobs/restore.ts'
import { RestoreRefusal } from '../../src/restore/refusal.ts'
import type { Acl } from '../servers/driver.ts'
import { waitFor } from '../wait-for.ts'
import { loginOf, runTool } from './access-world.ts'
import { backUp, jobText as backupJobText, withFolder } from './backup-job.ts'
import { callCli } from './call-cli.ts'
import { openCluster } from './raw-produce.ts'
import { restoreJobText } from './restore-job.ts'
import { run } from './run-cli.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const quiet = { onProgress: () => undefined }
const scramModule = 'org.apache.kafka.common.security.scram.ScramLoginModule'
const user = 'restorer'
const group = '__kafka-backup.restore.'

describe('a restore is refused before its first write', () => {
  const kafka = useOwnKafka({
    secureListener: 'SASL_PLAINTEXT',
    properties: {
      'sasl.enabled.mechanisms': 'SCRAM-SHA-256',
      'listener.name.secure.scram-sha-256.sasl.jaas.config': `${scramModule} required;`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  })

  before(async () => {
    await kafka.driver.createScramUser(user, 'secret', 'SCRAM-SHA-256')
    const bulk = { count: 200, partitions: 2, valueBytes: 50, startTimestamp: Date.now() - 60_000 }
    for (const topic of ['orders', 'audit']) {
      await kafka.driver.createTopic(topic, { partitions: 2, configs: { 'cleanup.policy': 'compact,delete' } })
      await kafka.driver.seedBulk(topic, bulk)
    }
  })

  function jobText(path: string, restore: Record<string, unknown>, isUser = true): string {
    const sasl = { mechanism: 'SCRAM-SHA-256', username: user, password: 'secret' }
    const security = { protocol: 'SASL_PLAINTEXT', sasl }
    const { secureBootstrapServers, bootstrapServers } = kafka.server
    const target = isUser
      ? { bootstrap_servers: secureBootstrapServers, security }
      : { bootstrap_servers: bootstrapServers }
    return JSON.stringify({
      mode: 'restore',
      backup_id: 'b1',
      target,
      storage: { backend: 'filesystem', path },
      restore,
    })
  }
  const makeJob = (...args: Parameters<typeof jobText>): RestoreJob =>
    parseJob(jobText(...args), { source: 'test job', env: {}, mode: 'restore' })

  const mapping = (suffix: string) => ({ topic_mapping: { orders: `orders-${suffix}`, audit: `audit-${suffix}` } })
  const allow = (resourceType: string, resourceName: string, ...operations: string[]) =>
    kafka.driver.createAcls(
      operations.map(operation => ({
        principal: `User:${user}`,
        operation,
        resourceType,
        resourceName,
        patternType: resourceName.endsWith('.') || resourceName.endsWith('-') ? 'PREFIXED' : 'LITERAL',
      })),
    )
  const withBackup = (work: (path: string) => Promise<void>) =>
    withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['orders', 'audit'] })
      await work(path)
    })

  test('for every missing permission, of existing and new topics', () =>
    withBackup(async path => {
      await kafka.driver.createTopic('audit-x', { partitions: 2, configs: { 'cleanup.policy': 'compact,delete' } })
      await allow('TOPIC', 'orders-x', 'READ', 'DESCRIBE_CONFIGS')
      await allow('TOPIC', 'audit-x', 'READ', 'WRITE', 'DESCRIBE_CONFIGS')
      const job = makeJob(path, { ...mapping('x'), restore_id: 'x' })
      const { findings } = await dryRunRestoreJob(job, never)
      const errors = findings.filter(({ severity }) => severity === 'error')
      const missing = errors.map(({ severity, subject, problem }) => `${severity} ${subject}: ${problem}`)
      assert.deepEqual(missing, [
        'error topic orders-x: the user of this job may not Write, AlterConfigs',
        `error group ${group}x: the user of this job may not Read`,
        'error topic orders-x: the user of this job may not Create',
      ])
      await assert.rejects(runRestoreJob(job, quiet, never), error => {
        assert.ok(error instanceof RestoreRefusal)
        assert.deepEqual(error.findings, findings)
        return true
      })
      await assert.rejects(kafka.driver.describeTopic('orders-x'))
      const checked = await checkJob(job, never)
      const lacking = checked.checks.filter(one => !one.allowed).map(({ subject, action }) => `${subject} ${action}`)
      assert.deepEqual(lacking, [
        'topic orders-x Write',
        'topic orders-x AlterConfigs',
        `group ${group}x Read`,
        'topic orders-x Create',
      ])
    }))

  test('but not with exactly the permissions that docs/restore.md lists', () =>
    withBackup(async path => {
      const operations = ['DESCRIBE', 'CREATE', 'WRITE', 'READ', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS']
      await allow('TOPIC', 'orders-y', ...operations)
      await allow('TOPIC', 'audit-y', ...operations)
      await allow('GROUP', group, 'READ')
      const job = makeJob(path, { ...mapping('y'), verify: true })
      const checked = await checkJob(job, never)
      assert.deepEqual(
        checked.checks.filter(({ allowed }) => !allowed),
        [],
      )
      await assert.rejects(kafka.driver.describeTopic('orders-y'), 'a check makes no topics')
      const report = await runRestoreJob(job, quiet, never)
      assert.deepEqual([report.totals.records, report.verification?.ok], [400, true])
      // A trial of the first topic tells the defaults, which DescribeConfigs on the cluster would.
      assert.deepEqual(report.warnings, [])

      await allow('TOPIC', 'orders-w', ...operations)
      await allow('TOPIC', 'audit-w', ...operations)
      const shared = makeJob(path, mapping('w'))
      await prepareRestoreJob(shared, 2, quiet, never)
      for (const index of [0, 1]) {
        assert.deepEqual((await restoreShardJob(shared, { shard: { index, count: 2 } }, quiet, never)).warnings, [])
      }
      // The topics exist by now, and show the defaults that they hide.
      assert.deepEqual((await finishRestoreJob(shared, quiet, never)).warnings, [])
      const cluster = await openCluster(kafka.server)
      try {
        const own = await cluster.topicConfigs(['orders-y', 'orders-w', 'audit-y', 'audit-w'], never)
        assert.deepEqual([own.get('orders-w'), own.get('audit-w')], [own.get('orders-y'), own.get('audit-y')])
      } finally {
        cluster.close()
      }
    }))

  /** Topics of probes that the cluster has: none, as soon as all brokers know of the deletion. */
  async function awaitNoProbeTopic(): Promise<void> {
    const cluster = await openCluster(kafka.server)
    try {
      await waitFor('no topic of a probe is left', async () => {
        const { topics } = await cluster.metadata({ topics: null }, never)
        return !topics.some(({ name }) => name.startsWith('__kafka-backup.probe.'))
      })
    } finally {
      cluster.close()
    }
  }

  test('and estimates its time with a probe of the store and the target, which leaves no topic behind', () =>
    withBackup(async path => {
      const steps: string[] = []
      const probe = { scope: 'target' as const, onStep: (step: string) => void steps.push(step) }
      const job = makeJob(path, mapping('p'), false)
      const { estimate, totals } = await dryRunRestoreJob(job, never, probe)
      assert.ok(estimate?.seconds && estimate.seconds > 0 && estimate.limitedBy, JSON.stringify(estimate))
      assert.deepEqual(
        estimate.steps.map(({ name }) => name),
        ['store_read', 'cpu', 'target_write', 'one_partition'],
      )
      assert.ok(estimate.steps.every(({ seconds }) => seconds > 0))
      assert.equal(estimate.seconds, Math.max(...estimate.steps.map(({ seconds }) => seconds)))
      assert.deepEqual([estimate.records, estimate.bytes, estimate.problems], [400, totals.bytes, []])
      assert.match(
        steps.join('\n'),
        /^reading up to 1.0 MiB .*\ncreating topic __kafka-backup\.probe\.\w+ with 5 partitions .* deleting it$/,
      )
      await awaitNoProbeTopic()
      await assert.rejects(kafka.driver.describeTopic('orders-p'), 'it is a dry run')

      const stop = new AbortController()
      const onStep = (step: string) =>
        step.startsWith('creating') && stop.abort(new KafkaBackupError('INTERRUPTED', 'stopped'))
      await assert.rejects(dryRunRestoreJob(job, stop.signal, { ...probe, onStep }), { code: 'INTERRUPTED' })
      await awaitNoProbeTopic()
      const report = await runRestoreJob(job, quiet, never, { ...probe, scope: 'store' })
      const { recovery } = report
      assert.equal(recovery?.bytes, report.totals.bytes)
      assert.equal(recovery.estimate?.precision, 'at_least', 'the target was not measured')
      assert.equal(recovery.estimate.actualSeconds, recovery.recordsMs / 1000)
      assert.equal(steps.length, 3, 'and nothing was created')
      const again = await dryRunRestoreJob(job, never, probe)
      assert.deepEqual([again.estimate?.seconds, again.estimate?.limitedBy, steps.length], [0, null, 3])
    }))

  test('and does not probe the target where the user could not delete the topic', () =>
    withBackup(async path => {
      const operations = ['DESCRIBE', 'CREATE', 'WRITE', 'READ', 'DESCRIBE_CONFIGS', 'ALTER_CONFIGS']
      for (const topic of ['orders-q', 'audit-q', '__kafka-backup.probe.']) await allow('TOPIC', topic, ...operations)
      await allow('GROUP', group, 'READ')
      const steps: string[] = []
      const probe = { scope: 'target' as const, onStep: (step: string) => void steps.push(step) }
      const job = makeJob(path, mapping('q'))
      const { estimate } = await dryRunRestoreJob(job, never, probe)
      assert.match(
        estimate?.problems.join() ?? '',
        /^the target could not be measured: the user of this job may not delete topic __kafka-backup\.probe\.\w+$/,
      )
      assert.deepEqual([estimate?.precision, steps.length], ['at_least', 1], 'nothing was created')
      await allow('TOPIC', '__kafka-backup.probe.', 'DELETE')
      const allowed = await dryRunRestoreJob(job, never, probe)
      assert.deepEqual([allowed.estimate?.precision, allowed.estimate?.problems], ['about', []])
      await awaitNoProbeTopic()
    }))

  test('for an internal topic of Kafka, and warns of different settings of an existing topic', () =>
    withFolder(async path => {
      await kafka.driver.readGroup({ group: 'reader', topics: ['orders'] })
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['__consumer_offsets', 'orders'] })
      await kafka.driver.createTopic('orders-five', { partitions: 5, configs: { 'retention.ms': '86400000' } })
      const topics = { include: ['__consumer_offsets', 'orders'] }
      const fixed = { topics, topic_mapping: { orders: 'orders-five' }, existing_topics: 'append' }
      const { findings } = await dryRunRestoreJob(makeJob(path, fixed, false), never)
      assert.deepEqual(
        findings.map(({ severity, subject, problem }) => `${severity} ${subject}: ${problem.replace(/[:,].*/, '')}`),
        [
          'error topic __consumer_offsets: it belongs to Kafka itself',
          'warning topic orders-five: it has 5 partitions on the target and 2 at the source',
          'warning topic orders-five: it was compacted at the source and is not on the target',
          'warning topic orders-five: the topic exists and keeps its settings',
        ],
      )
    }))

  test('if retention would delete everything that a time window or a range of offsets selects', () =>
    withFolder(async path => {
      const DAY = 86_400_000
      await kafka.driver.createTopic('aged', { partitions: 1, configs: { 'retention.ms': '-1' } })
      const at = (timestamp: number) => ({ partition: 0, key: null, value: Buffer.from('v'), timestamp })
      const old = Date.now() - 30.5 * DAY
      await kafka.driver.produce('aged', [at(old), at(old + 1000), at(Date.now()), at(Date.now())])
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['aged'] })
      const fixed = { topic_mapping: { aged: 'aged-2' }, topic_config: { 'retention.ms': String(DAY) } }
      const problemsOf = async (selection: Record<string, unknown>) => {
        const dry = await dryRunRestoreJob(makeJob(path, { ...fixed, ...selection }, false), never)
        return dry.findings.filter(({ severity }) => severity === 'error').map(({ problem }) => problem)
      }
      const refused = [`its newest record is 30 days old; its retention of ${DAY} ms would delete all of it at once`]
      const end = new Date(old + 2000).toISOString()
      assert.deepEqual(await problemsOf({ offset_ranges: { 'aged/0': { end: 2 } } }), refused)
      assert.deepEqual(await problemsOf({ time_window_end: end }), refused)
      assert.deepEqual(await problemsOf({ offset_ranges: { 'aged/0': { start: 1 } } }), [])
      assert.deepEqual(await problemsOf({}), [])
    }))

  test('but not, and neither is a backup, with exactly the rules that check --acls prints', () =>
    withFolder(async path => {
      await kafka.driver.readGroup({ group: 'billing-1', topics: ['orders'], take: 3 })
      const from = { servers: kafka.server.secureBootstrapServers, path, include: ['ord*', 'audit'] }
      const backup = { acls: true, quotas: true, users: true, consumer_groups: { include: ['billing-*'] } }
      const backupSpec = { ...from, backup, security: loginOf('exact-backup') }
      await grantPrinted(path, backupJobText(backupSpec), 'exact-backup')
      const requested = new Set<string>()
      const { manifest, warnings } = await backUp(backupSpec, { onRequest: name => requested.add(name) })
      assert.deepEqual(warnings, [])
      assert.deepEqual([manifest.access?.acls.state, manifest.consumer_groups?.state], ['taken', 'taken'])
      assertPlanned(requested, backupJobText(backupSpec))

      const consumer_groups = { include: ['billing-1'], mapping: { 'billing-1': 'restored-1' } }
      const access = { acls: true, quotas: true, users: true }
      const topics = { include: ['orders', 'audit'] }
      const restore = { topics, ...mapping('acl'), restore_id: 'acl', verify: true, consumer_groups, ...access }
      const to = { servers: from.servers, path, security: loginOf('exact-restore'), restore }
      await grantPrinted(path, restoreJobText(to), 'exact-restore')
      const job = parseJob(restoreJobText(to), { source: 'test job', env: {}, mode: 'restore' })
      const { ok, checks } = await checkJob(job, never)
      assert.ok(ok, JSON.stringify(checks.filter(({ allowed }) => !allowed)))
      requested.clear()
      const report = await runRestoreJob(job, { ...quiet, onRequest: name => requested.add(name) }, never)
      assert.deepEqual([report.totals.records, report.access?.totals.failed], [400, 0])
      assertPlanned(requested, restoreJobText(to))
    }))

  /** Creates the user of a job, and exactly the rules that the program prints for it. */
  async function grantPrinted(path: string, text: string, name: string): Promise<void> {
    const file = join(path, `${name}.yaml`)
    await writeFile(file, text)
    const argv = ['check', '--config', file, '--acls', 'kafka-acls', '--format', 'json']
    const { code, stdout, stderr } = await callCli(argv)
    assert.equal(code, 0, stderr)
    const printed: { principal: string; rules: RequiredRule[]; kafka_acls: string[] } = JSON.parse(stdout)
    assert.equal(printed.principal, `User:${name}`)
    await kafka.driver.createScramUser(name, 'secret', 'SCRAM-SHA-256')
    // Kafka's tool reads one of the commands; its start costs too much to have it read all.
    const at = printed.kafka_acls.findIndex(command => command.includes(' prefixed '))
    const byTool = printed.kafka_acls[at]
    if (byTool !== undefined) {
      const { stdout: args } = await run('sh', ['-c', `printf '%s\\n' ${byTool.replace(/^.*admin\.properties /, '')}`])
      await runTool(kafka.server, 'org.apache.kafka.tools.AclCommand', ...args.trim().split('\n'))
    }
    const all = printed.rules.map(rule => bindingsOf(printed.principal, rule))
    await kafka.driver.createAcls(all.filter((_, index) => index !== at).flat())
    const count = async () =>
      (await kafka.driver.listAcls()).filter(line => line.includes(`principal=${printed.principal},`)).length
    // A broker learns of rules after the controller has created them.
    await waitFor('all rules are known', async () => (await count()) >= all.flat().length)
  }

  function bindingsOf(principal: string, { resource, name, pattern, operations }: RequiredRule): Acl[] {
    return operations.map(({ operation }) => ({
      principal,
      operation: operation.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase(),
      resourceType: resource.toUpperCase(),
      resourceName: name,
      patternType: pattern === 'prefixed' ? 'PREFIXED' : 'LITERAL',
    }))
  }

  function assertPlanned(requested: ReadonlySet<string>, text: string): void {
    const { requests } = requiredAclsOf(parseJob(text, { source: 'test job', env: {} }))
    assert.ok(requested.size > 5)
    assert.deepEqual(
      [...requested].filter(name => !requests.includes(name)),
      [],
    )
  }

  test('for missing or short objects of the backup, all by name, with exit code 3', () =>
    withBackup(async path => {
      const segments = async (topic: string) => {
        const folder = join(path, 'b1/kafka', topic, '0')
        return (await readdir(folder)).filter(name => name.includes('.log')).map(name => join(folder, name))
      }
      const [orders = ''] = await segments('orders')
      const [audit = ''] = await segments('audit')
      await rm(orders)
      await truncate(audit, 100)
      const file = join(path, 'restore.yaml')
      await writeFile(file, jobText(path, mapping('z'), false))
      const cli = (...args: string[]) => callCli([...args, '--config', file, '--format', 'json'])
      for (const argv of [['restore'], ['restore', '--dry-run']]) {
        const { code, stdout, stderr } = await cli(...argv)
        assert.equal(code, 3, stderr)
        const document = JSON.parse(stdout)
        const findings: { subject: string; problem: string; code: string }[] = (document.error ?? document).findings
        assert.deepEqual(
          findings.map(one => [one.code, one.subject]),
          [audit, orders].map(at => ['ARCHIVE_DAMAGED', `object ${at.slice(path.length + 1)}`]),
        )
      }
      const checked = await cli('check')
      assert.equal(checked.code, 1, checked.stderr)
      assert.equal(
        JSON.parse(checked.stdout).checks.filter((one: { action: string }) => one.action === 'intact').length,
        2,
      )
      await assert.rejects(kafka.driver.describeTopic('orders-z'))
      await assert.rejects(kafka.driver.describeTopic('audit-z'))
      const whole = { ...mapping('z'), partitions: { orders: [1], audit: [1] } }
      const report = await runRestoreJob(makeJob(path, whole, false), quiet, never)
      assert.equal(report.totals.records, 200, 'what is not damaged can be restored')
    }))
})
