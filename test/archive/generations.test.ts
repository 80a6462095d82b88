import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type GenerationSummary, listGenerationsOf } from '../../src/archive/generations.ts'
import { createHold } from '../../src/archive/holds.ts'
import { commitKey } from '../../src/archive/log/keys.ts'
import { hasCode } from '../../src/errors.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type SampleGeneration, storeGenerations } from './generation-samples.ts'
import { never } from './sample-archive.ts'

const timeOf = (minute: number) => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString()
const samples: SampleGeneration[] = Array.from({ length: 12 }, (_, at) => ({
  created_at: timeOf(at),
  complete: at % 3 !== 2,
  records: at + 1,
}))
const versions = { 'version 1': undefined, 'version 2': 1, 'both versions': 6 }

function shortOf(one: GenerationSummary) {
  return 'error' in one ? { ...one } : [one.generation, one.created_at, one.complete, one.records, one.segments]
}

for (const [name, logFrom] of Object.entries(versions)) {
  describe(`a backup of ${name}`, () => {
    test('lists its newest generations first, with what each holds', async () => {
      const storage = openMemoryStorage()
      await storeGenerations(storage, samples, logFrom)
      const all = samples.map((one, at) => {
        const generation = at + 1
        return [generation, one.created_at, one.complete, (generation * (generation + 1)) / 2, generation]
      })
      for (const limit of [1, 5, 11, 12, 100]) {
        const { generations, more, backup_id } = await listGenerationsOf(storage, 'b1', { limit }, never)
        assert.deepEqual(generations.map(shortOf), all.slice(-limit).reverse(), `limit ${limit}`)
        assert.deepEqual([more, backup_id], [limit < all.length, 'b1'])
      }
    })

    test('lists held generations also behind the limit', async () => {
      const storage = openMemoryStorage()
      await storeGenerations(storage, samples, logFrom)
      const facts = { created_at: timeOf(20), host: 'h', tool_version: '0', reason: 'audit' }
      for (const generation of [2, 7, 11, 99]) {
        const hold = { format: 'kafka-backup-hold', format_version: 1, backup_id: 'b1', generation, ...facts } as const
        await createHold(storage, hold, never)
      }
      const rowsOf = async (limit: number) => {
        const { generations, more } = await listGenerationsOf(storage, 'b1', { limit }, never)
        return { rows: generations.map(one => [one.generation, one.hold?.reason, 'error' in one]), more }
      }
      const [twelve, held] = [[12, undefined, false], [11, 7, 2].map(one => [one, 'audit', false])]
      assert.deepEqual(await rowsOf(1), { rows: [twelve, ...held], more: true })
      assert.equal((await rowsOf(12)).more, false)
      assert.equal((await rowsOf(12)).rows.length, 12)
    })
  })
}

test('a damaged generation is one row with its error, and the generations after it are listed', async () => {
  const storage = openMemoryStorage()
  await storeGenerations(storage, samples.slice(0, 6), 3)
  await storage.replace(commitKey('b1', 5), Buffer.from('nothing'), never)
  await storage.replace('b1/manifests/00000001.json', Buffer.from('{'), never)
  // Opens by the checkpoint and the commits before it, of which one is damaged.
  const { generations } = await listGenerationsOf(storage, 'b1', { limit: 10 }, never)
  const codes = generations.map(one => ('error' in one ? `${one.generation} ${one.code}` : one.generation))
  assert.deepEqual(codes, ['6 ARCHIVE_DAMAGED', '5 ARCHIVE_DAMAGED', 4, 3, 2, '1 ARCHIVE_DAMAGED'])
})

test('reads one commit for each generation behind the first', async () => {
  const storage = openMemoryStorage()
  await storeGenerations(storage, samples, 1)
  const reads: string[] = []
  const counted = new Proxy(storage, {
    get: (target, name) =>
      name === 'read'
        ? (key: string, signal: AbortSignal) => {
            reads.push(key)
            return target.read(key, signal)
          }
        : (Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)),
  })
  await listGenerationsOf(counted, 'b1', { limit: 3 }, never)
  const commits = reads.filter(key => key.includes('/commits/'))
  // 10 is opened with its roll-up of 1 to 8 and the commit of 9; 11 and 12 cost their commits.
  assert.deepEqual(new Set(commits), new Set([9, 10, 11, 12].map(one => commitKey('b1', one))))
  assert.ok(reads.length <= 8, reads.join(' '))
})

test('a backup that is not there is named', async () => {
  await assert.rejects(listGenerationsOf(openMemoryStorage(), 'b1', { limit: 1 }, never), error =>
    hasCode(error, 'BACKUP_NOT_FOUND'),
  )
})
