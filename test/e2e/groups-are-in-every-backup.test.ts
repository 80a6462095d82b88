import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDriver } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { backUp, withFolder } from './backup-job.ts'

test('consumer groups may be incomplete without permission to describe the cluster, which is reported', async () => {
  const authorizer = 'org.apache.kafka.metadata.authorizer.StandardAuthorizer'
  const properties = { 'authorizer.class.name': authorizer, 'allow.everyone.if.no.acl.found': 'true' }
  await using server = await startKafka({ properties })
  await using driver = await openDriver(server)
  await driver.createTopic('read')
  await driver.seedBulk('read', { count: 5, partitions: 1, valueBytes: 10 })
  for (const group of ['seen', 'hidden']) await driver.readGroup({ group, topics: ['read'], take: 1 })
  const deny = { principal: 'User:ANONYMOUS', permission: 'DENY', operation: 'DESCRIBE' } as const
  await driver.createAcls([
    { ...deny, resourceType: 'GROUP', resourceName: 'hidden' },
    { ...deny, resourceType: 'CLUSTER', resourceName: 'kafka-cluster' },
  ])
  await withFolder(async path => {
    const report = await backUp({ servers: server.bootstrapServers, path, include: ['read'] })
    const section = report.manifest.consumer_groups
    assert.ok(section?.state === 'taken')
    assert.equal(section.groups, 1, 'the broker leaves the other out without a word')
    assert.match(report.warnings.join(), /Grant Describe on the cluster/)
  })
})
