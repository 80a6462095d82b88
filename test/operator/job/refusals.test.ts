import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Controller } from '../../../src/operator/crd/resource.ts'
import { planJobPod } from '../../../src/operator/job/plan-job-pod.ts'
import { makeResource, pvc, refusalOf, secret, step } from '../crd/resources.ts'

const s3 = { backend: 's3', bucket: 'my-bucket' }
const secured = (security: object) => ({ kafkaCluster: { bootstrapServers: ['k:9092'], security } })
const registry = (schemaRegistry: object) => ({ enterprise: { schemaRegistry: { enabled: true, ...schemaRegistry } } })

const refusals: [string, Controller, Record<string, unknown>, RegExp][] = [
  ['no cluster', 'backup', { kafkaCluster: undefined }, /^spec\.kafkaCluster\.bootstrapServers: is required/],
  ['no topics', 'backup', { topics: undefined }, /^spec\.topics: is required/],
  ['no storage', 'restore', { storage: undefined }, /^spec\.storage: is required/],
  ['no claim', 'backup', { storage: { backend: 'pvc' } }, /^spec\.storage\.pvc: is required/],
  [
    'an unknown backend',
    'backup',
    { storage: { ...pvc, backend: 'ftp' } },
    /^spec\.storage\.backend: "ftp" is not known.*allowed: pvc, s3, azure, gcs/,
  ],
  [
    'a field of another backend',
    'backup',
    { storage: { ...pvc, bucket: 'b' } },
    /^spec\.storage\.bucket: is a key of `backend: s3` or `backend: gcs` only/,
  ],
  ['a bad bucket', 'backup', { storage: { ...s3, bucket: 'a/b' } }, /^spec\.storage\.bucket: "a\/b" has a slash/],
  [
    'an access key alone',
    'backup',
    { storage: { ...s3, accessKeyId: 'a' } },
    /^spec\.storage\.secretAccessKeySecret: is required with accessKeyId/,
  ],
  [
    'a size that is too small',
    'backup',
    { backup: { segmentBytes: '1KiB' } },
    /^spec\.backup\.segmentBytes: "1KiB" is too small/,
  ],
  [
    'a login without a password',
    'backup',
    secured({ protocol: 'SASL_SSL', sasl: { mechanism: 'PLAIN', username: 'u' } }),
    /^spec\.kafkaCluster\.security\.sasl\.passwordSecret: is required; allowed: name and key of a secret$/,
  ],
  [
    'no login',
    'restore',
    secured({ protocol: 'SASL_SSL' }),
    /^spec\.kafkaCluster\.security\.sasl: is required with protocol SASL_SSL/,
  ],
  [
    'a certificate without its key',
    'backup',
    secured({ protocol: 'SSL', tls: { clientCertSecret: secret('c') } }),
    /^spec\.kafkaCluster\.security\.tls\.clientKeySecret: is required with clientCertSecret/,
  ],
  [
    'a registry without an address',
    'backup',
    registry({}),
    /^spec\.enterprise\.schemaRegistry\.url: is required where enabled is true/,
  ],
  [
    'mtls without its files',
    'backup',
    registry({ url: 'https://r', auth: { type: 'mtls' }, tls: { caCertConfigMap: secret('c') } }),
    /^spec\.enterprise\.schemaRegistry\.tls\.clientCertSecret: is required with auth\.type mtls/,
  ],
  [
    'ids that are rewritten and forced',
    'restore',
    registry({ url: 'https://r', restore: { rewriteIds: true, forceIds: true } }),
    /^spec\.enterprise\.schemaRegistry\.restore\.forceIds: contradicts rewriteIds/,
  ],
  [
    'a recipient without a key',
    'backup',
    { encryption: { recipients: [{ name: 'a' }] } },
    /^spec\.encryption\.recipients\.0: names no key; allowed: one of keySecret, passphraseSecret, awsKms$/,
  ],
  [
    'a window that ends before it begins',
    'restore',
    { restore: { timeWindowStart: '2026-01-02T00:00:00Z', timeWindowEnd: '2026-01-01T00:00:00Z' } },
    /^spec\.restore\.timeWindowEnd: is not after timeWindowStart/,
  ],
  [
    'two topics that become one',
    'restore',
    { restore: { topicMapping: { a: 'c', b: 'c' } } },
    /^spec\.restore\.topicMapping\.b: goes to the same topic as a/,
  ],
  [
    'a partition of a topic',
    'restore',
    { restore: { partitions: { 'a.b': [-1] } } },
    /^spec\.restore\.partitions\."a\.b"\.0: -1 is too small/,
  ],
  ['no groups', 'offset_reset', { groups: [] }, /^spec\.groups: is an empty list/],
  [
    'a strategy without its time',
    'offset_reset',
    { strategy: 'timestamp' },
    /^spec\.timestamp: is required with strategy timestamp/,
  ],
  [
    'a time without a zone',
    'offset_reset',
    { strategy: 'timestamp', timestamp: '2026-01-01T00:00' },
    /^spec\.timestamp: "2026-01-01T00:00" has no time zone/,
  ],
  [
    'headers without an origin',
    'offset_reset',
    { strategy: 'header_based' },
    /^spec\.fromSnapshot: or backupId is required/,
  ],
  [
    'an offset that no number holds',
    'offset_reset',
    { strategy: 'offset', offset: 2 ** 53 },
    /^spec\.offset: 9007199254740992 is too large to be read exactly as a number: put quotes around it/,
  ],
  [
    'a mapping of what is no topic',
    'offset_reset',
    { strategy: 'header_based', backupId: 'a', topicMapping: { orders: 'b', 'x=y': 'z' } },
    /^spec\.topicMapping\.x=y: is not a topic name/,
  ],
  ['a rollback of no groups', 'offset_rollback', { groups: [] }, /^spec\.groups: is an empty list/],
  ['a rollback to nothing', 'offset_rollback', { snapshotId: undefined }, /^spec\.snapshotId: or resetRef is required/],
]

for (const [name, controller, spec, expected] of refusals) {
  test(`refuses ${name} with the field names of the spec`, () => {
    const lines = refusalOf(controller, spec)
    assert.ok(
      lines.some(line => expected.test(line)),
      lines.join('\n') || 'it is not refused',
    )
    const others = lines.filter(line => /\b(source|target)\.|^(?!spec\.)/.test(line))
    assert.deepEqual(others, [])
  })
}

test('reports all problems at once, with the resource', () => {
  const resource = makeResource('backup', { topics: { include: [] }, storage: { backend: 's3' } })
  assert.throws(() => planJobPod('backup', resource, step), {
    code: 'CONFIG_INVALID',
    message:
      /^KafkaBackup prod\/nightly: 2 errors\n {2}spec\.topics\.include: .*\n {2}spec\.storage\.bucket: is required/,
  })
})

test('a rollback of a reset whose snapshot is not known yet is not refused', () => {
  assert.deepEqual(refusalOf('offset_rollback', { snapshotId: undefined, resetRef: { name: 'reset' } }), [])
})

test('never shows a password in the address of a store', () => {
  const addresses = [
    { ...s3, endpoint: 'https://user:a-password@minio' },
    { backend: 'azure', container: 'backups', account: 'acme', endpoint: 'https://user:a-password@acme' },
    { backend: 'azure', container: 'backups', endpoint: 'https://acme/?sig=a-password' },
    { backend: 'gcs', bucket: 'my-bucket', endpoint: 'https://user:a-password@gcs' },
  ]
  for (const storage of addresses) {
    const lines = refusalOf('backup', { storage })
    assert.match(lines.join(), /^spec\.storage\.endpoint: the value has (credentials|more)/)
    assert.doesNotMatch(lines.join(), /a-password/)
  }
  const authority = { backend: 'azure', container: 'backups', authorityHost: 'https://user:a-password@login' }
  const awsKms = { keyId: 'k', endpoint: 'https://user:a-password@kms' }
  for (const spec of [{ storage: authority }, { encryption: { recipients: [{ awsKms }] } }]) {
    assert.match(refusalOf('backup', spec).join(), /the value has credentials/)
    assert.doesNotMatch(refusalOf('backup', spec).join(), /a-password/)
  }
})

test('refuses a backup named like the folder of snapshots, but not an offset reset of that name', () => {
  const called = { ...step, backupId: 'offset-snapshots' }
  assert.throws(
    () => planJobPod('backup', makeResource('backup'), called),
    /spec\.backupId: "offset-snapshots" is where/,
  )
  assert.doesNotThrow(() => planJobPod('offset_rollback', makeResource('offset_rollback'), called))
})
