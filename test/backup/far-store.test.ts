import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import type { BackupParts } from '../../src/backup/round.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { ObjectWriter, Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
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

async function backUp(storage: Storage, more: Partial<BackupParts> = {}) {
  const fake = await startFakeCluster([fakeTopic('orders', [[encodeRun(0n, 3)], [encodeRun(0n, 5)]])])
  try {
    const cluster = await fake.open()
    const names = { newRun: () => 'r1', toolVersion: '0', onProgress: () => undefined }
    const parts = { cluster, storage, clock: new QuietClock(), ...names, readGroups, ...more }
    return await runBackup(options, parts, never)
  } finally {
    await fake.close()
  }
}

const SEGMENT = /\.log(\.zst)?$/
const INDEX = /\/index-/
const GROUPS = /\/groups-/
const MANIFEST = /\/manifests\//
const COPY = /\/manifest\.json$/

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

  test('hands the copy of the manifest to a caller that waits for it', async () => {
    const near = openMemoryStorage()
    const done = Promise.withResolvers<void>()
    const { storage } = gated(near, async key => {
      if (COPY.test(key)) await done.promise
    })
    const copying: Promise<void>[] = []
    const { manifest } = await backUp(storage, { onCopying: one => void copying.push(one) })
    assert.deepEqual([manifest.generation, copying.length, near.objects.has('b1/manifest.json')], [1, 1, false])
    done.resolve()
    await copying[0]
    assert.equal(near.objects.has('b1/manifest.json'), true)
  })
})
