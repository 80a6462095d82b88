import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { planJobPod } from '../../../src/operator/job/plan-job-pod.ts'
import { resolveCluster, type StrimziKafka } from '../../../src/operator/job/strimzi.ts'
import { makeResource, minimal, step } from '../crd/resources.ts'

const ready = [{ type: 'Ready', status: 'True' }]

function kafkaOf(rest: StrimziKafka['status'] = {}): StrimziKafka {
  const listeners = [
    { name: 'plain', tls: false },
    { name: 'tls', tls: true, authentication: { type: 'tls' } },
    { name: 'scram', tls: true, authentication: { type: 'scram-sha-512' } },
    { name: 'open', tls: true },
    { name: 'insecure', tls: false, authentication: { type: 'scram-sha-512' } },
    { name: 'oauth', tls: true, authentication: { type: 'oauth' } },
  ]
  return {
    apiVersion: 'kafka.strimzi.io/v1beta2',
    kind: 'Kafka',
    metadata: { name: 'prod', namespace: 'kafka' },
    spec: { kafka: { listeners } },
    status: {
      conditions: ready,
      listeners: listeners.map(({ name }) => ({ name, bootstrapServers: `prod-kafka-bootstrap.kafka.svc:9093` })),
      ...rest,
    },
  }
}

function specOf(listener: string, user?: ResourceSpec['kafkaUserRef']): ResourceSpec {
  return { clusterRef: { name: 'prod', listener }, ...(user && { kafkaUserRef: user }) }
}

function sectionOf(spec: ResourceSpec) {
  return resolveCluster(spec, kafkaOf())?.section?.value
}

const bootstrapServers = ['prod-kafka-bootstrap.kafka.svc:9093']
const caCertSecret = { name: 'prod-cluster-ca-cert', key: 'ca.crt' }

describe('a clusterRef', () => {
  test('takes address, CA and the certificate of the user from what Strimzi makes', () => {
    assert.deepEqual(sectionOf(specOf('tls', { name: 'backup' })), {
      bootstrapServers,
      security: {
        protocol: 'SSL',
        tls: {
          caCertSecret,
          clientCertSecret: { name: 'backup', key: 'user.crt' },
          clientKeySecret: { name: 'backup', key: 'user.key' },
        },
      },
    })
  })

  test('takes the password of a SCRAM user, with another name of the user and the secret where they differ', () => {
    const sasl = (username: string, name: string) => ({
      mechanism: 'SCRAM-SHA-512',
      username,
      passwordSecret: { name, key: 'password' },
    })
    assert.deepEqual(sectionOf(specOf('scram', { name: 'backup' })), {
      bootstrapServers,
      security: { protocol: 'SASL_SSL', tls: { caCertSecret }, sasl: sasl('backup', 'backup') },
    })
    const other = { name: 'backup', userName: 'CN=x', secretName: 'strimzi-backup' }
    assert.deepEqual(sectionOf(specOf('insecure', other)), {
      bootstrapServers,
      security: { protocol: 'SASL_PLAINTEXT', sasl: sasl('CN=x', 'strimzi-backup') },
    })
  })

  test('needs no user for a listener without authentication, and takes the CA of a listener that has another one', () => {
    assert.deepEqual(sectionOf(specOf('plain')), { bootstrapServers })
    const own = { name: 'prod', listener: 'open', caCertSecret: { name: 'company-ca', key: 'root.pem' } }
    assert.deepEqual(sectionOf({ clusterRef: own }), {
      bootstrapServers,
      security: { protocol: 'SSL', tls: { caCertSecret: own.caCertSecret } },
    })
  })

  for (const [name, spec, kafka, reason, message] of [
    ['an unknown cluster', specOf('tls'), undefined, 'ClusterMissing', /^Kafka prod of Strimzi does not exist/],
    [
      'a missing listener',
      specOf('nope'),
      kafkaOf(),
      'ListenerMissing',
      /no listener nope\. Its listeners: plain, tls, scram/,
    ],
    ['a listener that needs a user', specOf('tls'), kafkaOf(), 'ListenerUnsupported', /set spec\.kafkaUserRef/],
    [
      'a user that is not needed',
      specOf('plain', { name: 'u' }),
      kafkaOf(),
      'ListenerUnsupported',
      /remove spec\.kafkaUserRef/,
    ],
    [
      'another authentication',
      specOf('oauth', { name: 'u' }),
      kafkaOf(),
      'ListenerUnsupported',
      /type oauth\. Describe the cluster with spec\.kafkaCluster/,
    ],
    [
      'a cluster that is not there yet',
      specOf('plain'),
      kafkaOf({ conditions: [{ type: 'NotReady', status: 'True', reason: 'Creating' }], listeners: [] }),
      'ClusterNotReady',
      /has no address for listener plain yet\. Strimzi reports: Creating/,
    ],
  ] as const) {
    test(`names ${name}`, () => {
      const found = resolveCluster(spec, kafka)
      assert.deepEqual([found?.status, found?.reason, found?.section], ['False', reason, undefined])
      assert.match(found?.message ?? '', message)
    })
  }

  test('of a cluster that is not ready, but has an address, is used and reported', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Error', message: 'quota' }]
    const found = resolveCluster(specOf('plain'), kafkaOf({ conditions }))
    assert.deepEqual([found?.status, found?.reason], ['True', 'ClusterNotReady'])
    assert.match(found?.message ?? '', /Strimzi reports: Error: quota/)
    assert.ok(found?.section)
  })

  test('reads the name of a listener where older versions of Strimzi have it', () => {
    const listeners = [{ type: 'plain', bootstrapServers: 'a:9092, b:9092' }]
    const found = resolveCluster(specOf('plain'), kafkaOf({ listeners }))
    assert.deepEqual(found?.section?.value, { bootstrapServers: ['a:9092', 'b:9092'] })
  })

  test('gives a job file that is valid, and a pod that mounts the secrets without their content', () => {
    for (const controller of ['backup', 'restore', 'offset_reset', 'offset_rollback'] as const) {
      const { kafkaCluster: _, ...rest } = minimal[controller]
      const spec = { ...rest, ...specOf('tls', { name: 'backup' }) }
      const kafkaCluster = resolveCluster(spec, kafkaOf())?.section
      assert.ok(kafkaCluster)
      const pod = planJobPod(controller, { ...makeResource(controller), spec }, step, { kafkaCluster })
      const { source, target } = parse(pod.jobFile)
      assert.deepEqual((source ?? target).bootstrap_servers, bootstrapServers)
      assert.deepEqual(pod.secrets.map(({ name, key }) => `${name}/${key}`).sort(), [
        'backup/user.crt',
        'backup/user.key',
        'prod-cluster-ca-cert/ca.crt',
      ])
    }
  })

  test('is not needed to delete a backup', () => {
    const { kafkaCluster: _, ...rest } = minimal.backup
    const resource = { ...makeResource('backup'), spec: { ...rest, ...specOf('tls', { name: 'backup' }) } }
    const pod = planJobPod('backup', resource, { ...step, purpose: 'delete' })
    assert.deepEqual([pod.secrets, Object.keys(parse(pod.jobFile))], [[], ['mode', 'backup_id', 'storage']])
  })
})
