import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAhead } from '../../src/lib/read-ahead.ts'

describe('reading ahead', () => {
  test('gives all values in order, and has asked for the next one when one is given', async () => {
    const asked: number[] = []
    async function* numbers() {
      for (let i = 0; i < 4; i++) {
        asked.push(i)
        yield i
      }
    }
    const seen: [number, number][] = []
    for await (const value of readAhead(numbers())) seen.push([value, asked.length])
    assert.deepEqual(seen, [
      [0, 2],
      [1, 3],
      [2, 4],
      [3, 4],
    ])
  })

  test('tells a failure in its turn, after the values before it', async () => {
    async function* failing() {
      yield 1
      throw new Error('broken')
    }
    const seen: number[] = []
    const read = async () => {
      for await (const value of readAhead(failing())) {
        seen.push(value)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    }
    await assert.rejects(read(), /broken/)
    assert.deepEqual(seen, [1])
  })

  test('closes the source when nobody wants more, also where the next value fails', async () => {
    let isClosed = false
    async function* endless() {
      try {
        yield 1
        throw new Error('nobody asked')
      } finally {
        isClosed = true
      }
    }
    for await (const _ of readAhead(endless())) break
    assert.equal(isClosed, true)
  })
})
