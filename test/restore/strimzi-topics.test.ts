import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planRestore } from '../../src/restore/plan.ts'
import { strimziTopics } from '../../src/restore/strimzi-topics.ts'
import { plainOptions } from './plain-options.ts'
import { manifestOf, sampleTopic } from './samples.ts'

const strimzi = { cluster: 'prod', apiVersion: 'kafka.strimzi.io/v1' }

function topicsOf(name: string, configs: Record<string, string>, options = plainOptions({})) {
  const manifest = manifestOf([sampleTopic(name, 3, { configs, replication_factor: 2 })])
  return strimziTopics(planRestore(manifest, options).topics, strimzi)
}

describe('a topic for Strimzi', () => {
  test('has the partitions, replicas and settings that the restore leaves behind', () => {
    const [topic] = topicsOf('orders', { 'cleanup.policy': 'compact', 'max.message.bytes': '2097152' })
    assert.deepEqual(topic, {
      apiVersion: 'kafka.strimzi.io/v1',
      kind: 'KafkaTopic',
      metadata: { name: 'orders', labels: { 'strimzi.io/cluster': 'prod' } },
      spec: { partitions: 3, replicas: 2, config: { 'cleanup.policy': 'compact', 'max.message.bytes': '2097152' } },
    })
  })

  test('keeps the retention that a restore holds off', () => {
    const options = plainOptions({ retention: 'hold' })
    const [topic] = topicsOf('orders', { 'retention.ms': '60000' }, options)
    assert.equal(topic?.spec.config['retention.ms'], '-1')
  })

  test('has the name on the target', () => {
    const options = plainOptions({ topicMapping: new Map([['orders', 'orders-copy']]) })
    assert.equal(topicsOf('orders', {}, options)[0]?.metadata.name, 'orders-copy')
  })

  test('names in spec.topicName what Kubernetes does not take as a name, and keeps such names apart', () => {
    const names = ['Orders', 'orders_', '_', 'a..b', 'x'.repeat(249)].map(name => topicsOf(name, {})[0])
    for (const [index, topic] of names.entries()) {
      assert.match(topic?.metadata.name ?? '', /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, `${index}`)
    }
    assert.deepEqual(
      names.map(topic => topic?.spec.topicName?.slice(0, 8)),
      ['Orders', 'orders_', '_', 'a..b', undefined],
    )
    assert.equal(new Set(names.map(topic => topic?.metadata.name)).size, 5)
  })

  test('is in the namespace that is given', () => {
    const { topics } = planRestore(manifestOf([sampleTopic('a', 1)]), plainOptions({}))
    assert.equal(strimziTopics(topics, { ...strimzi, namespace: 'kafka' })[0]?.metadata.namespace, 'kafka')
  })
})
