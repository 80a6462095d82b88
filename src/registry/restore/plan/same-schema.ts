import type { JsonValue, SchemaReference, SchemaVersion } from '../../../archive/registry-model.ts'

/** What a registry keeps of a schema apart from its text, type and references. */
export interface KeptParts {
  metadata: boolean
  ruleSet: boolean
}

export type Likeness = 'same' | 'other-text' | 'other'

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
