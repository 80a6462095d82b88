import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cutText, formatResult, MAX_RESULT_BYTES, type Result } from '../../../src/cli/result/format-result.ts'

const done: Result = {
  ok: true,
  command: 'backup',
  exit: 0,
  code: null,
  message: null,
  help: null,
  details: {},
  retryable: false,
  totals: { records: 3, backup: { records: 9_007_199_254_740_993n } },
  backup_id: 'orders',
  generation: 3,
  warnings: 0,
  gaps: 0,
  report: null,
  started_at: '2025-11-15T09:30:00.000Z',
  finished_at: '2025-11-15T09:30:01.000Z',
}

const failed = (message: string, help = 'Do this.'): Result => ({
  ...done,
  ...{ ok: false, exit: 1, code: 'KAFKA_DENIED', message, help },
})

/** What is awkward in JSON and in UTF-8: escapes, characters of one to four bytes, halves of pairs. */
const alphabet = ['a', ' ', '"', '\\', '\n', '\u0000', '\u007f', 'é', '…', '\u2028', '語', '😀', '\ud83d', '\ude00']

/** A sequence that is the same in every run. */
function openDice(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function randomText(dice: (below: number) => number, maxLength: number): string {
  return Array.from({ length: dice(maxLength) }, () => alphabet[dice(alphabet.length)]).join('')
}

describe('the line of a result', () => {
  test('is JSON with all fields, the verdict and its reason first', () => {
    const line = formatResult(failed('no'))
    assert.ok(line.startsWith('{"ok":false,"command":"backup","exit":1,"code":"KAFKA_DENIED","message":"no","help":'))
    assert.ok(line.endsWith('}\n'))
    assert.deepEqual(Object.keys(JSON.parse(line)).toSorted(), Object.keys(done).toSorted())
    assert.match(line, /"records":9007199254740993/)
  })

  test('is one valid line of at most 4096 bytes for any message', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const dice = openDice(seed)
      const result = {
        ...failed(randomText(dice, seed % 4 === 0 ? 10 : 6000), randomText(dice, 3000)),
        backup_id: randomText(dice, 2000),
        command: randomText(dice, 600),
        details: { topic: randomText(dice, 2000), key: randomText(dice, 2000), field: randomText(dice, 2000) },
        report: randomText(dice, 2000),
        totals: { strategy: randomText(dice, seed % 5 === 0 ? 9000 : 20), records: dice(1e9) },
      }
      const line = formatResult(result)
      assert.ok(Buffer.byteLength(line) <= MAX_RESULT_BYTES, `seed ${seed}: ${Buffer.byteLength(line)} bytes`)
      assert.equal(line.indexOf('\n'), line.length - 1, `seed ${seed}`)
      const read = JSON.parse(line)
      assert.equal(read.code, 'KAFKA_DENIED')
      const isWhole = read.message === result.message
      assert.ok(isWhole || (read.message.endsWith('…') && result.message?.startsWith(read.message.slice(0, -1))))
    }
  })

  test('keeps a message that just fits, and cuts one that is a byte longer', () => {
    const room = MAX_RESULT_BYTES - Buffer.byteLength(formatResult(failed('')))
    const fits = formatResult(failed('é'.repeat(room / 2)))
    assert.ok(Buffer.byteLength(fits) > MAX_RESULT_BYTES - 2)
    assert.ok(!fits.includes('…'))
    const message = JSON.parse(formatResult(failed('x'.repeat(room + 1)))).message
    assert.equal(message, `${'x'.repeat(room - 3)}…`)
  })

  test('omits totals that do not fit, and keeps the reason', () => {
    const totals = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`number-${i}`, i]))
    const read = JSON.parse(formatResult({ ...failed('denied'), totals }))
    assert.deepEqual([read.totals, read.message], [{}, 'denied'])
  })
})

describe('cutting a text', () => {
  test('never splits a character, and keeps what fits', () => {
    assert.equal(cutText('ab😀cd', 8), 'ab😀cd')
    assert.equal(cutText('ab😀cdefgh', 9), 'ab😀…')
    assert.equal(cutText('ab😀cdefgh', 8), 'ab…')
    assert.equal(cutText('\n\n\n\n', 7), '\n\n…')
    assert.equal(cutText('abc', 2), '')
    assert.equal(cutText('', 0), '')
  })
})
