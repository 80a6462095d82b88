import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { KafkaBackupError } from '../../src/errors.ts'
import { listAgain, type Next } from '../../src/storage/retrying.ts'

const ordered = Array.from({ length: 12_000 }, (_, i) => `b/${String(i).padStart(8, '0')}`)
const reversed = ordered.toReversed()
const away = () => new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store is away')

/** Listings that break off after so many keys, each begun anew by the next; the last one ends well. */
function breakingOff(listings: readonly (readonly string[])[], afterKeys: number): () => AsyncIterable<string> {
  let opened = 0
  return async function* () {
    const number = opened++
    const keys = listings[Math.min(number, listings.length - 1)] ?? []
    for (const [at, key] of keys.entries()) {
      if (number < listings.length - 1 && at === afterKeys * (number + 1)) throw away()
      yield key
    }
  }
}

const thrice: Next = async call => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}

async function collect(open: () => AsyncIterable<string>): Promise<string[]> {
  const keys: string[] = []
  for await (const key of listAgain(open, one => one, thrice)) keys.push(key)
  return keys
}

test('a long listing that breaks off yields every key once, whether the store lists in order or not', async () => {
  for (const keys of [ordered, reversed]) {
    for (const afterKeys of [3, 5_000, 10_001]) {
      assert.deepEqual(await collect(breakingOff([keys, keys, keys], afterKeys)), keys)
    }
  }
})

test('a listing that was in order, then was not, and breaks off is an error and loses nothing in silence', async () => {
  const mixed = [...ordered.slice(500), ...ordered.slice(0, 500)]
  assert.deepEqual(await collect(breakingOff([mixed], 0)), mixed)
  await assert.rejects(collect(breakingOff([mixed, mixed], 11_800)), { code: 'STORAGE_UNAVAILABLE' })
  await assert.rejects(collect(breakingOff([ordered, mixed], 11_000)), { code: 'STORAGE_UNAVAILABLE' })
})

test('a long listing in order does not keep its keys in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const count = 50_000
  const open = async function* () {
    for (let i = 0; i < count; i++) yield Buffer.from(`${'b'.repeat(90)}${String(i).padStart(10, '0')}`).toString()
  }
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  let [seen, grown] = [0, 0]
  for await (const _ of listAgain(open, key => key, thrice)) {
    if (++seen < count) continue
    collectGarbage()
    grown = process.memoryUsage().heapUsed - before
  }
  assert.equal(seen, count)
  assert.ok(grown < 3_000_000, `${grown} bytes`)
})
