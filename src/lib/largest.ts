/** The largest of any number of values, `least` where none is larger. `Math.max(...values)` fails for a hundred thousand. */
export function largest(values: Iterable<number>, least = 0): number {
  let found = least
  for (const value of values) if (value > found) found = value
  return found
}

/** Puts any number of items at the end of a list, which `push(...items)` cannot. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item)
}
