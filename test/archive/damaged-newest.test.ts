import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listGenerations } from '../../src/archive/catalog.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { diffGenerations } from '../../src/archive/diff-generations.ts'
import { listGenerationsOf } from '../../src/archive/generations.ts'
import { manifestKey } from '../../src/archive/layout.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import { openSelected } from '../../src/archive/select-generation.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { keyOf, ownKeys } from '../encryption/samples.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { storeGenerations } from './generation-samples.ts'
import { never } from './sample-archive.ts'

const timeOf = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString()
const asOfMs = BigInt(Date.UTC(2026, 0, 2, 3, 2))

const damages: Record<string, (bytes: Buffer) => Buffer> = {
  torn: bytes => bytes.subarray(0, bytes.length - 30),
  'cut to its beginning': bytes => bytes.subarray(0, 20),
  empty: () => Buffer.alloc(0),
  flipped: bytes => Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 0xff : byte))),
}

const objects = {
  'the newest manifest of version 1': { logFrom: undefined, key: manifestKey('b1', 4), unreadable: [4] },
  'the newest commit of version 2': { logFrom: 1, key: commitKey('b1', 4), unreadable: [4] },
  'the marker of version 2': { logFrom: 2, key: manifestKey('b1', 2), unreadable: [] },
}

for (const [what, { logFrom, key, unreadable }] of Object.entries(objects)) {
  describe(`a backup in which ${what} is damaged`, () => {
    for (const [name, damage] of Object.entries(damages)) {
      for (const isEncrypted of [false, true]) {
        test(`opens every other generation: ${name}${isEncrypted ? ', encrypted' : ''}`, async () => {
          const inner = openMemoryStorage()
          const open = (): Storage => (isEncrypted ? withEncryption(inner, ownKeys([keyOf(1)])) : inner)
          const minutes = [1, 2, 3, 4]
          await storeGenerations(
            open(),
            minutes.map(minute => ({ created_at: timeOf(minute) })),
            logFrom,
          )
          inner.objects.set(key, damage(await inner.read(key, never)))
          const storage = open()
          for (const [choice, generation] of [
            [{ generation: 1 }, 1],
            [{ generation: 3 }, 3],
            [{ asOfMs }, 2],
          ] as const) {
            assert.equal((await openSelected(storage, 'b1', choice, never)).generation, generation)
            const description = await describeBackup(storage, 'b1', choice, never)
            assert.deepEqual([description.generation, description.totals.records], [generation, generation])
            const report = await verifyBackup(storage, 'b1', { ...choice, deep: false, onProgress: () => {} }, never)
            assert.deepEqual([report.generation, report.ok], [generation, true])
          }
          assert.deepEqual((await diffGenerations(storage, 'b1', { from: 1, to: 3 }, never)).to.records, 3)
          assert.deepEqual(await listGenerations(storage, 'b1', never), minutes)
          const { generations } = await listGenerationsOf(storage, 'b1', { limit: 10 }, never)
          const broken = generations.filter(one => 'error' in one).map(one => one.generation)
          assert.deepEqual([generations.length, broken], [4, unreadable])
        })
      }
    }
  })
}
