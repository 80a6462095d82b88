import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildJob } from '../../../src/operator/job/build-job.ts'
import { buildConfigMap, configMapOf } from '../../../src/operator/job/build-pod.ts'
import { configMapName, jobName, labelValue } from '../../../src/operator/job/names.ts'
import { sampleDraft, sampleResource } from './samples.ts'

test('a Job is named after its run and stage, for any resource name', () => {
  const resource = sampleResource()
  const name = jobName(resource, 'once', 'whole')
  assert.match(name, /^orders-[0-9a-f]{10}$/)
  assert.equal(jobName(sampleResource({ suspend: true }), 'once', 'whole'), name)
  const others = [
    jobName(resource, 'twice', 'whole'),
    jobName(resource, 'once', 'commit'),
    configMapName(resource, 'x'),
  ]
  assert.equal(new Set([name, ...others]).size, 4)
  for (const long of [
    'x'.repeat(253),
    `${'a.'.repeat(126)}b`,
    `${'x'.repeat(39)}.y`,
    `${'x'.repeat(39)}-y`,
    '0',
    '1.2',
  ]) {
    const made = jobName(sampleResource({}, long), 'once', 'shards')
    // The host name of the pod of a shard is the name with a number behind it, and a label of a host.
    assert.match(`${made}-999`, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
  }
})

test('two consecutive resources of the same name share no Job', () => {
  const resource = sampleResource()
  const again = { ...resource, metadata: { ...resource.metadata, uid: 'another' } }
  assert.notEqual(jobName(resource, 'once', 'whole'), jobName(again, 'once', 'whole'))
  assert.notEqual(configMapName(resource, 'x'), configMapName(again, 'x'))
})

test('a label contains the name, or its beginning and a hash if it is too long', () => {
  assert.equal(labelValue('orders.eu-1'), 'orders.eu-1')
  assert.equal(labelValue('x'.repeat(63)), 'x'.repeat(63))
  for (const text of ['x'.repeat(64), `${'a.'.repeat(126)}b`, '-x', 'a b', 'ü', '...']) {
    assert.match(labelValue(text), /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/, text)
  }
  assert.notEqual(labelValue(`${'x'.repeat(64)}1`), labelValue(`${'x'.repeat(64)}2`))
})

test('the ConfigMap of a job file is immutable, and the Job refers to it', () => {
  const draft = sampleDraft()
  const map = buildConfigMap(draft, draft.pod.jobFile)
  assert.deepEqual([map.immutable, map.data], [true, { 'job.yaml': 'mode: backup\n' }])
  assert.equal(configMapOf(buildJob(draft)), map.metadata.name)
  assert.notEqual(buildConfigMap(draft, 'mode: restore\n').metadata.name, map.metadata.name)
  const { apiVersion, kind, controller } = map.metadata.ownerReferences?.[0] ?? {}
  assert.deepEqual([apiVersion, kind, controller], ['kafka-backup.dev/v1alpha1', 'KafkaBackup', true])
})
