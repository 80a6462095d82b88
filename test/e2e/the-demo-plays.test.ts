import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, run } from './run-cli.ts'

test('the demo backs up, loses, restores and compares a real Kafka, and is plain text in a pipe', async () => {
  const { code, stdout, stderr } = await run(join(root, 'node_modules/.bin/node'), [join(root, 'demo/main.ts')])
  assert.equal(code, 0, stderr)
  for (const line of [
    /^ {2}Copied {6}105,351 records/m,
    /^ {2}Copied {6}5,000 records/m,
    /^shop generation 2: intact$/m,
    /^Somebody has deleted all topics: clicks, customers, orders, payments, refunds\.$/m,
    /^ {2}Wrote {7}110,301 records/m,
    /^shop generation 2: the target holds the same records$/m,
    /^ {2}orders +45,000 {2}([0-9a-f]{12}) {2}\1$/m,
    /^payments\/0 offset 300 is payments\/0 offset 248$/m,
    /^shop generation 2: DAMAGED/m,
    /^ {2}✓ All topics were deleted, and put back from the folder\.$/m,
  ]) {
    assert.match(stdout, line)
  }
  assert.ok(!`${stdout}${stderr}`.includes('\u001b'), 'colours belong on a terminal')
})
