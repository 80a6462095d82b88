import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitGeneration } from '../../src/archive/commit.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { findRestore, readSelected } from '../../src/restore/find-restore.ts'
import { deriveRestoreId, fingerprintOf, planRestore } from '../../src/restore/plan.ts'
import type { ProgressNote } from '../../src/restore/progress.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { draftManifest, never, storePartitions, topicOf } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

/** A restore has begun with generation 1 of a backup that has got a second one since. */
async function generationsOf(there: FakeTopic[], changes: Partial<RestoreOptions> = {}, isNextEmpty = false) {
  const { manifest, plan } = await findBegun(there, changes, async () => {}, isNextEmpty)
  return [manifest.generation, plan.generation]
}

async function findBegun(
  there: FakeTopic[],
  changes: Partial<RestoreOptions> = {},
  damage: (storage: Storage) => Promise<void> = async () => {},
  isNextEmpty = false,
  unleased?: string,
) {
  const storage = openMemoryStorage()
  const first = await storePartitions(storage, [[[encodeRun(0n, 3)]]], false)
  const partitions = first.topics[0]?.partitions ?? []
  const next = draftManifest(isNextEmpty ? [] : [topicOf('orders', partitions)], {
    generation: 2,
    run: 'run2',
    created_at: '2026-01-02T04:00:00.000Z',
  })
  const draft = { manifest: next, freshSegments: new Map(), attempt: 1 }
  await renewManifestCopy(storage, (await commitGeneration(storage, draft, never)).manifest, never)
  const options = { ...plainOptions(), ...changes }
  const place = { topic: 'orders', partition: 0, sourcePartition: 0, sourceOffset: 0n }
  const note: ProgressNote = {
    mark: {
      identity: { producerId: 1n, producerEpoch: 0 },
      generation: 1,
      fingerprint: fingerprintOf(planRestore(first, options)),
    },
    stream: { ...place, targetOffset: 0n, sequence: 0, isFilled: false, isDone: false },
    run: '1',
  }
  await damage(storage)
  const fake = await startFakeCluster(there)
  try {
    const parts = {
      cluster: await fake.open(),
      storage,
      readNotes: async () => [note],
      ...(unleased !== undefined && { unleased }),
    }
    return await findRestore(options, parts, never)
  } finally {
    await fake.close()
  }
}

test('takes schemas and records from one generation, also where the topics of a restore were deleted', async () => {
  assert.deepEqual(await generationsOf([fakeTopic('orders', [[]])]), [1, 1])
  assert.deepEqual(await generationsOf([]), [2, 2])
})

test('without a lease warns how long a prune leaves its generation alone, and how to hold that one', async () => {
  for (const [there, generation] of [
    [[fakeTopic('orders', [[]])], 1],
    [[], 2],
  ] as const) {
    const { plan } = await findBegun([...there], {}, async () => {}, false, 'no lease can be written at /b: read-only')
    const found = plan.warnings.filter(one => one.startsWith('no lease can be written at /b: read-only. '))
    assert.equal(found.length, 1)
    assert.match(found[0] ?? '', /`retention\.grace` \(24h by default\) after a newer generation was committed/)
    assert.match(found[0] ?? '', new RegExp(`kafka-backup hold --backup-id \\w+ --generation ${generation}`))
    const leased = await findBegun([...there])
    assert.ok(!leased.plan.warnings.some(one => one.includes('lease')))
  }
})

test('continues although a newer generation does not fit the job', async () => {
  const began = [fakeTopic('orders', [[]])]
  const named = { topics: { include: ['orders'], exclude: [] } }
  assert.deepEqual(await generationsOf(began, named, true), [1, 1])
  await assert.rejects(generationsOf([], named, true), { code: 'RESTORE_REFUSED' })
})

test('continues although the point in time selects no generation any more', async () => {
  const early = { asOfMs: BigInt(Date.parse('2026-01-01T00:00:00.000Z')) }
  assert.deepEqual(await generationsOf([fakeTopic('orders', [[]])], early), [1, 1])
})

test('selects the state of a point in time, and continues with the generation that a restore began with', async () => {
  const began = [fakeTopic('orders', [[]])]
  const at = (time: string) => ({ asOfMs: BigInt(Date.parse(time)) })
  assert.deepEqual(await generationsOf([], at('2026-01-02T03:59:59.999Z')), [1, 1])
  assert.deepEqual(await generationsOf([], at('2026-01-02T04:00:00.000Z')), [2, 2])
  assert.deepEqual(await generationsOf(began, at('2026-01-02T04:00:00.000Z')), [1, 1])
  await assert.rejects(generationsOf([], at('2026-01-01T00:00:00.000Z')), { code: 'GENERATION_NOT_FOUND' })
})

const newestKey = manifestKey('b1', 2)

/** Ways in which a store can lose the newest manifest. */
const damages: Record<string, (storage: Storage) => Promise<void>> = {
  torn: async storage => storage.replace(newestKey, (await storage.read(newestKey, never)).subarray(0, 200), never),
  empty: storage => storage.replace(newestKey, Buffer.alloc(0), never),
  flipped: async storage => {
    const bytes = Buffer.from(await storage.read(newestKey, never))
    bytes.writeUInt8(0xff, 1)
    await storage.replace(newestKey, bytes, never)
  },
  missing: storage => storage.remove(newestKey, never),
}

for (const [name, damage] of Object.entries(damages)) {
  test(`restores an intact earlier generation while the newest manifest is ${name}`, async () => {
    const asOfMs = BigInt(Date.parse('2026-01-02T03:59:59.999Z'))
    for (const choice of [{ generation: 1 }, ...(name === 'missing' ? [{ asOfMs }] : [])]) {
      const { manifest, plan } = await findBegun([], choice, damage)
      assert.deepEqual([manifest.generation, plan.generation, plan.notice], [1, 1, undefined])
    }
    if (name === 'missing') return
    await assert.rejects(findBegun([], {}, damage), { code: 'ARCHIVE_DAMAGED' })
    await assert.rejects(findBegun([], { generation: 2 }, damage), { code: 'ARCHIVE_DAMAGED' })
  })

  test(`continues a restore while the newest manifest is ${name}, and states that it cannot be read`, async () => {
    const { plan } = await findBegun([fakeTopic('orders', [[]])], {}, damage)
    assert.equal(plan.generation, 1)
    if (name === 'missing') return assert.equal(plan.notice, undefined)
    const notice =
      /^it continues with generation 1, with which it began; the one that it would select now cannot be read: /
    assert.match(plan.notice ?? '', notice)
    assert.match(plan.notice ?? '', new RegExp(newestKey))
    assert.ok(plan.warnings.includes(plan.notice ?? ''))
  })
}

test('two points in time are two restores, also where they select the same generation', async () => {
  const manifest = await storePartitions(openMemoryStorage(), [[[encodeRun(0n, 3)]]], false)
  const idOf = (asOfMs?: bigint) =>
    deriveRestoreId(planRestore(manifest, { ...plainOptions(), ...(asOfMs !== undefined && { asOfMs }) }), 'c')
  assert.equal(new Set([idOf(), idOf(1n), idOf(2n)]).size, 3)
})

test('names the generations of a backup and both ways to select one if the requested generation does not exist', async () => {
  const storage = openMemoryStorage()
  const newest = await storePartitions(storage, [[[encodeRun(0n, 3)]]], false)
  await assert.rejects(readSelected(storage, newest.backup_id, { generation: 9 }, never), {
    code: 'RESTORE_REFUSED',
    message: `the backup ${newest.backup_id} has no generation 9; its newest is 1`,
    help: 'It has generation 1 only; correct `restore.generation` of the job, or `--generation`.',
  })
})
