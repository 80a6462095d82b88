import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tableRows } from '../markdown.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/registries.md'), 'utf8')
const rows = tableRows(page, 'registry-cases')

test('docs/registries.md has all 42 edge cases in their order', () => {
  assert.deepEqual(
    rows.map(([number]) => Number(number)),
    Array.from({ length: 42 }, (_, at) => at + 1),
  )
})

test('docs/registries.md names a test for each edge case, and each of them exists', () => {
  for (const [number, , proofs = ''] of rows) {
    const named = proofs.split('<br>').map(proof => /^`?(test\/[\w./-]+)`: (.+)$/.exec(proof))
    for (const proof of named) {
      const [, file = '', name = ''] = proof ?? assert.fail(`case ${number}: ${proofs}`)
      const titles = readFileSync(join(root, file), 'utf8').match(/\btest\(\s*(['"`]).+?\1,/g) ?? []
      assert.ok(
        titles.some(title => title.slice(0, -2).endsWith(name)),
        `case ${number}: ${file} has no test "${name}"`,
      )
    }
  }
})
