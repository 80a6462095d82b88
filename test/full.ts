import { describe, type TestContext, test } from 'node:test'

/** `make test-full` tries everything. `make test` runs a part of the long matrices, always the same one. */
export const isFull = process.env.TEST_FULL === '1'

type Run = (t: TestContext) => void | Promise<void>

/** A test or suite of `make test-full` only. `make test` reports how many there are. */
export const fullTest: (name: string, run: Run) => void = isFull ? test : () => undefined
export const fullDescribe: (name: string, run: () => void) => void = isFull ? describe : () => undefined

/**
 * The numbers 1 to `count`, such as the calls at which a run may die. `make test` takes the first, the last and about a
 * fifth of the others, spread without a period; another `turn` takes others.
 */
export function numbersToTry(count: number, turn = 0): number[] {
  const all = Array.from({ length: count }, (_, at) => at + 1)
  return isFull ? all : all.filter(number => number === 1 || number === count || isChosen(number, turn))
}

const goldenRatio = 0.618_033_988_749_895
const PARTS = 5

function isChosen(number: number, turn: number): boolean {
  return (number * goldenRatio + turn / PARTS) % 1 < 1 / PARTS
}
