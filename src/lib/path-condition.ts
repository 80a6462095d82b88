/** A place in a JSON value, such as `items[*].sku`, and what has to be there. */
export interface PathCondition {
  text: string
  path: readonly Step[]
  /** Without one, the place only has to exist. */
  test?: { operator: Operator; value: string; isText?: boolean } | undefined
}

/** A name, a position, or everything on one level. */
export type Step = string | number | typeof EACH

export const EACH = Symbol('each')

const operators = ['!=', '<=', '>=', '=', '<', '>'] as const
export type Operator = (typeof operators)[number]

const token = /\.?(?<name>[^.[\]=<>!\s]+)|\[(?<position>\d+)\]|\[(?<each>\*)\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]/y
/** In all forms in which a condition may give one. */
export const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

const FORM =
  'it is a path alone, or a path, one of = != < <= > >=, and a value, such as customer.id=42 or items[*].sku=A1'

/** `customer.id=42`, `items[*].price>100`, `["a.b"]`; a `$` at the beginning may be there or not. `wrong` completes a sentence that the text begins. */
export function readPathCondition(text: string): PathCondition | { wrong: string } {
  const wrong = (why: string) => ({ wrong: `${why}; ${FORM}` })
  const path: Step[] = []
  let at = /^\$(?=[.[]|$)/.test(text) ? 1 : 0
  for (;;) {
    token.lastIndex = at
    const { name, position, each, quoted } = token.exec(text)?.groups ?? {}
    if (name !== undefined) path.push(name === '*' ? EACH : name)
    else if (position !== undefined) path.push(Number(position))
    else if (each !== undefined) path.push(EACH)
    else if (quoted !== undefined) {
      const unquoted = unquote(quoted)
      if (unquoted === undefined) return wrong(notJson(quoted))
      path.push(unquoted)
    } else break
    at = token.lastIndex
  }
  const rest = text.slice(at)
  if (path.length === 0) return wrong('begins with no name')
  if (rest === '') return { text, path }
  const operator = operators.find(one => rest.startsWith(one))
  if (operator === undefined) return wrong(`cannot be read from ${JSON.stringify(rest)} on`)
  const value = rest.slice(operator.length)
  if (value.startsWith('=')) return wrong('has two equals signs; one is enough')
  if (/^[<>]/.test(operator) && !NUMBER.test(value))
    return wrong(`compares with ${JSON.stringify(value)}, not a number`)
  if (!/^"(?:[^"\\]|\\.)*"$/.test(value)) return { text, path, test: { operator, value } }
  const unquoted = unquote(value)
  if (unquoted === undefined) return wrong(notJson(value))
  return { text, path, test: { operator, value: unquoted, isText: true } }
}

function unquote(text: string): string | undefined {
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}

function notJson(quoted: string): string {
  return `has a name in quotes that is not JSON: ${quoted}`
}
