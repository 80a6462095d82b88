export type FieldPath = readonly (string | number)[]

/** One thing that is wrong with one field, in parts, so that only the report decides how it is put to the user. */
export interface Problem {
  readonly path: FieldPath
  /**
   * What the sentence is about. `value`: the value as the user wrote it is named before `wrong` (`"zst" is not known`).
   * `hidden`: the same, but the value may be a secret and is never shown. `field`: only `wrong` is shown.
   */
  readonly about: 'value' | 'hidden' | 'field'
  readonly wrong: string
  readonly allowed?: string | undefined
  /** An allowed name that looks like what was written. */
  readonly near?: string | undefined
  /** A field of the same section that could be given instead. */
  readonly or?: string | undefined
  /** A single value instead of a list. */
  readonly wantsList?: boolean | undefined
}

/** The form `--set` takes, so that a path can be copied from a message onto the command line. */
export function formatPath(path: FieldPath): string {
  return path.map(segment => (String(segment).includes('.') ? JSON.stringify(segment) : String(segment))).join('.')
}

export function startsWith(path: FieldPath, start: FieldPath): boolean {
  return start.length <= path.length && start.every((segment, index) => String(segment) === String(path[index]))
}

export function isSamePath(one: FieldPath, other: FieldPath): boolean {
  return one.length === other.length && startsWith(one, other)
}

/** The value at a path of plain data; undefined where there is none. */
export function valueAt(tree: unknown, path: FieldPath): unknown {
  let value = tree
  for (const segment of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined
    value = (value as Record<string | number, unknown>)[segment]
  }
  return value
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
