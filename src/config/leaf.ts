import * as z from 'zod'
import { type FieldPath, isMap, type Problem } from './problem.ts'

/** What a reader says of a value; the leaf adds the field's own part, and hides the value where it must not be shown. */
export interface Complaint extends Partial<Omit<Problem, 'path'>> {
  wrong: string
  /** The way from the field to the item or key that is meant, where it is not the whole. */
  at?: FieldPath
}

export type Complain = (complaint: Complaint) => void

interface LeafOptions<T> {
  description: string
  /** The words of the documentation's table. */
  type: string
  allowed: string
  /** What an editor may accept; at least all that `read` accepts, and any text with a `${VAR}`. */
  json: Record<string, unknown>
  /** The value is a secret or may contain one: no message shows it. */
  hidden?: boolean
  /** JSON Schema's mark for a value that is written but never shown. */
  secret?: boolean
  /** Turns what YAML, `--set` or a variable gave into the typed value, or complains and returns undefined. */
  read(value: unknown, complain: Complain): T | undefined
}

/**
 * A field without subfields. Text is re-typed by the field, because a `${VAR}` only ever yields text. `Written` is
 * what a program may write there; anything else is refused when it is read.
 */
export function leaf<T, Written>(options: LeafOptions<T>): z.ZodType<T, Written> {
  const { description, type, allowed, json, secret } = options
  const schema = z
    .unknown()
    .transform((value, context): T => {
      const problems: Problem[] = []
      const result = readGiven(options, value, problem => problems.push(problem))
      if (result !== undefined && problems.length === 0) return result
      for (const problem of problems) {
        context.issues.push({ code: 'custom', input: value, path: [...problem.path], params: { problem } })
      }
      return z.NEVER
    })
    .meta({ description, 'x-type': type, 'x-allowed': allowed, ...(secret ? { writeOnly: true } : {}), ...json })
  return schema as z.ZodType<T, unknown> as z.ZodType<T, Written>
}

function readGiven<T>(options: LeafOptions<T>, value: unknown, report: (problem: Problem) => void): T | undefined {
  const { allowed } = options
  if (value === undefined) report({ path: [], about: 'field', wrong: 'is required', allowed })
  else if (value === null) report({ path: [], about: 'field', wrong: 'has no value', allowed })
  else {
    return options.read(value, ({ at = [], ...complaint }) =>
      report({
        path: at,
        about: options.hidden ? 'hidden' : 'value',
        allowed,
        ...complaint,
      }),
    )
  }
  return undefined
}

/** A map of fields that takes no others. An issue with the map itself has nothing but a text to carry its keys in. */
export function fields<S extends z.core.$ZodLooseShape>(shape: S) {
  const known = JSON.stringify(Object.keys(shape))
  return z.strictObject(shape, { error: () => known })
}

/** The keys of the map that an issue is about. */
export function keysOfMap({ message }: z.core.$ZodIssue): readonly string[] {
  return JSON.parse(message)
}

/** A map whose fields depend on its field `key`; `wrong` is said of a value of `key` that names no kind. */
export function kinds<const T extends readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]]>(
  key: string,
  options: T,
  wrong: string,
) {
  const known = JSON.stringify([key, '...'])
  const error = (issue: { code?: string }) => (issue.code === 'invalid_union' ? wrong : known)
  return z.discriminatedUnion(key, options, { error })
}

/** A text that gets its value, or a part of it, from the environment. */
export type Reference = `${string}\${${string}}${string}`

/** JSON Schema of a text that gets its value from the environment. */
export const reference = { $ref: '#/$defs/reference' }

/** What the values of a map, or the items of a list, are; the parts of a leaf without a name. */
export interface Item<T, Written> {
  /** For the type alone: what a program may write there. */
  readonly written?: Written
  allowed: string
  json: Record<string, unknown>
  read(value: unknown, complain: Complain): T | undefined
}

interface MapOptions {
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

/** What a text must be. `pattern` is for editors and may let pass what `wrong` refuses, never the other way round. */
export interface TextRule {
  type: string
  allowed: string
  pattern: string
  /** What is wrong with the text; undefined where nothing is. */
  wrong(text: string): string | undefined
}
