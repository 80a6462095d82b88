import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SmoothRate } from '../../src/observe/smooth-rate.ts'

describe('a rate that changes slowly', () => {
  test('measures a steady flow exactly, from the first second on', () => {
    for (const seconds of [1, 10, 300]) {
      const rate = new SmoothRate(0, 0)
      for (let ms = 0; ms <= seconds * 1000; ms += 100) rate.add(ms * 3, ms)
      assert.ok(Math.abs((rate.read(seconds * 3000, seconds * 1000) ?? 0) - 3) < 1e-6, `${seconds} s`)
    }
  })

  /** Grows by so much every 100 ms; answers with the total. */
  const grow = (rate: SmoothRate, from: { ms: number; total: number }, untilMs: number, step: number): number => {
    let { total } = from
    for (let ms = from.ms + 100; ms <= untilMs; ms += 100) {
      total += step
      rate.add(total, ms)
    }
    return total
  }

  test('does not jump: a second at ten times the rate, or without anything, moves it by less than half', () => {
    for (const factor of [0, 10]) {
      const rate = new SmoothRate(0, 0)
      const before = grow(rate, { ms: 0, total: 0 }, 60_000, 100)
      const total = grow(rate, { ms: 60_000, total: before }, 61_000, 100 * factor)
      const after = rate.read(total, 61_000) ?? 0
      assert.ok(after > 0.9 && after < 1.5, `${after} after a second of ${factor}`)
    }
  })

  test('follows a change that stays', () => {
    const rate = new SmoothRate(0, 0)
    const before = grow(rate, { ms: 0, total: 0 }, 60_000, 1000)
    const total = grow(rate, { ms: 60_000, total: before }, 160_000, 100)
    assert.ok(Math.abs((rate.read(total, 160_000) ?? 0) - 1) < 0.1)
  })

  test('is unknown before anything has moved, and when nothing has for half a minute', () => {
    const rate = new SmoothRate(0, 0)
    assert.equal(rate.read(0, 0), undefined)
    assert.equal(rate.read(0, 10_000), undefined)
    rate.add(500, 20_000)
    assert.ok((rate.read(500, 49_000) ?? 0) > 0)
    assert.equal(rate.read(500, 51_000), undefined)
    assert.ok((rate.read(600, 52_000) ?? 0) > 0, 'known again when it moves')
  })
})
