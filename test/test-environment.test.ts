import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testFlags } from './test-environment.ts'

const uncaught = {
  'a rejection': `Promise.reject(new Error('nothing caught this'))`,
  'an exception': `setTimeout(() => { throw new Error('nothing caught this') })`,
}

for (const [what, statement] of Object.entries(uncaught)) {
  for (const runner of ['make unit', 'make e2e']) {
    test(`${what} that nothing catches fails ${runner}, with its stack`, () => {
      const { status, output } = runFile(runner, `await 1; ${statement}; await setImmediate()`)
      assert.equal(status, 1, output)
      assert.match(output, /Error: nothing caught this\n\s+at .*\.test\.mjs/)
    })
  }
}

test('tests and hooks belong to their suites in make unit', () => {
  const { status, output } = runFile('make unit', 'await 1; assert.equal(prepared, true)')
  assert.equal(status, 0, output)
  assert.match(output, /▶ the suite\n {2}✔ the test/)
})

/** Runs a test with this body in a process, as the target of the Makefile does. */
function runFile(runner: string, body: string): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-environment-'))
  const file = join(folder, 'body.test.mjs')
  writeFileSync(file, formatTest(body))
  const shard = [...testFlags, join(import.meta.dirname, 'run-unit-shard.ts'), join(folder, 'durations'), file]
  // Otherwise the process would report to the runner of this test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = runner === 'make unit' ? shard : [...testFlags, file]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  rmSync(folder, { recursive: true })
  return { status, output: `${stdout}\n${stderr}` }
}

function formatTest(body: string): string {
  return `
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
describe('the suite', () => {
  let prepared = false
  before(async () => { await 1; prepared = true })
  test('the test', async () => { ${body} })
})
`
}
