import { usageError } from '../errors.ts'
import { doubleOf } from '../lib/json.ts'
import { EACH, NUMBER, type Operator, type PathCondition, readPathCondition, type Step } from '../lib/path-condition.ts'

const WHOLE = /^[+-]?\d+$/

/** A condition of the command line, or of a form. */
export function parsePathCondition(text: string, label = '--where'): PathCondition {
  const condition = readPathCondition(text)
  if ('wrong' in condition) throw usageError(`${label} ${JSON.stringify(text)} ${condition.wrong}`)
  return condition
}

/** Pure. Of several places, one that fits is enough; for `!=` none may be equal, and one must be there. */
export function fitsPath({ path, test }: PathCondition, value: unknown): boolean {
  const found = valuesAt(path, value)
  if (test === undefined) return found.length > 0
  const isSame = (one: unknown) => (test.isText ? one === test.value : isEqual(one, test.value))
  if (test.operator === '!=') return found.length > 0 && !found.some(isSame)
  return found.some(one => (test.operator === '=' ? isSame(one) : compares(one, test.operator, test.value)))
}

function valuesAt(path: readonly Step[], value: unknown): unknown[] {
  let found: unknown[] = [value]
  for (const step of path) found = found.flatMap(one => stepInto(doubleOf(one), step))
  return found.map(doubleOf)
}

function stepInto(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (step === EACH) return Object.values(value)
  const key = String(step)
  const isThere = typeof step === 'number' ? Array.isArray(value) && step < value.length : Object.hasOwn(value, key)
  return isThere ? [(value as Record<string, unknown>)[key]] : []
}

function compares(found: unknown, operator: Operator, text: string): boolean {
  if (typeof found !== 'number' && typeof found !== 'bigint') return false
  const order = orderOf(found, text)
  if (operator === '<') return order < 0
  if (operator === '<=') return order <= 0
  return operator === '>' ? order > 0 : order >= 0
}

function isEqual(found: unknown, text: string): boolean {
  if (typeof found === 'string') return found === text
  if (typeof found === 'number' || typeof found === 'bigint') return NUMBER.test(text) && orderOf(found, text) === 0
  return (found === null || typeof found === 'boolean') && String(found) === text
}

/** Exact where both are whole numbers; with an exponent or a fraction, as doubles. */
function orderOf(found: number | bigint, text: string): number {
  const isWhole = typeof found === 'bigint' || Number.isSafeInteger(found)
  const [one, other] = isWhole && WHOLE.test(text) ? [BigInt(found), BigInt(text)] : [Number(found), Number(text)]
  return one < other ? -1 : one > other ? 1 : one === other ? 0 : Number.NaN
}
