import type { ErrorCode } from '../../src/errors.ts'

export type Random = () => number

export interface Target {
  name: string
  /** The errors that hostile input may lead to; every other one is a bug. */
  codes: readonly ErrorCode[]
  /** Of ten inputs that others get, so many: less where one is expensive. */
  weight?: number
  /** Makes one input and gives it to the reader. */
  run(random: Random): unknown
}
