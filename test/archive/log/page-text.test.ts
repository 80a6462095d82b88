import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { hashOf } from '../../../src/archive/hash.ts'
import { nameDocument } from '../../../src/archive/log/document.ts'
import { type PageText, readPageText, segmentsAt } from '../../../src/archive/log/page-text.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const segment = ['b/kafka/orders/0/x.log', 0, 0, 1, 1, 'A'.repeat(43), 0, 5, 1, 1, 1, 0, null, null]
const facts = { format: 'kafka-backup-page', format_version: 2, backup_id: 'b', packs: [] }

/** Stores a line of text as a page, with the hash that it needs, and reads it. */
async function readText(line: string): Promise<PageText> {
  const storage = openMemoryStorage()
  const bytes = zstdCompressSync(Buffer.from(`${line}\n${hashOf(Buffer.from(line))}\n`))
  await storage.create('b/page', bytes, signal)
  return readPageText(storage, 'b', { ...nameDocument('b/page', bytes), first: 'a/0', last: 'z/9' }, signal)
}

const readPage = (page: object) => readText(JSON.stringify(page))

function assertDamaged(problem: RegExp): (error: unknown) => boolean {
  return error => {
    assert.ok(error instanceof KafkaBackupError, String(error))
    assert.equal(error.code, 'ARCHIVE_DAMAGED')
    assert.match(error.message, problem)
    return true
  }
}

describe('a page', () => {
  test('has the segments of its lists, in any order of its fields and with spaces', async () => {
    const lists = [
      ['a/0', [segment]],
      ['b/0', []],
      ['c/0', [segment, segment]],
    ]
    const spaced = JSON.stringify({ lists, ...facts }, undefined, 1).replaceAll('\n', ' ')
    for (const page of [await readPage({ ...facts, lists }), await readText(spaced)]) {
      assert.deepEqual(page.names, ['a/0', 'b/0', 'c/0'])
      assert.deepEqual(
        page.names.map((_, place) => segmentsAt(page, place).map(one => one.start_offset)),
        [[5n], [], [5n, 5n]],
      )
    }
  })

  test('keeps all digits of offsets beyond 2^53, also of rolled-back transactions', async () => {
    const first = 2n ** 62n + 1n
    const line = (offset: string, extras: string) => {
      const row = JSON.stringify(segment.toSpliced(7, 1, 'OFFSET')).replace('"OFFSET"', offset)
      return JSON.stringify({ ...facts, lists: [['a/0', []]] }).replace('[]]]', `[${row.slice(0, -1)}${extras}]]]]`)
    }
    const aborted = `,{"aborted":[{"producer_id":1,"first_offset":${first},"last_offset":${first + 2n}}]}`
    const [far] = segmentsAt(await readText(line(String(first), '')), 0)
    assert.equal(far?.start_offset, first)
    assert.equal(far?.end_offset, first + 1n)
    const [rolledBack] = segmentsAt(await readText(line('5', aborted)), 0)
    assert.deepEqual(rolledBack?.aborted, [{ producer_id: 1n, first_offset: first, last_offset: first + 2n }])
  })

  test('does not keep the memory of a larger one', async () => {
    const many = Array.from({ length: 500 }, (_, i) => [`a/${1000 + i}`, [segment]])
    const { text } = await readPage({ ...facts, lists: many })
    assert.ok(text.buffer.byteLength < 2 * text.length, `${text.buffer.byteLength} bytes for ${text.length}`)
  })

  const damaged: [name: string, page: object, problem: RegExp][] = [
    ['without lists', facts, /lists/],
    ['of another backup', { ...facts, backup_id: 'c', lists: [] }, /belongs to backup `c`/],
    ['with another field', { ...facts, lists: [], more: 1 }, /more/],
    ['whose lists are an object', { ...facts, lists: { a: 1 } }, /is not JSON/],
    ['with a list that is no array', { ...facts, lists: ['a/0'] }, /is not JSON/],
    ['with a list without segments', { ...facts, lists: [['a/0']] }, /not a list with its segments/],
    ['with a list of three items', { ...facts, lists: [['a/0', [], 1]] }, /not a list with its segments/],
    ['with a list that has a number as its name', { ...facts, lists: [[5, []]] }, /not a list with its segments/],
    ['with a name that no list has', { ...facts, lists: [['a', []]] }, /not a list with its segments/],
    [
      'with lists out of order',
      {
        ...facts,
        lists: [
          ['b/0', []],
          ['a/0', []],
        ],
      },
      /a\/0 is out of order/,
    ],
    [
      'with a list twice',
      {
        ...facts,
        lists: [
          ['b/0', []],
          ['b/0', []],
        ],
      },
      /b\/0 is out of order/,
    ],
    ['with a list behind its last one', { ...facts, lists: [['zz/0', []]] }, /zz\/0 is out of order/],
  ]
  for (const [name, page, problem] of damaged) {
    test(`${name} is damaged`, () => assert.rejects(readPage(page), assertDamaged(problem)))
  }

  test('of a newer version is refused as such', async () => {
    await assert.rejects(readPage({ ...facts, format_version: 3, lists: [] }), { code: 'ARCHIVE_TOO_NEW' })
  })

  const rows: [name: string, rows: string, problem: RegExp][] = [
    ['a segment that lacks a column', JSON.stringify([segment.slice(1)]), /a\/0 has a segment without its columns/],
    ['segments that are an object', '{}', /a\/0 has a segment without its columns/],
    ['segments that are not JSON', '[01]', /is not JSON/],
    ['brackets that do not fit', '[{]]', /is not JSON/],
  ]
  for (const [name, text, problem] of rows) {
    test(`with ${name} is damaged where they are read`, async () => {
      const line = JSON.stringify({ ...facts, lists: [['a/0', 'ROWS']] }).replace('"ROWS"', text)
      const page = await readText(line)
      assert.throws(() => segmentsAt(page, 0), assertDamaged(problem))
    })
  }
})
