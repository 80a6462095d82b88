import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, run } from './run-cli.ts'

test('the demo backs up, loses, restores and compares a real Kafka with its schemas, and is plain text in a pipe', async () => {
  const { code, stdout, stderr } = await run(join(root, 'node_modules/.bin/node'), [join(root, 'demo/main.ts')])
  assert.equal(code, 0, stderr)
  for (const line of [
    /^ {2}Copied {6}82,351 records/m,
    /^ {2}Copied {6}5,000 records/m,
    /^shop generation 2: intact$/m,
    /^All topics are deleted: clicks, customers, orders, payments, refunds\. The schema registry is gone, too\.$/m,
    /^ {2}Wrote {7}87,301 records/m,
    /^SOURCE ID {2}TARGET ID$/m,
    /^ {8}4 {7}10\d\d$/m,
    /^ {2}Schema IDs {2}rewritten in 25,000 keys and 27,300 values$/m,
    /^shop generation 2: the target has the same records$/m,
    /^ {2}orders +25,000 {2}([0-9a-f]{8}) {2}\1 {2}2, 3, 4 {2}10\d\d, 10\d\d, 10\d\d {2}\{"item":/m,
    /^ {2}customers +2,001 {2}([0-9a-f]{8}) {2}\1 {2}5 +10\d\d +\{"name":/m,
    /^ {2}payments +300 {2}([0-9a-f]{8}) {2}\1 {2}6 +10\d\d +\{"order":100,"cents":1000\}$/m,
    /^payments\/0 offset 300 is payments\/0 offset 248$/m,
    /^shop generation 2: DAMAGED/m,
    /^ {2}✓ All topics were deleted, and restored from the folder\.$/m,
  ]) {
    assert.match(stdout, line)
  }
  assert.ok(!`${stdout}${stderr}`.includes('\u001b'), 'colors are for terminals')
})
