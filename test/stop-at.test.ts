import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './e2e/run-cli.ts'

const program = `
process.on('SIGTERM', () => process.exit(143))
process.stderr.write('at the mo')
process.stderr.write('ment\\n')
setImmediate(() => process.exit(0))
`

for (const [signal, code] of [
  ['SIGKILL', null],
  ['SIGTERM', 143],
] as const) {
  test(`a program that would end at once is interrupted by ${signal} at the moment that the test chooses`, async () => {
    const ended = await run(process.execPath, ['-e', program], { signal, when: /at the moment/ })
    assert.deepEqual([ended.code, ended.stderr], [code, 'at the moment\n'])
  })
}
