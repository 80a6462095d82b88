import type { JsonValue, SchemaReference, SchemaVersion } from '../../../archive/registry-model.ts'
import { formatJson, parseJson } from '../../../lib/json.ts'

/** What a registry keeps of a schema apart from its text, type and references. */
export interface KeptParts {
  metadata: boolean
  ruleSet: boolean
}

type Likeness = 'same' | 'other-text' | 'other'

/** Pure. Whether two versions are the same schema. Unset and empty metadata are not the same to a registry. */
export function compareSchemas(ours: SchemaVersion, theirs: SchemaVersion, kept: KeptParts): Likeness {
  const isLike =
    ours.schemaType === theirs.schemaType &&
    listReferences(ours.references) === listReferences(theirs.references) &&
    (!kept.metadata || isSame(ours.metadata, theirs.metadata)) &&
    (!kept.ruleSet || isSame(ours.ruleSet, theirs.ruleSet))
  if (!isLike) return 'other'
  return ours.schema === theirs.schema ? 'same' : 'other-text'
}

/** Pure. A text that is the same for equal JSON, whatever the order of its keys. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`
}

export function isSame(a: JsonValue, b: JsonValue): boolean {
  return canonical(a) === canonical(b)
}

function listReferences(references: readonly SchemaReference[]): string {
  return JSON.stringify(references.map(({ name, subject, version }) => [name, subject, version]))
}

/** Pure. Equal for schemas that differ in nothing but spaces, the order of keys, `doc` and `aliases`; only Avro has these. */
export function withoutDocs({ schemaType, schema }: Pick<SchemaVersion, 'schemaType' | 'schema'>): string {
  if (schemaType !== 'AVRO') return schema
  try {
    return formatJson(strip(parseJson(schema)))
  } catch {
    return schema
  }
}

/** A default value is not a schema: a key `doc` in it is data. */
function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key]) => key !== 'doc' && key !== 'aliases')
  const sorted = kept.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, item]) => [key, key === 'default' ? item : strip(item)]))
}
