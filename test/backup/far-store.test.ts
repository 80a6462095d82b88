import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations, openBackup, readManifest } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupParts } from '../../src/backup/round.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { ReferenceReader } from '../../src/retention/reference-reader.ts'
import type { ObjectWriter, Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { HandClock } from '../retention/world.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal
const options = plainOptions({ compression: 'auto', commitIntervalMs: 3_600_000 })
const readGroups = async () => ({ groups: [], left_out: [], warnings: [] })

/** A store whose writes wait for others, and what was asked of it and done, in that order. */
function gated(near: Storage, before: (write: string) => Promise<void>) {
  const log: string[] = []
  const write = async (key: string, work: () => Promise<void>) => {
    log.push(`begin ${key}`)
    await before(key)
    await work()
    log.push(`end ${key}`)
  }
  const storage: Storage = {
    ...near,
    create: (key, body, signal) => write(key, () => near.create(key, body, signal)),
    replace: (key, body, signal) => write(key, () => near.replace(key, body, signal)),
    openWriter: async (key, signal) => {
      const writer = await near.openWriter(key, signal)
      const commit: ObjectWriter['commit'] = committing => write(key, () => writer.commit(committing))
      return { write: writer.write.bind(writer), abort: writer.abort.bind(writer), commit }
    },
  }
  const position = (event: string, key: RegExp) =>
    log.findIndex(line => line.startsWith(`${event} `) && key.test(line.slice(event.length)))
  return { storage, isBefore: (a: [string, RegExp], b: [string, RegExp]) => position(...a) < position(...b) }
}

/** Long enough for everything that does not wait for the store. */
async function turns(): Promise<void> {
  for (let i = 0; i < 10_000; i++) await new Promise(resolve => setImmediate(resolve))
}

/** No commit on the way. */
class QuietClock extends JumpingClock {
  override readonly sleep = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}

async function backUp(
  storage: Storage,
  more: Partial<BackupParts> = {},
  begin: (fake: FakeCluster) => void = () => undefined,
) {
  const fake = await startFakeCluster([fakeTopic('orders', [[encodeRun(0n, 3)], [encodeRun(0n, 5)]])])
  begin(fake)
  try {
    const cluster = await fake.open()
    const names = { newRun: () => 'r1', toolVersion: '0', onProgress: () => undefined }
    const parts = { cluster, storage, clock: new QuietClock(), ...names, readGroups, ...more }
    return await runBackup(options, parts, never)
  } finally {
    await fake.close()
  }
}

/** One partition at each of two brokers. */
async function backUpFromTwo(storage: Storage, begin: (fake: FakeCluster) => void) {
  const topic = fakeTopic('orders', [[encodeRun(0n, 3)], [encodeRun(0n, 5)]])
  for (const [i, partition] of topic.partitions.entries()) partition.leader = i
  const fake = await startFakeCluster([topic], 2)
  begin(fake)
  try {
    const names = { newRun: () => 'r1', toolVersion: '0', onProgress: () => undefined }
    return await runBackup(options, { cluster: await fake.open(), storage, clock: new QuietClock(), ...names }, never)
  } finally {
    await fake.close()
  }
}

const SEGMENT = /\.log(\.zst)?$/
const INDEX = /\/index-/
const GROUPS = /\/groups-/
const MANIFEST = /\/manifests\//

describe('a backup to a store that is far away', () => {
  test('writes indexes and groups while segments are on their way, and the manifest when all of them are durable', async () => {
    const near = openMemoryStorage()
    const indexes = new Set<string>()
    const indexed = Promise.withResolvers<void>()
    const groups = Promise.withResolvers<void>()
    const { storage, isBefore } = gated(near, async key => {
      if (INDEX.test(key) && indexes.add(key).size === 2) indexed.resolve()
      if (SEGMENT.test(key)) await Promise.race([indexed.promise, turns()])
      if (SEGMENT.test(key)) groups.resolve()
      if (GROUPS.test(key)) await Promise.race([groups.promise, turns()])
    })
    const { manifest } = await backUp(storage)
    assert.equal(manifest.generation, 1)
    assert.ok(isBefore(['begin', INDEX], ['end', SEGMENT]))
    assert.ok(isBefore(['begin', SEGMENT], ['end', GROUPS]))
    for (const needed of [INDEX, SEGMENT, GROUPS])
      assert.ok(isBefore(['end', needed], ['begin', MANIFEST]), `${needed}`)
    const report = await verifyBackup(near, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual([report.problems, report.records], [[], 8])
    assert.deepEqual([...near.objects.keys()].filter(key => INDEX.test(key)).sort(), [...indexes].sort())
  })

  test('names what became durable where an index was written for more', async () => {
    const near = openMemoryStorage()
    const { storage } = gated(near, async key => {
      if (/\/orders\/1\/.*\.log/.test(key)) throw new KafkaBackupError('STORAGE_FULL', 'full')
    })
    await assert.rejects(backUp(storage), { code: 'BACKUP_PARTIAL' })
    const { topics, complete } = await openBackup(near, 'b1', never)
    assert.deepEqual([complete, topics[0]?.partitions.map(({ records }) => records)], [false, [3, 0]])
    const report = await verifyBackup(near, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(report.problems, [])
  })

  test('writes an index again that could not be written ahead', async () => {
    const near = openMemoryStorage()
    let faults = 2
    const { storage } = gated(near, async key => {
      if (INDEX.test(key) && faults-- > 0) throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'busy')
    })
    await backUp(storage)
    const report = await verifyBackup(near, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual([report.problems, report.records], [[], 8])
  })

  test('commits nothing where the groups could not be stored', async () => {
    const near = openMemoryStorage()
    const { storage } = gated(near, async key => {
      if (GROUPS.test(key)) throw new KafkaBackupError('STORAGE_DENIED', 'groups are denied')
    })
    await assert.rejects(backUp(storage), { code: 'STORAGE_DENIED', message: /groups are denied/ })
    assert.deepEqual(
      [...near.objects.keys()].filter(key => MANIFEST.test(key)),
      [],
    )
  })

  test('stops copying at once where the groups could not be stored', async () => {
    const near = openMemoryStorage()
    const copying = Promise.withResolvers<void>()
    const { storage } = gated(near, async key => {
      if (!GROUPS.test(key)) return
      await copying.promise
      throw new KafkaBackupError('STORAGE_DENIED', 'groups are denied')
    })
    // The source never answers, so only the failure ends the copying.
    const holdFetches = ({ state }: FakeCluster) => {
      state.intercept = request => {
        if (request.key !== API.fetch) return undefined
        copying.resolve()
        return new Promise<undefined>(() => undefined)
      }
    }
    await assert.rejects(backUp(storage, {}, holdFetches), { code: 'STORAGE_DENIED', message: 'groups are denied' })
    assert.deepEqual([...near.objects.keys()], [])
  })

  test('stops copying at once where the last segment of a partition could not be stored', async () => {
    const near = openMemoryStorage()
    const { storage } = gated(near, async key => {
      if (/\/orders\/0\/.*\.log/.test(key)) throw new KafkaBackupError('STORAGE_FULL', 'full')
    })
    // The leader of the other partition never answers.
    const holdFetches = ({ state }: FakeCluster) => {
      state.intercept = (request, brokerId) =>
        request.key === API.fetch && brokerId === 1 ? new Promise<undefined>(() => undefined) : undefined
    }
    await assert.rejects(backUpFromTwo(storage, holdFetches), { code: 'STORAGE_FULL', message: 'full' })
  })

  test('fails with what failed first, although the groups could not be stored either', async () => {
    const near = openMemoryStorage()
    const failed = Promise.withResolvers<void>()
    const { storage } = gated(near, async key => {
      if (/\/orders\/1\/.*\.log/.test(key)) {
        failed.resolve()
        throw new KafkaBackupError('STORAGE_FULL', 'full')
      }
      if (!GROUPS.test(key)) return
      await failed.promise
      await turns()
      throw new KafkaBackupError('STORAGE_DENIED', 'groups are denied')
    })
    await assert.rejects(backUp(storage), { code: 'STORAGE_FULL', message: 'full' })
    assert.deepEqual(
      [...near.objects.keys()].filter(key => MANIFEST.test(key)),
      [],
    )
  })

  test('commits on the way only before the last segments are settled, and leaves no index that no manifest names', async () => {
    const near = openMemoryStorage()
    const clock = new HandClock()
    const { storage } = gated(near, async key => {
      if (!SEGMENT.test(key)) return
      // Several commit intervals pass while the segments are on their way.
      for (let i = 0; i < 5; i++) {
        clock.pass(options.commitIntervalMs + 1)
        for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
      }
    })
    await backUp(storage, { clock })
    const named = new Set<string>()
    for (const generation of await listGenerations(near, 'b1', never)) {
      const manifest = await readManifest(near, 'b1', generation, never)
      for (const key of await new ReferenceReader(near).read(manifest, never)) named.add(key)
    }
    assert.deepEqual(
      [...near.objects.keys()].filter(key => INDEX.test(key) && !named.has(key)),
      [],
    )
    const report = await verifyBackup(near, 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual([report.problems, report.records], [[], 8])
  })
})
