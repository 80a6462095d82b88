import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CatQuery, newTally } from '../../src/inspect/cat.ts'
import { type CatRequest, catAt } from '../../src/jobs/inspect.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { storeGenerations } from '../archive/generation-samples.ts'
import { never, storePartitions } from '../archive/sample-archive.ts'
import { encryptEverything } from '../encryption/samples.ts'
import { encodeBatch } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { collect } from './collect.ts'

const HOUR_MS = 3_600_000
const START_MS = 1_700_000_000_000

/** Four segments of two records each, an hour apart; keys and headers have the number of their segment. */
const segments = [0, 1, 2, 3].map(number => [
  encodeBatch({
    ...{ baseOffset: BigInt(2 * number), baseTimestamp: BigInt(START_MS + number * HOUR_MS), codec: 'zstd' },
    records: ['a', 'b'].map(letter => ({
      ...{ key: Buffer.from(`${letter}${number}`), value: Buffer.from(`value ${letter}`) },
      headers: [['segment', Buffer.from(String(number))]] as [string, Buffer][],
    })),
  }),
])

interface Asked extends Partial<Omit<CatQuery, 'extent'>>, Partial<CatQuery['extent']> {
  generation?: number
  asOfMs?: bigint
}

/** What was found, the numbers of the segments that were read for it, and how often. */
async function read(storage: Storage, asked: Asked, more: Partial<CatRequest> = {}) {
  const { offsets = {}, times = {}, withAborted = false, generation, asOfMs, ...changes } = asked
  const requests: string[] = []
  const watched: Storage = Object.create(storage, {
    readRange: {
      value: (key: string, ...rest: [number, number, AbortSignal]) => {
        requests.push(key)
        return storage.readRange(key, ...rest)
      },
    },
  })
  const query: CatQuery = {
    ...{ topic: 'orders', headers: [], keyAs: 'auto', valueAs: 'auto', ...changes },
    extent: { offsets, times, withAborted },
  }
  const shown = await catAt(watched, 'b1', { query, generation, asOfMs, ...more }, never, collect)
  const found = shown.map(({ record }) => record.key?.toString() ?? String(record.offset))
  return { found, segments: requests.map(key => key.replace(/^.*\/(\d)\.log$/, '$1')) }
}

for (const [what, open] of [
  ['a plain', openMemoryStorage],
  ['an encrypted', () => encryptEverything(openMemoryStorage())],
] as const) {
  describe(`of ${what} backup, one request is sent for each segment that is needed, and none for others`, () => {
    const storage = open()
    const stored = storePartitions(storage, [segments], false)
    const at = (hours: number) => BigInt(START_MS + hours * HOUR_MS)
    const cases: [string, Asked, { found: string[]; segments: string[] }][] = [
      ['by offsets', { offsets: { start: 3n, end: 5n } }, { found: ['b1', 'a2'], segments: ['1', '2'] }],
      ['by time', { times: { start: at(2) } }, { found: ['a2', 'b2', 'a3', 'b3'], segments: ['2', '3'] }],
      ['by a time after all', { times: { start: at(4) } }, { found: [], segments: [] }],
      ['the newest', { newest: 3 }, { found: ['b2', 'a3', 'b3'], segments: ['3', '2'] }],
      ['the newest with a key', { newest: 1, key: 'b1' }, { found: ['b1'], segments: ['3', '2', '1'] }],
      ['up to a limit', { limit: 3 }, { found: ['a0', 'b0', 'a1'], segments: ['0', '1'] }],
      [
        'up to a limit by a header and a key',
        { limit: 1, headers: [{ name: 'segment', value: '1' }], keyPrefix: 'b' },
        { found: ['b1'], segments: ['0', '1'] },
      ],
    ]
    for (const [name, asked, expected] of cases) {
      test(name, async () => {
        await stored
        assert.deepEqual(await read(storage, asked), expected)
      })
    }
  })
}

test('markers are found by time, although they are later than all records of their segment', async () => {
  const storage = openMemoryStorage()
  const at = { baseTimestamp: BigInt(START_MS), producerId: 7n, transactional: true }
  const marker = { key: Buffer.from([0, 0, 0, 1]), value: Buffer.alloc(6) }
  const batches = [
    encodeBatch({ ...at, records: [{ value: Buffer.from('paid') }] }),
    encodeBatch({ ...at, baseOffset: 1n, baseTimestamp: BigInt(START_MS + 1), control: true, records: [marker] }),
  ]
  await storePartitions(storage, [[batches]], false)
  const times = { start: BigInt(START_MS + 1) }
  assert.deepEqual((await read(storage, { times, withAborted: true })).segments, ['0'])
  assert.deepEqual((await read(storage, { times })).segments, [])
})

test('a segment without markers is not read for its time', async () => {
  const storage = openMemoryStorage()
  await storePartitions(storage, [segments], false)
  const times = { start: BigInt(START_MS + 3 * HOUR_MS) }
  assert.deepEqual((await read(storage, { times, withAborted: true })).segments, ['3'])
})

/** Offsets are outside the checksum. */
async function storeWithDamage(bases: readonly bigint[], { at, to }: { at: number; to: bigint }): Promise<Storage> {
  const storage = openMemoryStorage()
  // Several pieces. The damaged batch may be the last one of a piece, or the last one before the end.
  const batches = bases.map(baseOffset => {
    const records = Array.from({ length: 16 }, () => ({ value: Buffer.alloc(25_000) }))
    return encodeBatch({ baseOffset, records })
  })
  await storePartitions(storage, [[batches]], false)
  const stored = Buffer.concat(batches)
  stored.writeBigInt64BE(to, at * (batches[0]?.length ?? 0))
  await storage.replace('b1/kafka/orders/0/0.log', stored, never)
  return storage
}

test('an offset that is damaged is found, although it is after the end of what is asked for', async () => {
  const bases = Array.from({ length: 20 }, (_, i) => BigInt(16 * i))
  for (const at of bases.slice(0, 10).keys()) {
    const storage = await storeWithDamage(bases, { at, to: 288n })
    await assert.rejects(read(storage, { offsets: { end: 160n } }), {
      code: 'ARCHIVE_DAMAGED',
      message: /the batch at offset \d+ cannot be there/,
    })
  }
})

test('an offset that is damaged inside a gap of a compacted topic is found', async () => {
  const bases = [0n, 50n, 100n, ...Array.from({ length: 20 }, (_, i) => BigInt(500 + 16 * i))]
  for (const [to, offsets] of [
    [300n, { end: 120n }],
    [70n, { start: 90n, end: 120n }],
  ] as const) {
    const storage = await storeWithDamage(bases, { at: 2, to })
    await assert.rejects(read(storage, { offsets }), { code: 'ARCHIVE_DAMAGED' })
  }
})

/** Each generation has two records more in each topic, an hour after the one before. */
async function storeStates(logFrom?: number) {
  const storage = openMemoryStorage()
  const states = [1, 2, 3].map(hour => ({
    ...{ created_at: `2026-01-01T0${hour}:00:00.000Z`, records: 2 },
    topics: ['orders', 'orders-eu', 'payments'],
  }))
  await storeGenerations(storage, states, logFrom)
  return storage
}

for (const [what, logFrom] of [
  ['a backup', undefined],
  ['a continuous backup', 1],
] as const) {
  test(`records of ${what} are read at a generation or at a time, with all conditions`, async () => {
    const storage = await storeStates(logFrom)
    const count = async (asked: Asked) => (await read(storage, asked)).found.length
    assert.deepEqual([await count({}), await count({ generation: 1 }), await count({ generation: 2 })], [6, 2, 4])
    const asOf = (time: string) => ({ asOfMs: BigInt(Date.parse(`2026-01-01T${time}Z`)) })
    assert.deepEqual([await count(asOf('01:59:59')), await count(asOf('02:00:00'))], [2, 4])
    assert.deepEqual((await read(storage, { generation: 2, newest: 1 })).found, ['3'])
    assert.equal(await count({ generation: 2, text: 'value' }), 4)
    assert.equal(await count({ generation: 2, key: 'absent' }), 0)
    assert.equal(await count({ generation: 2, headers: [{ name: 'trace' }] }), 0)
    await assert.rejects(count(asOf('00:59:59')), { code: 'GENERATION_NOT_FOUND' })
    await assert.rejects(count({ generation: 9 }), { code: 'GENERATION_NOT_FOUND' })
  })
}

test('topics are searched by a pattern, with counts for each and progress to the end', async () => {
  const storage = await storeStates()
  const tally = newTally()
  const seen: unknown[] = []
  const request = { tally, onProgress: (event: unknown) => void seen.push(event) }
  await read(storage, { topic: 'orders*', text: 'value' }, request)
  const counts = { searched: 6, matched: 6 }
  assert.deepEqual(
    [...tally.topics],
    [
      ['orders', counts],
      ['orders-eu', counts],
    ],
  )
  const last = seen.at(-1) as { type: string; objects: number; bytes: number; totalObjects: number; totalBytes: number }
  assert.deepEqual([last.type, last.objects, last.totalObjects], ['checked', 6, 6])
  assert.ok(last.bytes === last.totalBytes && last.bytes > 0)
  assert.ok(seen.length >= 6, `${seen.length} reports`)
})
