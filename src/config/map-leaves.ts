import { type Complain, leaf } from './leaf.ts'
import { isMap } from './problem.ts'
import type { TextRule } from './text-rules.ts'

/** What the values of a map, or the items of a list, are; the parts of a leaf that has no name of its own. */
export interface Item<T, Written> {
  /** For the type alone: what a program may write there. */
  readonly written?: Written
  allowed: string
  json: Record<string, unknown>
  read(value: unknown, complain: Complain): T | undefined
}

export interface MapOptions {
  description: string
  type: string
  allowed: string
}

/** A map whose keys are names of the user's own. A `Map`, so that a topic may be called `constructor`. */
export function mapOf<T, Written>(key: TextRule, item: Item<T, Written>, options: MapOptions) {
  const { json, read } = mapItem(key, item, options.allowed)
  return leaf<ReadonlyMap<string, T>, Readonly<Record<string, Written>>>({ ...options, json, read })
}

/** The same as a value inside another map. */
export function mapItem<T, Written>(
  key: TextRule,
  item: Item<T, Written>,
  allowed: string,
): Item<ReadonlyMap<string, T>, Readonly<Record<string, Written>>> {
  return {
    allowed,
    json: { type: 'object', propertyNames: { pattern: key.pattern }, additionalProperties: item.json },
    read: (value, complain) => {
      if (isMap(value)) return readEntries(key, item, value, complain)
      complain({ wrong: 'is not a map' })
      return undefined
    },
  }
}

function readEntries<T>(key: TextRule, item: Item<T, unknown>, value: Record<string, unknown>, complain: Complain) {
  const entries = new Map<string, T>()
  for (const [name, given] of Object.entries(value)) {
    const wrong = key.wrong(name)
    if (wrong !== undefined) complain({ at: [name], about: 'field', wrong, allowed: key.allowed })
    else {
      const read = readItem(item, given, complaint => complain({ ...complaint, at: [name, ...(complaint.at ?? [])] }))
      if (read !== undefined) entries.set(name, read)
    }
  }
  return entries
}

function readItem<T>(item: Item<T, unknown>, value: unknown, complain: Complain): T | undefined {
  if (value !== null) return item.read(value, complaint => complain({ allowed: item.allowed, ...complaint }))
  complain({ about: 'field', wrong: 'has no value', allowed: item.allowed })
  return undefined
}

/** A list of at least one, none of them twice. */
export function distinctList<T, Written>(item: Item<T, Written>, allowed: string): Item<T[], readonly Written[]> {
  return {
    allowed,
    json: { type: 'array', items: item.json, minItems: 1 },
    read: (value, complain) => {
      if (!Array.isArray(value)) {
        complain({ wrong: 'is not a list', wantsList: true })
        return undefined
      }
      if (value.length === 0) complain({ about: 'field', wrong: 'is an empty list' })
      const seen = new Set<T>()
      for (const [index, given] of value.entries()) {
        const at = [index]
        const read = readItem(item, given, complaint => complain({ ...complaint, at }))
        if (read === undefined) continue
        if (seen.has(read)) complain({ at, wrong: 'is given a second time', allowed: undefined })
        seen.add(read)
      }
      return [...seen]
    },
  }
}
