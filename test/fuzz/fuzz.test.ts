import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fuzz, inputsOf, MAX_GROWTH_BYTES } from './fuzz.ts'
import { loadTargets } from './targets.ts'

const seed = Number(process.env.FUZZ_SEED ?? 1)
const inputs = Number(process.env.FUZZ_INPUTS ?? 300)

describe(`hostile input is read or refused, never a crash or a hang (seed ${seed}, ${inputs} inputs each)`, async () => {
  for (const target of await loadTargets()) {
    test(target.name, async () => {
      const before = process.memoryUsage().rss
      assert.deepEqual(await fuzz(target, seed, inputsOf(target, inputs)), [])
      assert.ok(process.memoryUsage().rss - before < MAX_GROWTH_BYTES)
    })
  }
})
