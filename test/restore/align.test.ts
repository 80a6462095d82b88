import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaRecord } from '../../src/batch/records.ts'
import { type AlignOptions, alignRecords } from '../../src/restore/align.ts'
import { sizeOfRecord } from '../../src/restore/difference.ts'
import { Lookahead } from '../../src/restore/lookahead.ts'

const never = new AbortController().signal

function record(offset: number, value: string | null, changes: Partial<KafkaRecord> = {}): KafkaRecord {
  const timestamp = 1_700_000_000_000n
  return {
    offset: BigInt(offset),
    timestamp,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: [],
    ...changes,
  }
}

/** One record for each letter, with the offsets 100, 101, … */
const letters = (text: string, from = 100) => [...text].map((letter, i) => record(from + i, letter))

async function* inBlocks<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}

async function align(expected: KafkaRecord[], actual: KafkaRecord[], options: Partial<AlignOptions> = {}) {
  const [ours, theirs] = [
    new Lookahead(inBlocks(expected, 3), sizeOfRecord),
    new Lookahead(inBlocks(actual, 5), sizeOfRecord),
  ]
  return alignRecords(ours, theirs, { maxDifferences: 10, ...options }, never)
}

/** `kind source>target` of each. */
async function kinds(expected: string, actual: string): Promise<string[]> {
  const { differences } = await align(letters(expected), letters(actual, 0))
  return differences.map(({ kind, sourceOffset = '', targetOffset = '' }) => `${kind} ${sourceOffset}>${targetOffset}`)
}

describe('records are lined up again after a difference', () => {
  test('equal lists have none', async () => {
    const found = await align(letters('abcdefgh'), letters('abcdefgh', 0))
    assert.deepEqual(found, { records: 8, removed: 0, differences: [], isCut: false })
  })

  test('one that is missing is one difference, wherever it is', async () => {
    assert.deepEqual(await kinds('abcdef', 'bcdef'), ['missing 100>'])
    assert.deepEqual(await kinds('abcdef', 'abdef'), ['missing 102>'])
    assert.deepEqual(await kinds('abcdef', 'abcde'), ['missing 105>'])
    assert.deepEqual(await kinds('abcdef', 'abf'), ['missing 102>', 'missing 103>', 'missing 104>'])
    assert.deepEqual(await kinds('ab', ''), ['missing 100>', 'missing 101>'])
  })

  test('one too many is one difference, wherever it is', async () => {
    assert.deepEqual(await kinds('abc', 'xabc'), ['extra >0'])
    assert.deepEqual(await kinds('abc', 'abxc'), ['extra >2'])
    assert.deepEqual(await kinds('abc', 'abcx'), ['extra >3'])
    assert.deepEqual(await kinds('abc', 'abbc'), ['extra >2'], 'written twice')
    assert.deepEqual(await kinds('', 'a'), ['extra >0'])
  })

  test('a changed one is one difference, wherever it is', async () => {
    assert.deepEqual(await kinds('abcdef', 'xbcdef'), ['different 100>0'])
    assert.deepEqual(await kinds('abcdef', 'abcxef'), ['different 103>3'])
    assert.deepEqual(await kinds('abcdef', 'abcdex'), ['different 105>5'])
    assert.deepEqual(await kinds('a', 'x'), ['different 100>0'])
  })

  test('several of several kinds are told apart', async () => {
    assert.deepEqual(await kinds('abcdefghij', 'xbdefgyhij'), ['different 100>0', 'missing 102>', 'extra >6'])
    assert.deepEqual(await kinds('abcdef', 'bacdef'), ['missing 100>', 'extra >1'], 'two in another order')
  })

  test('a missing stretch longer than any window ends at the first differences', async () => {
    const many = Array.from({ length: 500 }, (_, i) => record(i, `v${i}`))
    const found = await align(many, many.slice(300))
    assert.equal(found.isCut, true)
    assert.equal(found.differences.length, 10)
  })

  test('ends at as many differences as are wanted', async () => {
    const found = await align(letters('abcdef'), letters('uvwxyz', 0), { maxDifferences: 2 })
    assert.deepEqual([found.differences.length, found.isCut], [2, true])
  })
})

describe('a difference says what differs', () => {
  const only = async (ours: KafkaRecord, theirs: KafkaRecord) => (await align([ours], [theirs])).differences[0]

  test('key, value, headers or timestamp', async () => {
    const plain = record(7, 'value')
    const changes: [string, Partial<KafkaRecord>][] = [
      ['key', { key: Buffer.alloc(0) }],
      ['value', { value: null }],
      ['headers', { headers: [['a', null]] }],
      ['timestamp', { timestamp: 5n }],
    ]
    for (const [field, change] of changes) {
      assert.deepEqual((await only(plain, { ...plain, ...change }))?.fields, [field])
    }
    assert.deepEqual((await only(plain, record(7, 'x', { timestamp: 5n })))?.fields, ['value', 'timestamp'])
  })

  test('headers count with their order, their doubles and their nulls', async () => {
    const a: [string, Buffer | null][] = [
      ['a', Buffer.from('1')],
      ['a', Buffer.from('2')],
      ['b', null],
    ]
    const same = async (headers: [string, Buffer | null][]) =>
      (await only(record(0, 'v', { headers: a }), record(0, 'v', { headers }))) === undefined
    assert.equal(await same(a.map(([name, value]) => [name, value && Buffer.from(value)])), true)
    assert.equal(await same(a.toReversed()), false)
    assert.equal(await same(a.slice(1)), false)
    assert.equal(await same(a.with(2, ['b', Buffer.alloc(0)])), false)
  })

  test('in at most 40 bytes of either, around the place where they part', async () => {
    const value = `${'x'.repeat(1000)}A${'secret '.repeat(100)}`
    const found = await only(record(0, value), record(0, value.replace('A', 'B')))
    assert.equal(found?.expected, '(992 bytes) … "xxxxxxxxAsecret secret secret secret sec" … (669 bytes)')
    assert.equal(found?.actual, '(992 bytes) … "xxxxxxxxBsecret secret secret secret sec" … (669 bytes)')
    const binary = await only(record(0, '\u0000\u0001'), record(0, null))
    assert.deepEqual([binary?.expected, binary?.actual], ['0x0001', 'null'])
  })
})

describe('where compaction has been', () => {
  const kept = (...offsets: number[]) => offsets.map(offset => record(offset, 'abcdef'.charAt(offset)))

  test('a hole on the target is a record that was written and removed', async () => {
    const found = await align(letters('abcdef'), kept(1, 3, 4), { compactedEnd: 6n })
    assert.deepEqual(found, { records: 3, removed: 3, differences: [], isCut: false })
  })

  test('one too many is one difference, although all behind it lie further on', async () => {
    const found = await align(letters('abcdef'), letters('abxcdef', 0), { compactedEnd: 7n })
    assert.deepEqual([found.records, found.removed, found.differences.map(({ kind }) => kind)], [6, 0, ['extra']])
  })

  test('what lies beyond the end of the log is missing, and what was changed is different', async () => {
    const found = await align(letters('abcdef'), [record(1, 'x')], { compactedEnd: 4n })
    assert.deepEqual(
      [found.removed, found.differences.map(({ kind }) => kind)],
      [3, ['different', 'missing', 'missing']],
    )
  })
})

test('no more is held to look ahead than some megabytes, however large the records are', async () => {
  let made = 0
  async function* large(): AsyncGenerator<KafkaRecord[]> {
    for (; made < 100; made++) yield [record(made, `${made} ${'x'.repeat(1 << 20)}`)]
  }
  const ahead = new Lookahead(large(), sizeOfRecord)
  await ahead.fill(64)
  assert.ok(ahead.length >= 1 && ahead.length <= 5, `${ahead.length} records`)
  ahead.drop(ahead.length)
  await ahead.fill(1)
  assert.equal(ahead.length, 1)
  assert.equal(ahead.isEnd(1), false)
  const small = new Lookahead(inBlocks(letters('ab'), 1), sizeOfRecord)
  await small.fill(64)
  assert.deepEqual([small.length, small.isEnd(1), small.isEnd(2)], [2, false, true])
})
