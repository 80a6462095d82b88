import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const module = JSON.stringify(join(import.meta.dirname, 'full.ts'))

function choose(env: Record<string, string>): { chosen: number[][]; short: number[] } {
  const script = `const { numbersToTry } = await import(${module})
    console.log(JSON.stringify({ chosen: [0, 1, 2, 3, 4].map(turn => numbersToTry(60, turn)), short: numbersToTry(1) }))`
  const { PATH = '' } = process.env
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { env: { PATH, ...env }, encoding: 'utf8' })
  assert.ok(stdout, stderr)
  return JSON.parse(stdout)
}

test('a full run tries every number', () => {
  const { chosen, short } = choose({ TEST_FULL: '1' })
  const all = Array.from({ length: 60 }, (_, at) => at + 1)
  assert.deepEqual([...chosen, short], [all, all, all, all, all, [1]])
})

test('a short run tries the first, the last and a fifth, and five turns together try every number', () => {
  const { chosen, short } = choose({})
  for (const numbers of chosen) {
    assert.deepEqual([numbers[0], numbers.at(-1)], [1, 60])
    assert.ok(numbers.length >= 12 && numbers.length <= 15, `${numbers}`)
  }
  assert.equal(new Set(chosen.flat()).size, 60)
  assert.deepEqual(short, [1])
})
