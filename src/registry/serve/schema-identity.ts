import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue, SchemaReference, SchemaType } from '../../archive/registry-model.ts'

/** What makes a schema the same schema: it has one id in a context, in however many subjects it is. */
export interface SchemaContent {
  schemaType: SchemaType
  schema: string
  references: readonly SchemaReference[]
  metadata: JsonObject | null
  ruleSet: JsonObject | null
}

/** Equal for equal content. Space between the tokens of JSON is not content. */
export function identityOf(content: SchemaContent): string {
  const { schemaType, references, metadata, ruleSet } = content
  const parts = [
    schemaType,
    plainText(content),
    references.map(({ name, subject, version }) => [name, subject, version]),
    sorted(metadata),
    sorted(ruleSet),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

/**
 * The MD5 of text, references, metadata and rules, as a UUID: the same wherever the same schema is registered. An absent
 * part and an empty one differ: a byte 1 comes before each part that is present.
 */
export function guidOf(content: SchemaContent): string {
  const hash = createHash('md5').update(plainText(content))
  for (const { name, subject, version } of content.references) hash.update(name).update(subject).update(int32(version))
  if (content.metadata) {
    hash.update(Buffer.of(1))
    for (const part of ['tags', 'properties', 'sensitive']) updateTexts(hash, content.metadata[part])
  }
  if (content.ruleSet) {
    hash.update(Buffer.of(1))
    for (const part of ['migrationRules', 'domainRules', 'encodingRules']) updateRules(hash, content.ruleSet[part])
  }
  const hex = hash.digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

type Hash = ReturnType<typeof createHash>

const ruleTexts = ['name', 'doc', 'kind', 'mode', 'type', 'tags', 'params', 'expr', 'onSuccess', 'onFailure']

function updateRules(hash: Hash, rules: JsonValue | undefined): void {
  if (!Array.isArray(rules)) return
  for (const rule of rules) {
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) continue
    for (const key of ruleTexts) updateTexts(hash, rule[key])
    if (rule.disabled === true) hash.update(Buffer.of(1))
  }
}

/** Texts in order; keys and sets sorted. */
function updateTexts(hash: Hash, value: JsonValue | undefined): void {
  if (typeof value === 'string') hash.update(value)
  else if (Array.isArray(value)) for (const item of [...value].sort()) updateTexts(hash, item)
  else if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value).sort()) {
      hash.update(key)
      updateTexts(hash, value[key])
    }
}

/** Never parsed and printed again: a number beyond a double would change. */
function plainText({ schemaType, schema }: SchemaContent): string {
  if (schemaType === 'PROTOBUF') return schema
  let isInText = false
  return schema.replace(/\\.|"|\s+/gs, token => {
    if (token === '"') isInText = !isInText
    return isInText || token.trim() !== '' ? token : ''
  })
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, sorted(value[key] ?? null)]),
  )
}

/** An archive may hold a number that no registry has; it wraps, as it does in Java. */
function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}
