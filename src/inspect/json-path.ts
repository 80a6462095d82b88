import { usageError } from '../errors.ts'

/** A place in a JSON value, such as `items[*].sku`, and what has to be there. */
export interface PathCondition {
  text: string
  path: readonly Step[]
  /** Without one, the place only has to exist. */
  test?: { operator: Operator; value: string } | undefined
}

/** A name, a position, or everything on one level. */
type Step = string | number | typeof EACH

const EACH = Symbol('each')

const operators = ['!=', '<=', '>=', '=', '<', '>'] as const
type Operator = (typeof operators)[number]

const token = /\.?(?<name>[^.[\]=<>!\s]+)|\[(?<position>\d+)\]|\[(?<each>\*)\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]/y
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** `customer.id=42`, `items[*].price>100`, `["a.b"]`; a `$` at the beginning may be there or not. */
export function parsePathCondition(text: string): PathCondition {
  const wrong = (why: string) =>
    usageError(
      `--where ${JSON.stringify(text)} ${why}; it has the form path, path=value, path!=value, path<value or path>value, such as customer.id=42 or items[*].sku=A1`,
    )
  const path: Step[] = []
  let at = text.startsWith('$') ? 1 : 0
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
  if (/^[<>]/.test(operator) && !NUMBER.test(value)) throw wrong(`compares with ${JSON.stringify(value)}, not a number`)
  return { text, path, test: { operator, value } }
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
  if (test.operator === '!=') return found.length > 0 && !found.some(one => isEqual(one, test.value))
  return found.some(one => compares(one, test.operator, test.value))
}

function valuesAt(path: readonly Step[], value: unknown): unknown[] {
  let found: unknown[] = [value]
  for (const step of path) found = found.flatMap(one => stepInto(one, step))
  return found
}

function stepInto(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  if (step === EACH) return Object.values(value)
  const key = String(step)
  const isThere = typeof step === 'number' ? Array.isArray(value) && step < value.length : Object.hasOwn(value, key)
  return isThere ? [(value as Record<string, unknown>)[key]] : []
}

function compares(found: unknown, operator: Operator, text: string): boolean {
  if (operator === '=') return isEqual(found, text)
  const number = asNumber(found)
  if (number === undefined) return false
  // A bigint is compared exactly with a whole number.
  const wanted = /^-?\d+$/.test(text) ? BigInt(text) : Number(text)
  if (operator === '<') return number < wanted
  if (operator === '<=') return number <= wanted
  if (operator === '>') return number > wanted
  return number >= wanted
}

function isEqual(found: unknown, text: string): boolean {
  if (typeof found === 'string') return found === text
  if (found === null || typeof found === 'boolean') return String(found) === text
  const number = asNumber(found)
  if (number === undefined || !NUMBER.test(text)) return false
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint equals the same number.
  return /^-?\d+$/.test(text) ? number == BigInt(text) : number == Number(text)
}

function asNumber(value: unknown): number | bigint | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined
}
