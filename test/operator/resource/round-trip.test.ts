import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackupJob, parseJob, type RestoreJob } from '../../../src/config/load-job.ts'
import type { JobPod } from '../../../src/operator/resource/job-pod.ts'
import type { Controller } from '../../../src/operator/resource/resource.ts'
import { planPod, secret } from './resources.ts'

const folder = '/etc/kafka-backup-files'

/** The job as the pod loads it; a variable holds `<name of the secret>/<key>`. */
function load(controller: Controller, spec: Record<string, unknown>) {
  return loadPod(planPod(controller, spec))
}

function loadPod({ jobFile, env }: JobPod) {
  const values = env.map(({ name, valueFrom }) => {
    const ref = valueFrom && 'secretKeyRef' in valueFrom ? valueFrom.secretKeyRef : undefined
    return [name, ref?.key === 'proxy' ? 'http://user:pass@proxy:3128' : `sig=${ref?.name}/${ref?.key}`]
  })
  return parseJob(jobFile, { source: 'job.yaml', env: { POD_IP: '10.0.0.7', ...Object.fromEntries(values) } })
}

const backupOf = (spec: Record<string, unknown>) => load('backup', spec) as BackupJob
const restoreOf = (spec: Record<string, unknown>) => load('restore', spec) as RestoreJob

test('the least that a backup says is a job with all defaults', () => {
  const job = backupOf({})
  assert.equal(job.mode, 'backup')
  assert.equal(job.backupId, 'nightly')
  assert.deepEqual(job.source.bootstrapServers, ['kafka:9092'])
  assert.deepEqual(job.source.topics, { include: ['*'], exclude: [] })
  assert.deepEqual(job.storage, { backend: 'filesystem', path: '/backups' })
  assert.equal(job.backup.segmentBytes, 128 * 2 ** 20)
  assert.deepEqual(job.metrics, { listen: '10.0.0.7:8080' })
  assert.equal(job.retention, undefined)
})

test('a backup says all that a job file can', () => {
  const job = backupOf({
    kafkaCluster: {
      bootstrapServers: ['k-1:9092', '[::1]:9093'],
      clientId: 'b',
      requestTimeout: '5s',
      clientRack: 'r',
    },
    topics: { include: ['orders', 'a*'], exclude: ['a1'] },
    backup: {
      compression: 'zstd',
      segmentBytes: 1_048_576,
      missingTopics: 'warn',
      onGap: 'fail',
      consumerGroups: { include: ['g?'], exclude: ['g1'] },
      acls: true,
      commitInterval: '2m',
      continuous: true,
      rateLimit: '10MiB',
      connectionsPerBroker: 4,
    },
    retention: { keepLast: 3, olderThan: '30d', grace: '0s', afterBackup: false },
  })
  const { security, ...source } = job.source
  assert.equal(security, undefined)
  assert.deepEqual(source, {
    bootstrapServers: ['k-1:9092', '[::1]:9093'],
    clientId: 'b',
    requestTimeoutMs: 5000,
    clientRack: 'r',
    topics: { include: ['orders', 'a*'], exclude: ['a1'] },
  })
  assert.equal(job.backup.compression, 'zstd')
  assert.equal(job.backup.segmentBytes, 2 ** 20)
  assert.equal(job.backup.commitIntervalMs, 120_000)
  assert.equal(job.backup.bytesPerSecond, 10 * 2 ** 20)
  assert.deepEqual(job.backup.consumerGroups, { include: ['g?'], exclude: ['g1'] })
  assert.ok(job.backup.continuous && job.backup.acls)
  assert.deepEqual(job.retention, { keepLast: 3, olderThanMs: 30 * 86_400_000, graceMs: 0, afterBackup: false })
})

test('a restore says all that a job file can', () => {
  const job = restoreOf({
    restore: {
      generation: 4,
      topics: { include: ['orders'], exclude: [] },
      partitions: { orders: [0, 2] },
      offsetRanges: { 'orders/0': { start: 100, end: '9007199254740993' } },
      timeWindowStart: '2026-01-31T08:00:00Z',
      timeWindowEnd: 1_769_900_000_000,
      topicMapping: { orders: 'constructor' },
      partitionMapping: { orders: { '0': 1, '2': 0 } },
      topicConfig: { 'retention.ms': -1, 'cleanup.policy': 'compact' },
      replicationFactor: 3,
      consumerGroups: { mapping: { 'a b': 'c d' } },
    },
  })
  const { restore } = job
  assert.equal(restore.generation, 4)
  assert.deepEqual(restore.partitions, new Map([['orders', [0, 2]]]))
  assert.deepEqual(restore.offsetRanges, new Map([['orders/0', { start: 100n, end: 9_007_199_254_740_993n }]]))
  assert.equal(restore.timeWindowStartMs, BigInt(Date.UTC(2026, 0, 31, 8)))
  assert.equal(restore.timeWindowEndMs, 1_769_900_000_000n)
  assert.deepEqual(restore.topicMapping, new Map([['orders', 'constructor']]))
  assert.deepEqual(restore.partitionMapping, new Map([['orders', new Map([[0, 1], [2, 0]])]])) // biome-ignore format: pairs
  assert.deepEqual(restore.topicConfig, new Map([['retention.ms', '-1'], ['cleanup.policy', 'compact']])) // biome-ignore format: pairs
  assert.deepEqual(restore.consumerGroups.mapping, new Map([['a b', 'c d']]))
})

const storages: Record<string, { spec: object; expected: object }> = {
  pvc: {
    spec: { backend: 'pvc', pvc: { claimName: 'backups', subPath: 'kafka/prod' }, prefix: 'eu' },
    expected: { backend: 'filesystem', path: '/backups', prefix: 'eu' },
  },
  s3: {
    spec: {
      backend: 's3',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      region: 'eu-central-1',
      endpoint: 'https://minio:9000',
      pathStyle: true,
      accessKeyIdSecret: secret('id'),
      secretAccessKeySecret: secret('key'),
      sessionTokenSecret: secret('token'),
      caCertConfigMap: { name: 'ca', key: 'ca.crt' },
      proxySecret: secret('proxy'),
      sse: 'aws:kms',
      sseKmsKeyId: 'alias/backups',
      sseBucketKey: true,
      checksum: 'sha256',
      signPayload: false,
      partSize: '8MiB',
      uploads: 2,
      connectTimeout: '3s',
      idleTimeout: '2m',
    },
    expected: {
      backend: 's3',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      region: 'eu-central-1',
      endpoint: 'https://minio:9000',
      pathStyle: true,
      accessKeyId: 'sig=credentials/id',
      secretAccessKey: 'sig=credentials/key',
      sessionToken: 'sig=credentials/token',
      caCert: `${folder}/storage.ca_cert`,
      proxy: 'http://user:pass@proxy:3128',
      sse: 'aws:kms',
      sseKmsKeyId: 'alias/backups',
      sseBucketKey: true,
      checksum: 'sha256',
      signPayload: false,
      partSizeBytes: 8 * 2 ** 20,
      uploads: 2,
      connectTimeoutMs: 3000,
      idleTimeoutMs: 120_000,
    },
  },
  'azure with a key': {
    spec: { backend: 'azure', container: 'backups', account: 'acme', accountKeySecret: secret('key') },
    expected: { backend: 'azure', container: 'backups', account: 'acme', accountKey: 'sig=credentials/key' },
  },
  'azure with a SAS': {
    spec: { backend: 'azure', container: 'backups', account: 'acme', sasTokenSecret: secret('sas') },
    expected: { sasToken: 'sig=credentials/sas' },
  },
  'azure with a principal': {
    spec: { backend: 'azure', container: 'backups', tenantId: 't', clientId: 'c', clientSecret: secret('s') },
    expected: { tenantId: 't', clientId: 'c', clientSecret: 'sig=credentials/s' },
  },
  'azure with a workload identity': {
    spec: { backend: 'azure', container: 'backups', tenantId: 't', clientId: 'c', federatedTokenFile: '/var/token' },
    expected: { federatedTokenFile: '/var/token' },
  },
  'gcs with a key': {
    spec: { backend: 'gcs', bucket: 'my-bucket', keySecret: secret('key.json'), userProject: 'acme-backups' },
    expected: { backend: 'gcs', keyFile: `${folder}/storage.key_file`, userProject: 'acme-backups' },
  },
  'gcs at an emulator': {
    spec: { backend: 'gcs', bucket: 'my-bucket', anonymous: true, endpoint: 'http://gcs:4443' },
    expected: { anonymous: true, endpoint: 'http://gcs:4443' },
  },
}

for (const [name, { spec, expected }] of Object.entries(storages)) {
  test(`a storage of ${name} is that of the job`, () => {
    const { storage } = backupOf({ storage: spec })
    assert.deepEqual({ ...storage, ...expected }, storage)
  })
}

const login = { username: 'u', passwordSecret: secret('password') }
const mechanisms: Record<string, { sasl: object; expected: object }> = {
  PLAIN: {
    sasl: { mechanism: 'PLAIN', usernameSecret: secret('user'), passwordSecret: secret('password') },
    expected: {
      mechanism: 'PLAIN',
      username: 'sig=credentials/user',
      passwordFile: `${folder}/source.security.sasl.password_file`,
    },
  },
  'SCRAM-SHA-256': { sasl: { mechanism: 'SCRAM-SHA-256', ...login }, expected: { username: 'u' } },
  'SCRAM-SHA-512': { sasl: { mechanism: 'SCRAM-SHA-512', ...login }, expected: { mechanism: 'SCRAM-SHA-512' } },
  OAUTHBEARER: {
    sasl: {
      mechanism: 'OAUTHBEARER',
      oauth: {
        tokenUrl: 'https://idp/token',
        clientId: 'backup',
        clientSecret: secret('client'),
        scope: 'kafka',
        extensions: { logicalCluster: 'lkc-1' },
        caCertSecret: secret('ca'),
      },
    },
    expected: {
      oauth: {
        tokenUrl: 'https://idp/token',
        clientId: 'backup',
        clientSecretFile: `${folder}/source.security.sasl.oauth.client_secret_file`,
        clientAuth: 'basic',
        scope: 'kafka',
        extensions: { logicalCluster: 'lkc-1' },
        caCert: `${folder}/source.security.sasl.oauth.ca_cert`,
      },
    },
  },
  AWS_MSK_IAM: {
    sasl: { mechanism: 'AWS_MSK_IAM', aws: { region: 'eu-central-1' } },
    expected: { aws: { region: 'eu-central-1' } },
  },
}

for (const [name, { sasl, expected }] of Object.entries(mechanisms)) {
  test(`a login with ${name} is that of the job`, () => {
    const tls = {
      caCertSecret: secret('ca'),
      clientCertSecret: secret('crt'),
      clientKeySecret: secret('key'),
      clientKeyPasswordSecret: secret('pw'),
    }
    const kafkaCluster = { bootstrapServers: ['k:9092'], security: { protocol: 'SASL_SSL', tls, sasl } }
    const { security } = backupOf({ kafkaCluster }).source
    assert.deepEqual(security?.tls, {
      caCert: `${folder}/source.security.tls.ca_cert`,
      clientCert: `${folder}/source.security.tls.client_cert`,
      clientKey: `${folder}/source.security.tls.client_key`,
      clientKeyPassword: 'sig=credentials/pw',
    })
    assert.deepEqual({ ...security?.sasl, ...expected }, security?.sasl)
  })
}

const auths: Record<string, { spec: object; expected: object }> = {
  'the credentials of the specification': {
    spec: { credentialsSecret: { name: 'registry', usernameKey: 'user', passwordKey: 'pass' } },
    expected: { auth: { type: 'basic', username: 'sig=registry/user', password: 'sig=registry/pass' } },
  },
  basic: {
    spec: { auth: { type: 'basic', username: 'u', passwordSecret: secret('p') } },
    expected: { auth: { type: 'basic', username: 'u', password: 'sig=credentials/p' } },
  },
  mtls: {
    spec: {
      auth: { type: 'mtls' },
      tls: { caCertConfigMap: secret('ca'), clientCertSecret: secret('crt'), clientKeySecret: secret('key') },
    },
    expected: {
      auth: { type: 'mtls' },
      tls: {
        caCert: `${folder}/enterprise.schema_registry.tls.ca_cert`,
        clientCert: `${folder}/enterprise.schema_registry.tls.client_cert`,
        clientKey: `${folder}/enterprise.schema_registry.tls.client_key`,
      },
    },
  },
  oauth: {
    spec: {
      auth: { type: 'oauth', tokenUrl: 'https://idp/t', clientId: 'c', clientSecret: secret('s'), scope: 'registry' },
    },
    expected: {
      auth: {
        type: 'oauth',
        tokenUrl: 'https://idp/t',
        clientId: 'c',
        clientSecret: 'sig=credentials/s',
        scope: 'registry',
      },
    },
  },
}

for (const [name, { spec, expected }] of Object.entries(auths)) {
  test(`a registry with ${name} is that of the job`, () => {
    const schemaRegistry = { enabled: true, url: 'https://r1:8081,https://r2:8081', ...spec }
    const registry = backupOf({ enterprise: { licenseSecret: { name: 'license' }, schemaRegistry } }).enterprise
      ?.schemaRegistry
    assert.deepEqual(registry?.urls, ['https://r1:8081', 'https://r2:8081'])
    assert.deepEqual({ ...registry, ...expected }, registry)
  })
}

test('a restore of schemas is that of the job', () => {
  const restore = {
    strategy: 'overwrite',
    idMappingConfigMap: { name: 'ids', key: 'ids.json' },
    subjectMapping: { 'a-value': 'b-value' },
    setCompatibility: 'NONE',
    rewriteTopics: { include: ['orders'] },
    rewriteParts: ['value'],
    topicContexts: { orders: '.prod' },
  }
  const schemaRegistry = { enabled: true, url: 'http://r:8081', restore, schemaTypes: ['AVRO'] }
  const registry = restoreOf({ enterprise: { schemaRegistry } }).enterprise?.schemaRegistry
  assert.equal(registry?.restore.idMappingFile, `${folder}/enterprise.schema_registry.restore.id_mapping_file`)
  assert.deepEqual(registry?.restore.subjectMapping, new Map([['a-value', 'b-value']]))
  assert.deepEqual(registry?.restore.rewriteParts, ['value'])
  assert.equal(registry?.restore.rewriteIds, true)
  assert.deepEqual(registry?.schemaTypes, ['AVRO'])
})

test('encryption is that of the job, in all four', () => {
  const encryption = {
    hideNames: true,
    recipients: [
      { keySecret: secret('key'), name: 'daily' },
      { passphraseSecret: secret('phrase') },
      { awsKms: { keyId: 'alias/backups', region: 'eu-central-1' } },
    ],
  }
  for (const controller of ['backup', 'restore', 'offset_reset', 'offset_rollback'] as const) {
    assert.deepEqual(load(controller, { encryption }).encryption, {
      hideNames: true,
      recipients: [
        { keyFile: `${folder}/encryption.recipients.0.key_file`, name: 'daily' },
        { passphraseFile: `${folder}/encryption.recipients.1.passphrase_file` },
        { awsKms: { keyId: 'alias/backups', region: 'eu-central-1' } },
      ],
    })
  }
})
