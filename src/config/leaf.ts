import * as z from 'zod'
import type { FieldPath, Problem } from './problem.ts'

/** What a reader says of a value; the leaf adds the field's own part, and hides the value where it must not be shown. */
export interface Complaint extends Partial<Omit<Problem, 'path'>> {
  wrong: string
  /** The way from the field to the item or key that is meant, where it is not the whole. */
  at?: FieldPath
}

export type Complain = (complaint: Complaint) => void

export interface LeafOptions<T> {
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
 * A field without fields of its own. Text is re-typed by the field, because a `${VAR}` only ever yields text. `Written` is
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
