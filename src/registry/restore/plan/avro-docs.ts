import type { SchemaVersion } from '../../../archive/registry-model.ts'
import { formatJson, parseJson } from '../../../lib/json.ts'

/** Pure. Equal for schemas that differ in nothing but spaces, the order of keys, `doc` and `aliases`; only Avro has these. */
export function withoutDocs({ schemaType, schema }: Pick<SchemaVersion, 'schemaType' | 'schema'>): string {
  if (schemaType !== 'AVRO') return schema
  try {
    return formatJson(strip(parseJson(schema)))
  } catch {
    return schema
  }
}

/** A default value is no schema: what is called `doc` there is data. */
function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key]) => key !== 'doc' && key !== 'aliases')
  const sorted = kept.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, item]) => [key, key === 'default' ? item : strip(item)]))
}
