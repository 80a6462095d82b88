import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackupJob, parseJob, type RestoreJob } from '../../../src/config/load-job.ts'
import type { Controller } from '../../../src/operator/crd/resource.ts'
import type { JobPod } from '../../../src/operator/job/job-pod.ts'
import { planPod } from '../crd/resources.ts'
import {
  auths,
  encryption,
  fileFolder,
  fullBackup,
  fullRestore,
  mechanisms,
  registryRestore,
  storages,
  tls,
} from '../crd/rich-resources.ts'

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

test('a minimal backup becomes a job with all defaults', () => {
  const job = backupOf({})
  assert.equal(job.mode, 'backup')
  assert.equal(job.backupId, 'nightly')
  assert.deepEqual(job.source.bootstrapServers, ['kafka:9092'])
  assert.deepEqual(job.source.topics, { include: ['*'], exclude: [] })
  assert.deepEqual(job.storage, { backend: 'filesystem', path: '/backups' })
  assert.equal(job.backup.segmentBytes, 128 * 2 ** 20)
  assert.deepEqual(job.metrics, { listen: '[10.0.0.7]:8080' })
  assert.equal(job.retention, undefined)
})

test('a backup can set every field of a job file', () => {
  const job = backupOf(fullBackup)
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
  assert.deepEqual(job.retention, {
    ...{ keepLast: 3, olderThanMs: 30 * 86_400_000, graceMs: 0, afterBackup: false },
    generations: { keepLast: 5, keepHourly: 24, keepDaily: 7 },
  })
})

test('a restore can set every field of a job file', () => {
  const job = restoreOf(fullRestore)
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

for (const [name, { spec, expected }] of Object.entries(storages)) {
  test(`the storage ${name} reaches the job unchanged`, () => {
    const { storage } = backupOf({ storage: spec })
    assert.deepEqual({ ...storage, ...expected }, storage)
  })
}

for (const [name, { sasl, expected }] of Object.entries(mechanisms)) {
  test(`the login ${name} reaches the job unchanged`, () => {
    const kafkaCluster = { bootstrapServers: ['k:9092'], security: { protocol: 'SASL_SSL', tls, sasl } }
    const { security } = backupOf({ kafkaCluster }).source
    assert.deepEqual(security?.tls, {
      caCert: `${fileFolder}/source.security.tls.ca_cert`,
      clientCert: `${fileFolder}/source.security.tls.client_cert`,
      clientKey: `${fileFolder}/source.security.tls.client_key`,
      clientKeyPassword: 'sig=credentials/pw',
    })
    assert.deepEqual({ ...security?.sasl, ...expected }, security?.sasl)
  })
}

for (const [name, { spec, expected }] of Object.entries(auths)) {
  test(`the registry ${name} reaches the job unchanged`, () => {
    const schemaRegistry = { enabled: true, url: 'https://r1:8081,https://r2:8081', ...spec }
    const registry = backupOf({ enterprise: { licenseSecret: { name: 'license' }, schemaRegistry } }).enterprise
      ?.schemaRegistry
    assert.deepEqual(registry?.urls, ['https://r1:8081', 'https://r2:8081'])
    assert.deepEqual({ ...registry, ...expected }, registry)
  })
}

test('the restore of schemas reaches the job unchanged', () => {
  const schemaRegistry = { enabled: true, url: 'http://r:8081', restore: registryRestore, schemaTypes: ['AVRO'] }
  const registry = restoreOf({ enterprise: { schemaRegistry } }).enterprise?.schemaRegistry
  assert.equal(registry?.restore.idMappingFile, `${fileFolder}/enterprise.schema_registry.restore.id_mapping_file`)
  assert.deepEqual(registry?.restore.subjectMapping, new Map([['a-value', 'b-value']]))
  assert.deepEqual(registry?.restore.rewriteParts, ['value'])
  assert.equal(registry?.restore.rewriteIds, true)
  assert.deepEqual(registry?.schemaTypes, ['AVRO'])
})

test('encryption reaches the job unchanged, for all four kinds', () => {
  for (const controller of ['backup', 'restore', 'offset_reset', 'offset_rollback'] as const) {
    assert.deepEqual(load(controller, { encryption }).encryption, {
      hideNames: true,
      recipients: [
        { keyFile: `${fileFolder}/encryption.recipients.0.key_file`, name: 'daily' },
        { passphraseFile: `${fileFolder}/encryption.recipients.1.passphrase_file` },
        { awsKms: { keyId: 'alias/backups', region: 'eu-central-1' } },
      ],
    })
  }
})
