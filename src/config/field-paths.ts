import { describedJobSchema, type JsonSchema } from './job-schema.ts'
import type { Mode } from './mode.ts'
import { sameName } from './near-match.ts'
import { type FieldPath, formatPath } from './problem.ts'

/**
 * Where a key that is unknown at its place belongs: the nearest field of the same name, the shallowest of all. Undefined
 * where there is none, or where several lie at the same depth.
 */
export function placeOfKey(path: FieldPath, mode: Mode): string | undefined {
  const name = String(path.at(-1))
  const found = listPaths(describedJobSchema(mode), []).filter(one => sameName(one.at(-1) ?? '', name))
  const depth = Math.min(...found.map(({ length }) => length))
  const [place, ...others] = new Set(found.filter(({ length }) => length === depth).map(one => formatPath(one)))
  return others.length === 0 ? place : undefined
}

/** Sections and fields; items of lists are left out, since a path to one needs an index. */
function listPaths(schema: JsonSchema, at: readonly string[]): string[][] {
  const kinds = ['oneOf', 'anyOf'].flatMap(key => (schema[key] ?? []) as JsonSchema[])
  const own = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const path = [...at, name]
    return [path, ...listPaths(field, path)]
  })
  return [...own, ...kinds.flatMap(kind => listPaths(kind, at))]
}
