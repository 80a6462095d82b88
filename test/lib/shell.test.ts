import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { shellQuote } from '../../src/lib/shell.ts'

test('a shell reads back what was quoted', () => {
  for (const text of ['/backups', 'a b', "it's", '$HOME `x` "y"', 'a\\b', '*', '']) {
    const read = execFileSync('sh', ['-c', `printf %s ${shellQuote(text)}`], { encoding: 'utf8' })
    assert.equal(read, text)
  }
})
