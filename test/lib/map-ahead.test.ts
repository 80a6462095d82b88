import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mapAhead } from '../../src/lib/read-ahead.ts'

async function* count(to: number, onAsked: (i: number) => void = () => undefined) {
  for (let i = 0; i < to; i++) {
    onAsked(i)
    yield i
  }
}

describe('working ahead', () => {
  test('gives all results in the order of the values, whichever is ready first', async () => {
    const delays = [5, 1, 3, 0, 2, 0]
    const seen: number[] = []
    const task = async (i: number) => {
      await new Promise(resolve => setTimeout(resolve, delays[i]))
      return i * 10
    }
    for await (const value of mapAhead(count(6), 3, task)) seen.push(value)
    assert.deepEqual(seen, [0, 10, 20, 30, 40, 50])
  })

  test('has as many under way as it may, and no more', async () => {
    let running = 0
    let most = 0
    const task = async (i: number) => {
      most = Math.max(most, ++running)
      await new Promise(resolve => setImmediate(resolve))
      running--
      return i
    }
    for await (const _ of mapAhead(count(20), 4, task)) await new Promise(resolve => setImmediate(resolve))
    assert.equal(most, 4)
  })

  test('asks for no more than that while nothing is taken', async () => {
    const asked: number[] = []
    const results = mapAhead(
      count(100, i => asked.push(i)),
      3,
      async i => i,
    )
    await results.next()
    await new Promise(resolve => setTimeout(resolve, 5))
    assert.equal(asked.length, 4)
    await results.return(undefined)
  })

  test('tells the failure of a task in its turn, after the results before it', async () => {
    const seen: number[] = []
    const task = async (i: number) => {
      if (i === 2) throw new Error('broken')
      return i
    }
    const read = async () => {
      for await (const value of mapAhead(count(9), 4, task)) seen.push(value)
    }
    await assert.rejects(read(), /broken/)
    assert.deepEqual(seen, [0, 1])
  })

  test('tells a failure of the source, and waits for what is under way before it closes it', async () => {
    const events: string[] = []
    async function* failing() {
      yield 1
      yield 2
      throw new Error('no more')
    }
    await assert.rejects(async () => {
      for await (const _ of mapAhead(failing(), 2, async i => i));
    }, /no more/)
    async function* closing() {
      try {
        yield* count(9)
      } finally {
        events.push('closed')
      }
    }
    const slow = async (i: number) => {
      await new Promise(resolve => setTimeout(resolve, 3))
      events.push(`done ${i}`)
    }
    for await (const _ of mapAhead(closing(), 2, slow)) break
    assert.deepEqual(events, ['done 0', 'done 1', 'done 2', 'closed'])
  })
})
