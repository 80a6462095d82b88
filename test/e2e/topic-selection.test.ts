import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { before, describe, test } from 'node:test'
import { dryRunJob } from '../../src/jobs/backup.ts'
import { checkJob } from '../../src/jobs/check.ts'
import { backUp, makeJob, withFolder } from './backup-job.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal

describe('the selection of topics and groups', () => {
  const kafka = useOwnKafka({
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
    },
  })

  before(async () => {
    const record = { partition: 0, key: null, value: Buffer.from('x') }
    for (const name of ['orders', 'orders-retry', 'clicks', 'guarded', 'hidden']) {
      await kafka.driver.createTopic(name)
      await kafka.driver.produce(name, [record])
    }
    await kafka.driver.transaction('clicks', [record], { transactionalId: 'makes-internal-topic', outcome: 'commit' })
    const deny = { principal: 'User:ANONYMOUS', permission: 'DENY', resourceType: 'TOPIC' } as const
    await kafka.driver.createAcls([
      { ...deny, resourceName: 'guarded', operation: 'DESCRIBE_CONFIGS' },
      { ...deny, resourceName: 'guarded', operation: 'READ' },
      { ...deny, resourceName: 'hidden', operation: 'DESCRIBE' },
      { ...deny, resourceName: 'guarded', operation: 'DELETE' },
      { ...deny, permission: 'ALLOW', resourceName: 'guarded', operation: 'DESCRIBE' },
    ])
  })

  const job = (path: string, include: string[], more = {}) => ({
    servers: kafka.server.bootstrapServers,
    path,
    include,
    ...more,
  })
  const names = (report: { manifest: { topics: { name: string }[] } }) =>
    report.manifest.topics.map(topic => topic.name)

  test('patterns select matching topics that are not excluded, and never internal ones', () =>
    withFolder(async path => {
      const report = await backUp(job(path, ['ord*', '?licks', '__*'], { exclude: ['*-retry'] }))
      assert.deepEqual(names(report), ['clicks', 'orders'])
      assert.ok(
        report.warnings.some(line => line.includes('__*')),
        'a pattern without a match is said',
      )
    }))

  test('selects an internal topic by name', () =>
    withFolder(async path => {
      assert.deepEqual(names(await backUp(job(path, ['__transaction_state']))), ['__transaction_state'])
    }))

  test('a named topic that does not exist fails the run, and nothing is written', () =>
    withFolder(async path => {
      const attempt = backUp(job(path, ['orders', 'order', 'nope']))
      await assert.rejects(attempt, {
        code: 'TOPIC_NOT_FOUND',
        exitCode: 1,
        message: 'topic order does not exist; topic nope does not exist',
      })
      assert.deepEqual(await readdir(path), [])
    }))

  test('a missing topic is a warning with backup.missing_topics: warn', () =>
    withFolder(async path => {
      const report = await backUp(job(path, ['orders', 'nope'], { backup: { missing_topics: 'warn' } }))
      assert.deepEqual(names(report), ['orders'])
      assert.deepEqual(report.warnings, ['topic nope does not exist'])
    }))

  test('a selection that matches nothing is an error', () =>
    withFolder(async path => {
      const attempt = backUp(job(path, ['nothing-*']))
      await assert.rejects(attempt, { code: 'TOPIC_NOT_FOUND', message: /no topic matches/ })
    }))

  test('names a topic without permission, and writes nothing', () =>
    withFolder(async path => {
      await assert.rejects(backUp(job(path, ['guarded'])), { code: 'KAFKA_DENIED', message: /guarded/ })
      await assert.rejects(backUp(job(path, ['hidden'])), {
        code: 'KAFKA_DENIED',
        message: /not allowed to see hidden/,
      })
      assert.deepEqual(await readdir(path), [])
    }))

  test('check lists every missing permission by name and writes nothing', () =>
    withFolder(async path => {
      const report = await checkJob(makeJob(job(path, ['orders', 'guarded', 'hidden', 'nope'])), never)
      assert.equal(report.ok, false)
      const missing = report.checks
        .filter(check => !check.allowed)
        .map(({ subject, action }) => `${subject}: ${action}`)
      assert.deepEqual(missing.sort(), [
        'topic guarded: DescribeConfigs',
        'topic guarded: Read',
        'topic hidden: Describe',
        'topic hidden: DescribeConfigs',
        'topic hidden: Read',
        'topic nope: exists',
      ])
      assert.equal((await checkJob(makeJob(job(path, ['orders'])), never)).ok, true)
      assert.deepEqual(await readdir(path), [])
    }))

  test('a dry run shows topics, partitions and bytes to copy, and writes nothing', () =>
    withFolder(async path => {
      const spec = job(path, ['orders', 'clicks'])
      const first = await dryRunJob(makeJob(spec), never)
      assert.deepEqual(await readdir(path), [])
      assert.deepEqual(
        first.topics.map(({ name, partitions, isNew }) => [name, partitions, isNew]),
        [
          ['clicks', 1, true],
          ['orders', 1, true],
        ],
      )
      assert.ok(first.topics.every(({ bytes }) => bytes !== null && bytes > 60))
      await backUp(spec)
      const second = await dryRunJob(makeJob(spec), never)
      assert.deepEqual([second.resumesFrom, second.totals.offsets, second.totals.bytes], [1, 0n, 0])
    }))

  test('reports an unreachable broker clearly and soon', () =>
    withFolder(async path => {
      const attempt = backUp({ ...job(path, ['orders']), servers: ['127.0.0.1:1'] })
      await assert.rejects(attempt, { code: 'KAFKA_UNREACHABLE', message: /127\.0\.0\.1:1 refused the connection/ })
    }))

  // The last one: it takes permissions away from all.
  test('consumer groups may be incomplete without permission to describe the cluster, which is reported', () =>
    withFolder(async path => {
      for (const group of ['seen', 'unseen']) await kafka.driver.readGroup({ group, topics: ['orders'], take: 1 })
      const deny = { principal: 'User:ANONYMOUS', permission: 'DENY', operation: 'DESCRIBE' } as const
      await kafka.driver.createAcls([
        { ...deny, resourceType: 'GROUP', resourceName: 'unseen' },
        { ...deny, resourceType: 'CLUSTER', resourceName: 'kafka-cluster' },
      ])
      const report = await backUp(job(path, ['orders']))
      const section = report.manifest.consumer_groups
      assert.ok(section?.state === 'taken')
      assert.equal(section.groups, 1, 'the broker leaves the other out without a word')
      assert.match(report.warnings.join(), /Grant Describe on the cluster/)
    }))
})
