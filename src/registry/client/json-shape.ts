import type { JsonObject } from '../../archive/registry-model.ts'

export { numberOf, textOf } from '../../lib/json-scalars.ts'

/** The items of a list; undefined for anything else. AxonOps writes `null` for a list that is empty. */
export function asList(value: unknown): readonly unknown[] | undefined {
  if (value === null) return []
  return Array.isArray(value) ? value : undefined
}

/** A copy of an object that is no list; undefined for anything else. */
export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

/** Null for what is not an object, or an empty one. */
export function asObject(value: unknown): JsonObject | null {
  const record = asRecord(value)
  if (record === undefined) return null
  const entries = Object.entries(record).filter(([, each]) => each !== null && each !== undefined)
  return entries.length === 0 ? null : (Object.fromEntries(entries) as JsonObject)
}
