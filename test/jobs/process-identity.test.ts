import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { hasProcessEnded, processIdentity } from '../../src/jobs/process-identity.ts'

test('a process has ended when its number is free or belongs to another, and not while it runs', async () => {
  const identity = processIdentity() ?? assert.fail('there is no /proc')
  assert.equal(hasProcessEnded({ identity, pid: process.pid }), false)
  assert.equal(hasProcessEnded({ identity: { ...identity, processStart: 1 }, pid: process.pid }), true)
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const pid = child.pid ?? assert.fail()
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(hasProcessEnded({ identity, pid }), true)
})

test('nothing is known of a process of another machine, or of one that does not say where it runs', () => {
  const identity = processIdentity() ?? assert.fail('there is no /proc')
  assert.equal(hasProcessEnded({ identity: { ...identity, machine: 'other' }, pid: 2 ** 30 }), false)
  assert.equal(hasProcessEnded({ pid: 2 ** 30 }), false)
})

test('a process that exists and whose entry cannot be read, as with hidepid, has not ended', () => {
  const identity = processIdentity() ?? assert.fail('there is no /proc')
  const hidden = { readStat: () => undefined, exists: (pid: number) => pid === 7 }
  assert.equal(hasProcessEnded({ identity, pid: 7 }, hidden), false)
  assert.equal(hasProcessEnded({ identity, pid: 8 }, hidden), true)
})
