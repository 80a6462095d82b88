import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { outputStyleOf } from '../../src/cli/output-style.ts'
import { type Column, cutMiddle, formatFields, formatTable } from '../../src/cli/table.ts'

const plain = outputStyleOf({ write: () => undefined }, {})
const narrow = (columns: number, env: Record<string, string> = { LANG: 'C.UTF-8' }) =>
  outputStyleOf({ write: () => undefined, isTTY: true, columns }, env)

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

test('aligns columns, numbers to the right, without trailing blanks', () => {
  assert.deepEqual(formatTable(columns, rows, plain), [
    'NAME                               COUNT  NOTE',
    'a                                      1',
    'a-rather-long-name-of-a-topic  1,234,567',
  ])
})

test('cuts a long name in the middle on a narrow terminal', () => {
  const lines = formatTable(columns, rows, narrow(35)).map(line => stripVTControlCharacters(line))
  assert.deepEqual(lines, [
    'NAME                    COUNT  NOTE',
    'a                           1',
    'a-rather-…-a-topic  1,234,567',
  ])
})

test('never cuts a name without a terminal', () => {
  assert.ok(formatTable(columns, rows, plain).some(line => line.startsWith('a-rather-long-name-of-a-topic ')))
})

test('keeps a minimum width of a cut column', () => {
  const [, , line] = formatTable(columns, rows, narrow(5))
  assert.match(stripVTControlCharacters(line ?? ''), /^.{12} {2}1,234,567$/)
})

test('color does not move the columns', () => {
  const painted = columns.map(column => ({ ...column, paint: (text: string) => narrow(200).bad(text) }))
  const lines = formatTable(painted, rows, narrow(200)).map(line => stripVTControlCharacters(line))
  assert.deepEqual(lines, formatTable(columns, rows, plain))
})

test('a cell stays on its line and cannot control the terminal', () => {
  const [, line] = formatTable(columns, [{ name: 'a\nb\x1b[2J', count: '1' }], plain)
  assert.match(line ?? '', /^a b\\u001b\[2J +1$/)
})

test('keeps both ends of a cut text, and uses ASCII characters if others may not be displayed', () => {
  assert.equal(cutMiddle('orders-2025-eu', 9, { hasUnicode: true }), 'orde…5-eu')
  assert.equal(cutMiddle('orders-2025-eu', 9, { hasUnicode: false }), 'orde..-eu')
  assert.equal(cutMiddle('orders', 6, { hasUnicode: true }), 'orders')
})

test('aligns fields, and omits those without a value', () => {
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
