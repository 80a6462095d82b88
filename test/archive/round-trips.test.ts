import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newestState } from '../../src/archive/catalog.ts'
import { withLease } from '../../src/archive/writer-lease.ts'
import { encodeRun } from '../fakes/batches.ts'
import { countRoundTrips, openFarStorage } from '../fakes/far-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { never, storeBackup } from './sample-archive.ts'

/** A store that is far away makes every request that follows another one cost its distance. */
describe('requests to a store that follow each other', () => {
  const open = async (hasBackup: boolean) => {
    const near = openMemoryStorage({ now: () => Date.parse('2026-01-02T03:04:05Z') })
    if (hasBackup) await storeBackup(near, [[encodeRun(0n, 3)]])
    return openFarStorage(near)
  }
  const partsOf = ({ storage, time }: Awaited<ReturnType<typeof open>>) => {
    const names = { newRun: () => 'run1', toolVersion: '0', host: 'h', pid: 1 }
    return { storage, clock: time.clock(), ...names, onProgress: () => undefined }
  }

  for (const [role, expected] of [
    ['writer', ['create b1/leases/writer-00000001.json', 'list b1/leases/', 'remove b1/leases/writer-00000001.json']],
    ['reader', ['create b1/leases/run1.json', 'remove b1/leases/run1.json']],
  ] as const) {
    test(`are ${expected.length} for the lease of a ${role} that is alone`, async () => {
      const far = await open(true)
      const claim = { backupId: 'b1', role, kind: 'backup' }
      const { roundTrips } = await countRoundTrips(far, () =>
        withLease(partsOf(far), claim, never, async () => undefined),
      )
      assert.deepEqual(far.requests, expected)
      assert.equal(roundTrips, expected.length)
    })
  }

  test('are two to find the newest state of a backup, and one where there is none', async () => {
    const found = await open(true)
    const { roundTrips, result } = await countRoundTrips(found, () => newestState(found.storage, 'b1', never))
    assert.equal(result.manifest?.generation, 1)
    assert.equal(roundTrips, 2)
    const none = await open(false)
    assert.equal((await countRoundTrips(none, () => newestState(none.storage, 'b1', never))).roundTrips, 1)
  })
})
