import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { lookOf } from '../../src/cli/look.ts'
import { type Column, cutMiddle, formatFields, formatTable } from '../../src/cli/table.ts'

const plain = lookOf({ write: () => undefined }, {})
const narrow = (columns: number, env: Record<string, string> = { LANG: 'C.UTF-8' }) =>
  lookOf({ write: () => undefined, isTTY: true, columns }, env)

interface Row {
  name: string
  count: string
}

const columns: Column<Row>[] = [
  { title: 'NAME', cell: row => row.name, shrinks: true },
  { title: 'COUNT', cell: row => row.count, align: 'right' },
  { title: 'NOTE', cell: () => '' },
]

const rows = [
  { name: 'a', count: '1' },
  { name: 'a-rather-long-name-of-a-topic', count: '1,234,567' },
]

test('columns are aligned, numbers to the right, and no line ends with blanks', () => {
  assert.deepEqual(formatTable(columns, rows, plain), [
    'NAME                               COUNT  NOTE',
    'a                                      1',
    'a-rather-long-name-of-a-topic  1,234,567',
  ])
})

test('on a narrow terminal a long name is cut in the middle until the line fits', () => {
  const lines = formatTable(columns, rows, narrow(35)).map(line => stripVTControlCharacters(line))
  assert.deepEqual(lines, [
    'NAME                    COUNT  NOTE',
    'a                           1',
    'a-rather-…-a-topic  1,234,567',
  ])
})

test('a name is never cut where the output is no terminal', () => {
  assert.ok(formatTable(columns, rows, plain).some(line => line.startsWith('a-rather-long-name-of-a-topic ')))
})

test('a column is not cut below what can still be recognised', () => {
  const [, , line] = formatTable(columns, rows, narrow(5))
  assert.match(stripVTControlCharacters(line ?? ''), /^.{12} {2}1,234,567$/)
})

test('colour does not move the columns', () => {
  const painted = columns.map(column => ({ ...column, paint: (text: string) => narrow(200).bad(text) }))
  const lines = formatTable(painted, rows, narrow(200)).map(line => stripVTControlCharacters(line))
  assert.deepEqual(lines, formatTable(columns, rows, plain))
})

test('a cell stays on its line and cannot steer the terminal', () => {
  const [, line] = formatTable(columns, [{ name: 'a\nb\x1b[2J', count: '1' }], plain)
  assert.match(line ?? '', /^a b\\u001b\[2J +1$/)
})

test('cutting keeps both ends and uses plain characters where others may not show', () => {
  assert.equal(cutMiddle('orders-2025-eu', 9, { hasUnicode: true }), 'orde…5-eu')
  assert.equal(cutMiddle('orders-2025-eu', 9, { hasUnicode: false }), 'orde..-eu')
  assert.equal(cutMiddle('orders', 6, { hasUnicode: true }), 'orders')
})

test('fields are aligned, and those without a value left out', () => {
  const lines = formatFields(
    [
      ['Backup', 'orders'],
      ['Unknown', undefined],
      ['Id', 'x'],
    ],
    plain,
  )
  assert.deepEqual(lines, ['Backup  orders', 'Id      x'])
})
