import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from '../../src/storage/storage.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { assertSameObjects, assertWhole, copy } from './copies.ts'
import { storeGenerations } from './sample-history.ts'

const moments = ['before', 'after'] as const

/** A process that dies at the nth call to either side: from then on no call of it takes effect. */
function dyingAt(nth: number, moment: (typeof moments)[number]) {
  let calls = 0
  let isDead = false
  const die = () => {
    isDead = true
    throw new Error('killed')
  }
  const wrap = (storage: Storage): Storage => {
    const count = () => {
      if (++calls === nth) die()
    }
    const refuse = () => {
      if (isDead) die()
    }
    const kind = moment === 'before' ? 'kill-before' : 'kill-after'
    const counted = withFaults(storage, [{ effect: { kind } }], { kill: count })
    return withFaults(counted, [{ effect: { kind: 'kill-before' } }], { kill: refuse })
  }
  return { wrap, calls: () => calls }
}

for (const [name, isSecond] of [
  ['a first copy', false],
  ['a copy that goes on', true],
] as const) {
  for (const moment of moments) {
    test(`${name} that is killed ${moment} any call leaves whole generations, and the next one finishes`, async () => {
      const source = openMemoryStorage()
      const [first] = await storeGenerations(source, 1)
      if (!first) assert.fail()
      const base = openMemoryStorage()
      if (isSecond) await copy({ source, target: base })
      await storeGenerations(source, 2, { after: first })
      const healthy = dyingAt(0, moment)
      await copy({ source: healthy.wrap(source), target: healthy.wrap(cloneOf(base)) })
      const seen = new Set<number>()
      for (let nth = 1; nth <= healthy.calls(); nth++) {
        const target = cloneOf(base)
        const dying = dyingAt(nth, moment)
        await assert.rejects(copy({ source: dying.wrap(source), target: dying.wrap(target) }), /killed/)
        const generations = await assertWhole(target)
        assert.deepEqual(generations, [1, 2, 3].slice(0, generations.length))
        seen.add(generations.length)
        assert.ok((await copy({ source, target })).ok)
        assertSameObjects(source, target)
      }
      // Deaths fell on every state from the one before to the one after.
      assert.deepEqual([...seen].sort(), isSecond ? [1, 2, 3] : [0, 1, 2, 3])
    })
  }
}

function cloneOf({ objects }: MemoryStorage): MemoryStorage {
  const clone = openMemoryStorage()
  for (const [key, body] of objects) clone.objects.set(key, body)
  return clone
}
