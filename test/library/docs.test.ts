import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { progressTable } from '../../docs/progress-table.ts'
import * as library from '../../src/index.ts'
import { marked, tableRows } from '../markdown.ts'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/library.md'), 'utf8')

test('docs/library.md shows the example that the tests run', () => {
  const example = readFileSync(join(root, 'examples/backup-and-restore.ts'), 'utf8')
  assert.equal(marked(page, 'example'), `\`\`\`ts\n${example}\`\`\``)
})

test('docs/library.md has the events of the code', () => {
  assert.equal(marked(page, 'progress'), progressTable())
})

test('every event has a row with its fields and its meaning, and one without words is refused', () => {
  const union = (member: string) => `export type ProgressEvent =\n${member}\n\nexport`
  const told = progressTable(union("  /**\n   * Two\n   * lines.\n   */\n  | { type: 'a'; x?: bigint | null }"))
  assert.equal(told.split('\n').at(-1), '| `a` | `x?: bigint \\| null` | Two lines. |')
  assert.throws(() => progressTable(union("  | { type: 'a' }")), /the event a has no comment/)
})

test('docs/library.md names all that the package exports, and nothing else', () => {
  const functions = tableRows(page, 'functions').map(([call = '']) => call.replace(/^`|\(.*$/g, ''))
  const others = ['KafkaBackupError', 'RestoreRefusal', 'errorTable']
  assert.deepEqual([...functions, ...others].toSorted(), Object.keys(library).toSorted())
  for (const name of others) assert.ok(page.includes(`\`${name}\``), name)
})

test('docs/library.md names every type of a result that the package exports', () => {
  const index = readFileSync(join(root, 'src/index.ts'), 'utf8')
  const named = tableRows(page, 'functions').flatMap(([, , answer = '']) =>
    [...answer.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name ?? ''),
  )
  assert.deepEqual(
    named.filter(name => !new RegExp(`\\b${name}\\b`).test(index)),
    [],
  )
})
