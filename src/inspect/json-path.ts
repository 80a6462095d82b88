import { usageError } from '../errors.ts'
import { doubleOf } from '../lib/json.ts'

/** A place in a JSON value, such as `items[*].sku`, and what has to be there. */
export interface PathCondition {
  text: string
  path: readonly Step[]
  /** Without one, the place only has to exist. */
  test?: { operator: Operator; value: string; isText?: boolean } | undefined
}

/** A name, a position, or everything on one level. */
type Step = string | number | typeof EACH

const EACH = Symbol('each')

const operators = ['!=', '<=', '>=', '=', '<', '>'] as const
type Operator = (typeof operators)[number]

const token = /\.?(?<name>[^.[\]=<>!\s]+)|\[(?<position>\d+)\]|\[(?<each>\*)\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]/y
/** In all forms in which a condition may give one. */
export const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
const WHOLE = /^[+-]?\d+$/

/** `customer.id=42`, `items[*].price>100`, `["a.b"]`; a `$` at the beginning may be there or not. */
export function parsePathCondition(text: string, label = '--where', fault = usageError): PathCondition {
  const wrong = (why: string) =>
    fault(
      `${label} ${JSON.stringify(text)} ${why}; it is a path alone, or a path, one of = != < <= > >=, and a value, such as customer.id=42 or items[*].sku=A1`,
    )
  const path: Step[] = []
  let at = /^\$(?=[.[]|$)/.test(text) ? 1 : 0
  for (;;) {
    token.lastIndex = at
    const { name, position, each, quoted } = token.exec(text)?.groups ?? {}
    if (name !== undefined) path.push(name === '*' ? EACH : name)
    else if (position !== undefined) path.push(Number(position))
    else if (each !== undefined) path.push(EACH)
    else if (quoted !== undefined) path.push(unquote(quoted, wrong))
    else break
    at = token.lastIndex
  }
  const rest = text.slice(at)
  if (path.length === 0) throw wrong('begins with no name')
  if (rest === '') return { text, path }
  const operator = operators.find(one => rest.startsWith(one))
  if (operator === undefined) throw wrong(`cannot be read from ${JSON.stringify(rest)} on`)
  const value = rest.slice(operator.length)
  if (value.startsWith('=')) throw wrong('has two equals signs; one is enough')
  if (/^[<>]/.test(operator) && !NUMBER.test(value)) throw wrong(`compares with ${JSON.stringify(value)}, not a number`)
  const quoted = /^"(?:[^"\\]|\\.)*"$/.test(value)
  return { text, path, test: quoted ? { operator, value: unquote(value, wrong), isText: true } : { operator, value } }
}

function unquote(text: string, wrong: (why: string) => Error): string {
  try {
    return String(JSON.parse(text))
  } catch {
    throw wrong(`has a name in quotes that is not JSON: ${text}`)
  }
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
