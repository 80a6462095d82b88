import { type Change, type ListChange, noChange } from './change.ts'

/** Rows of a document: a few megabytes at most. */
const MAX_ROWS = 40_000

/** Pure. The change as parts that are small enough for one document each. Their order does not matter. */
export function splitChange(change: Change, maxRows = MAX_ROWS): [Change, ...Change[]] {
  const groups: Map<string, ListChange | null>[] = [new Map()]
  let rows = change.topics.size
  for (const [key, one] of change.lists) {
    const weight = 1 + (one?.parts?.length ?? 0)
    if (rows > 0 && rows + weight > maxRows) {
      groups.push(new Map())
      rows = 0
    }
    groups.at(-1)?.set(key, one)
    rows += weight
  }
  const [first = new Map(), ...others] = groups
  return [{ ...change, lists: first }, ...others.map(lists => ({ ...noChange, lists }))]
}
