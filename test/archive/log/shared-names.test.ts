import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedNames } from '../../../src/archive/log/judge-opening.ts'
import { readCommit } from '../../../src/archive/log/read-commit.ts'
import { grownLog } from '../../retention/log-world.ts'
import { never } from '../sample-archive.ts'

test('what two commits name is held once, so that a survey of a long log needs little memory', async () => {
  const { storage } = await grownLog(20, 20)
  const names = new SharedNames()
  const read = [await readCommit(storage, 'a', 40, never), await readCommit(storage, 'a', 41, never)]
  const [one = assert.fail(), other = assert.fail()] = read.map(each => names.known(each))
  assert.ok(one.checkpoint && one.rollups.length > 0)
  assert.equal(one.checkpoint, other.checkpoint)
  assert.equal(one.rollups[0], other.rollups[0])
  for (const [i, { checkpoint, rollups }] of [one, other].entries()) {
    const { commit } = read[i] ?? assert.fail()
    assert.deepEqual([checkpoint, rollups], [commit.checkpoint, commit.rollups])
  }
})
