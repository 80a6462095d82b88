import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceSpec } from '../../../src/operator/crd/resource.ts'
import { endOf, jobOf, reasons, resourceOf, Story, startedRuns, startMs } from './situation.ts'

const removed = [{ type: 'remove-finalizer' }]

test('a backup that is kept has no finalizer, and nothing happens when its resource is deleted', () => {
  const story = new Story(resourceOf())
  assert.deepEqual(
    story.plan(startMs).actions.map(({ type }) => type),
    ['start'],
  )
  const told = story.status
  story.resource.metadata.deletionTimestamp = '2026-11-16T02:00:00Z'
  const plan = story.plan(startMs + 1000, [jobOf('once')])
  assert.deepEqual([plan.actions, plan.after, plan.events, plan.status], [[], [], [], told])
})

test('sets the finalizer before the first run, and removes it when the policy changes', () => {
  const story = new Story(resourceOf({ deletionPolicy: 'Delete' }))
  assert.deepEqual(
    story.plan(startMs).actions.map(({ type }) => type),
    ['add-finalizer', 'start'],
  )
  story.resource.metadata.finalizers = ['kafka-backup.dev/delete-backup']
  story.resource.spec = { deletionPolicy: 'Retain' }
  assert.deepEqual(story.plan(startMs + 1000, [jobOf('once')]).actions, removed)
})

test('deletes nothing in a storage that was created again with another location', () => {
  const storageOf = (bucket: string) => {
    const section = { value: { backend: 's3', bucket, prefix: 'p' }, at: ['KafkaBackupStorage s: spec', 'storage'] }
    return { storage: { name: 's', status: 'True', reason: 'StorageAvailable', message: '', section } } as const
  }
  const story = new Story(resourceOf({ deletionPolicy: 'Delete', storageRef: { name: 's' } }))
  story.plan(startMs, [], storageOf('a'))
  const done = jobOf('once', { end: endOf() })
  assert.equal(story.plan(startMs + 70_000, [done], storageOf('b')).status.storageLocation, 's3 a p')
  const { status = {} } = story
  story.resource.metadata.finalizers = ['kafka-backup.dev/delete-backup']
  story.resource.metadata.deletionTimestamp = '2026-11-16T02:00:00Z'
  const plan = story.plan(startMs + 80_000, [done], storageOf('b'))
  assert.deepEqual([startedRuns(plan), plan.after, plan.status.reason], [[], [], 'StorageMoved'])
  assert.match(plan.status.message ?? '', /The backup is in s3 a p, but KafkaBackupStorage s is s3 b p now\./)
  assert.deepEqual(reasons(plan), ['StorageMoved'])
  assert.deepEqual(startedRuns(story.plan(startMs + 90_000, [done], storageOf('a'))), ['delete'])
  story.status = { ...status, storageLocation: 's3 a p at home' }
  const named = story.plan(startMs + 95_000, [done], storageOf('a'))
  assert.equal(named.status.reason, 'StorageMoved', 'a prefix is not an address')
})

test('records the address of a store, and deletes a backup there after a change of the address alone', () => {
  const storageOf = (endpoint: string) => {
    const section = { value: { backend: 's3', bucket: 'a', endpoint }, at: ['KafkaBackupStorage s: spec', 'storage'] }
    return { storage: { name: 's', status: 'True', reason: 'StorageAvailable', message: '', section } } as const
  }
  const story = new Story(resourceOf({ deletionPolicy: 'Delete', storageRef: { name: 's' } }))
  const { storageLocation } = story.plan(startMs, [], storageOf('https://minio:9000')).status
  assert.equal(storageLocation, 's3 a at https://minio:9000')
  const done = jobOf('once', { end: endOf() })
  story.resource.metadata.finalizers = ['kafka-backup.dev/delete-backup']
  story.resource.metadata.deletionTimestamp = '2026-11-16T02:00:00Z'
  const { status } = story
  const plan = story.plan(startMs + 90_000, [done], storageOf('https://minio.shop:9000'))
  assert.deepEqual(startedRuns(plan), ['delete'])
  assert.ok(reasons(plan).includes('StorageAddressChanged'))
  const both =
    /deleted in s3 a at https:\/\/minio\.shop:9000, but the last run stored it in s3 a at https:\/\/minio:9000\./
  assert.match(plan.status.message ?? '', both)
  story.status = { ...status, storageLocation: 's3 a' }
  const older = story.plan(startMs + 90_000, [done], storageOf('https://minio:9000'))
  assert.deepEqual([startedRuns(older), older.status.reason], [['delete'], 'Deleting'], 'recorded without the address')
})

test('records the location of a run whose start is not in the status', () => {
  const section = { value: { backend: 's3', bucket: 'a' }, at: ['storage'] }
  const storage = { name: 's', status: 'True', reason: 'StorageAvailable', message: '', section } as const
  const story = new Story(resourceOf({ storageRef: { name: 's' } }), { storage })
  assert.equal(story.plan(startMs, [jobOf('once')]).status.storageLocation, 's3 a')
})

test('deletes a resource without a backup immediately', () => {
  const story = going({ deletionPolicy: 'Delete', suspend: true })
  assert.deepEqual(story.plan(startMs, [], { missingSecrets: [{ name: 's', field: 'f' }] }).actions, removed)
})

test('stops active runs, then removes the backup with a Job, then releases the resource', () => {
  const story = going({ deletionPolicy: 'Delete' })
  const main = jobOf('once', { running: [{ pod: 'p', ip: '127.0.0.2' }] })
  const stop = story.plan(startMs, [main])
  assert.deepEqual([stop.actions, stop.after.map(({ type }) => type)], [[], ['remove-job']])
  assert.deepEqual([stop.status.phase, stop.status.reason, stop.ended[0]?.reason], ['Running', 'Deleting', 'Cancelled'])
  assert.deepEqual(startedRuns(story.plan(startMs + 1000, [{ ...main, isBeingDeleted: true }])), [])
  const start = story.plan(startMs + 2000)
  assert.deepEqual([startedRuns(start), reasons(start)], [['delete'], ['DeleteStarted']])
  assert.deepEqual(story.plan(startMs + 3000).actions, [])
  const done = story.plan(startMs + 9000, [jobOf('delete', { purpose: 'delete', end: endOf() })])
  assert.deepEqual([done.after, reasons(done), done.ended.length], [removed, ['DeleteCompleted'], 1])
  assert.deepEqual(story.plan(startMs + 10_000).after, removed, 'an operator that died before it goes on there')
})

test('a failed removal keeps the resource, reports the reason, and is retried when triggered', () => {
  const story = going({ deletionPolicy: 'Delete' })
  const main = jobOf('once', { end: endOf() })
  story.plan(startMs, [main])
  const end = endOf({ isSuccess: false, reason: 'STORAGE_DENIED', message: 'The store refuses to remove objects.' })
  const failed = story.plan(startMs + 1000, [main, jobOf('delete', { purpose: 'delete', end })])
  assert.deepEqual([failed.status.phase, failed.status.reason, failed.after], ['Failed', 'DeleteFailed', []])
  assert.match(failed.status.message ?? '', /refuses to remove objects.*trigger annotation.*Retain/)
  assert.deepEqual(reasons(failed), ['DeleteFailed'])
  assert.deepEqual(story.plan(startMs + 2000, [main]).events, [])
  story.resource.metadata.annotations = { 'kafka-backup.dev/trigger': 'again' }
  const [again] = startedRuns(story.plan(startMs + 3000, [main]))
  assert.match(again ?? '', /^delete-trigger-/)
  const done = story.plan(startMs + 4000, [
    main,
    jobOf(again ?? '', { purpose: 'delete', end: endOf({ completedMs: startMs + 4000 }) }),
  ])
  assert.deepEqual(done.after, removed)
})

test('a removal without its secret reports it, and how to keep the backup instead', () => {
  const story = going({ deletionPolicy: 'Delete' })
  const main = jobOf('once', { end: endOf() })
  const plan = story.plan(startMs, [main], { missingSecrets: [{ name: 's3', field: 'spec.storage' }] })
  assert.deepEqual([plan.actions, plan.status.reason, plan.recheckAtMs], [[], 'SecretMissing', startMs + 15_000])
  assert.match(plan.status.message ?? '', /s3 \(spec.storage\).*Retain/)
  story.resource.spec = { deletionPolicy: 'Retain' }
  assert.deepEqual(story.plan(startMs + 1000, [main]).actions, removed)
})

function going(spec: ResourceSpec): Story {
  const metadata = {
    name: 'orders',
    deletionTimestamp: '2026-11-16T01:30:00Z',
    finalizers: ['kafka-backup.dev/delete-backup'],
  }
  return new Story(resourceOf(spec, { metadata }))
}

test('releases the finalizer in a namespace that is being deleted, and reports how to delete the data', () => {
  const storage = { backend: 's3', bucket: 'backups', prefix: 'kafka/' }
  const rest = { isNamespaceTerminating: true, missingSecrets: [{ name: 's3', field: 'spec.storage.secret' }] }
  for (const [spec, id] of [
    [{}, '--backup-id orders'],
    [{ mode: 'full' as const, schedule: '0 2 * * *', backupId: 'daily' }, "--match 'daily-*'"],
  ] as const) {
    const story = going({ ...spec, deletionPolicy: 'Delete', storage })
    const main = jobOf('once', { running: [{ pod: 'p', ip: '127.0.0.2' }] })
    const plan = story.plan(startMs, [main], rest)
    assert.deepEqual(
      [plan.actions, plan.after.at(-1), reasons(plan)],
      [[], ...removed, ['SecretMissing', 'BackupStarted', 'BackupKept']],
    )
    assert.match(plan.status.message ?? '', /Namespace kafka is being deleted.*Its data stays/)
    assert.ok(plan.status.message?.endsWith(`\`kafka-backup delete --path s3://backups/kafka ${id}\`.`))
  }
  const refers = going({ deletionPolicy: 'Delete', storageRef: { name: 's' } })
  refers.status = { storageLocation: 's3 backups kafka at https://minio:9000' }
  const missing = { name: 's', status: 'False', reason: 'StorageMissing', message: '' } as const
  const moved = { value: { backend: 's3', bucket: 'other' }, at: ['KafkaBackupStorage s: spec', 'storage'] }
  for (const found of [missing, { ...missing, section: moved }]) {
    const kept = refers.plan(startMs, [jobOf('once')], { ...rest, storage: found }).status.message
    assert.match(kept ?? '', /--path <location of KafkaBackupStorage s: s3 backups kafka at https:\/\/minio:9000> /)
  }
  const story = going({ deletionPolicy: 'Delete', storage: { ...storage, endpoint: 'https://minio:9000' } })
  const { message } = story.plan(startMs, [jobOf('once')], rest).status
  assert.match(message ?? '', /--path 's3:\/\/backups\/kafka\?endpoint=https:\/\/minio:9000' --backup-id orders/)
})

test('reconciles a resource in deletion every minute, because its namespace may be deleted as well', () => {
  const story = going({ deletionPolicy: 'Delete' })
  const main = jobOf('once', { end: endOf() })
  story.plan(startMs, [main])
  const end = endOf({ isSuccess: false, reason: 'STORAGE_DENIED', message: 'No.' })
  const job = jobOf('delete', { purpose: 'delete', end })
  assert.equal(story.plan(startMs + 1000, [main, job]).recheckAtMs, startMs + 61_000)
})

test('a blocked removal reports why: a lost node, no pod, or failing pods', () => {
  const lost = { atMs: startMs - 1, message: 'Pod p has not been heard of.' }
  const waiting = { reason: 'ImagePullBackOff', message: 'Pod p: no such image.' }
  const failedPods = { count: 2, reason: 'STORAGE_DENIED', message: 'The store is closed.' }
  const main = jobOf('once', { end: endOf() })
  for (const [jobs, reason, message] of [
    [[jobOf('once', { lost })], 'NodeLost', /not been heard of/],
    [[main, jobOf('delete', { purpose: 'delete', lost })], 'NodeLost', /not been heard of/],
    [[main, jobOf('delete', { purpose: 'delete', waiting })], 'ImagePullBackOff', /no such image/],
    [[main, jobOf('delete', { purpose: 'delete', failedPods })], 'Deleting', /2 failed.*The store is closed/],
  ] as const) {
    const plan = going({ deletionPolicy: 'Delete' }).plan(startMs, [...jobs])
    assert.equal(plan.status.reason, reason)
    assert.match(plan.status.message ?? '', message)
    assert.equal(plan.status.conditions?.find(({ type }) => type === 'Ready')?.reason, reason)
  }
})
