import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CreateBucketCommand, PutObjectLegalHoldCommand, PutObjectRetentionCommand, S3Client } from '@aws-sdk/client-s3'
import { verifyBackup } from '../../src/archive/verify.ts'
import { deleteAt, pruneAt } from '../../src/jobs/prune.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { DAY, World } from '../retention/world.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'

const never = new AbortController().signal
const silent = { onProgress: () => undefined }
const policy = { match: ['*'], keepLast: 1, graceMs: 0 }

/** Two backups in a bucket that may lock objects. */
async function withLockingBucket(
  versioning: boolean,
  work: (storage: Storage, client: S3Client) => Promise<void>,
): Promise<void> {
  await using server: S3Server = await startS3({ versioning })
  const { endpoint, credentials } = server
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: 'locked', ObjectLockEnabledForBucket: true }))
  const storage = openStorage({ backend: 's3', bucket: 'locked', endpoint, ...credentials })
  const world = new World()
  await world.commit('a', {}, storage)
  world.clock.pass(DAY)
  for (let i = 0; i < 3; i++) await world.commit('b', {}, storage)
  try {
    await work(storage, client)
  } finally {
    await storage.close()
    client.destroy()
  }
}

async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of storage.list(prefix, never)) keys.push(key)
  return keys.sort()
}

describe('prune of a bucket', () => {
  test('removes expired data of a bucket with versions, and the kept backup is intact', () =>
    withLockingBucket(true, async storage => {
      const { backups } = await pruneAt(storage, policy, silent, { isDryRun: false }, never)
      assert.deepEqual(
        backups.map(({ state, generationsRemoved }) => [state, generationsRemoved]),
        [
          ['removed', 1],
          ['kept', 2],
        ],
      )
      assert.deepEqual(await keysOf(storage, 'a'), [])
      assert.deepEqual(await keysOf(storage, 'b/leases'), [])
      const report = await verifyBackup(storage, 'b', { deep: true, ...silent }, never)
      assert.deepEqual([report.problems, report.warnings], [[], []])
    }))

  test('stat tells until when an object is locked', () =>
    withLockingBucket(true, async (storage, client) => {
      const [key = ''] = await keysOf(storage, 'a/kafka')
      assert.equal((await storage.stat(key, never))?.protectedUntilMs, undefined)
      const RetainUntilDate = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000)
      const Retention = { Mode: 'GOVERNANCE', RetainUntilDate } as const
      await client.send(new PutObjectRetentionCommand({ Bucket: 'locked', Key: key, Retention }))
      assert.equal((await storage.stat(key, never))?.protectedUntilMs, RetainUntilDate.getTime())
    }))

  test('removes a complete backup except locked objects, and the rest later', () =>
    withLockingBucket(false, async (storage, client) => {
      const [segment = ''] = (await keysOf(storage, 'b/kafka')).filter(key => key.endsWith('.log'))
      const others = await keysOf(storage, 'a/')
      const hold = (Status: 'ON' | 'OFF') =>
        client.send(new PutObjectLegalHoldCommand({ Bucket: 'locked', Key: segment, LegalHold: { Status } }))
      const remove = () => deleteAt(storage, 'b', silent, { isDryRun: false }, never)
      await hold('ON')
      assert.equal((await remove()).outcome.retained.objects, 1)
      assert.deepEqual(await keysOf(storage, 'b/'), [segment, 'b/manifests/pruned.json'].sort())
      await hold('OFF')
      assert.equal((await remove()).outcome.retained.objects, 0)
      assert.deepEqual([await keysOf(storage, 'b/'), await keysOf(storage, 'a/')], [[], others])
      assert.equal((await remove()).isFound, false)
    }))

  test('counts locked objects, and removes them when the lock has expired', () =>
    withLockingBucket(false, async (storage, client) => {
      const [segment = ''] = (await keysOf(storage, 'a/kafka')).filter(key => key.endsWith('.log'))
      const hold = (Status: 'ON' | 'OFF') =>
        client.send(new PutObjectLegalHoldCommand({ Bucket: 'locked', Key: segment, LegalHold: { Status } }))
      await hold('ON')
      const [first] = (await pruneAt(storage, policy, silent, { isDryRun: false }, never)).backups
      assert.deepEqual([first?.state, first?.retained.objects], ['removed', 1])
      assert.deepEqual(await keysOf(storage, 'a'), [segment, 'a/manifests/pruned.json'].sort())
      await hold('OFF')
      await pruneAt(storage, policy, silent, { isDryRun: false }, never)
      assert.deepEqual(await keysOf(storage, 'a'), [])
    }))
})
