import type { FieldPath, Problem } from './problem.ts'

/**
 * A copy of the plain data in a program's object, with what is no data named as problems: a `Map` or an instance of a
 * class has no keys that a check could see, and would pass for an empty map. Keys without a value (`undefined`) are left
 * out, as in JSON.
 */
export function copyPlain(document: unknown): { tree: unknown; problems: Problem[] } {
  const problems: Problem[] = []
  return { tree: copy(document, [], []), problems }

  function copy(value: unknown, path: FieldPath, above: readonly unknown[]): unknown {
    if (typeof value === 'function' || typeof value === 'symbol') return refuse(path, `is a ${typeof value}`)
    if (typeof value !== 'object' || value === null) return value
    if (above.includes(value)) return refuse(path, 'holds itself')
    const inside = [...above, value]
    if (Array.isArray(value)) return value.map((item, index) => copy(item, [...path, index], inside))
    if (!isPlain(value)) return refuse(path, `is an instance of ${value.constructor?.name ?? 'a class'}`)
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    return Object.fromEntries(entries.map(([key, item]) => [key, copy(item, [...path, key], inside)]))
  }

  function refuse(path: FieldPath, wrong: string): undefined {
    const allowed = 'texts, numbers, booleans, lists and plain objects'
    problems.push({ path, about: 'field', wrong, allowed })
    return undefined
  }
}

/** Of this or another realm. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
