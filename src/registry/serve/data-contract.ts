import type { JsonObject, JsonValue } from '../../archive/registry-model.ts'
import type { SchemaContent } from './schema-identity.ts'
import type { Config } from './settings-book.ts'

const VERSION_PROPERTY = 'confluent:version'

export interface ContractScope {
  config: Config
  /** The newest live version of the subject. */
  previous: SchemaContent | undefined
  /** What the request asks for; 0 for none. */
  askedVersion: number
  nextVersion: number
}

/**
 * Metadata and rules of a version that is registered the normal way: what it brings, else what the previous version has,
 * between the defaults and the overrides of the config in scope.
 */
export function completeContract(content: SchemaContent, scope: ContractScope): SchemaContent {
  const { config, previous } = scope
  const merged = mergeAll(
    mergeMetadata,
    asObject(config.defaultMetadata),
    content.metadata ?? previous?.metadata ?? null,
    asObject(config.overrideMetadata),
  )
  const ruleSet = mergeAll(
    mergeRules,
    asObject(config.defaultRuleSet),
    content.ruleSet ?? previous?.ruleSet ?? null,
    asObject(config.overrideRuleSet),
  )
  return { ...content, metadata: withVersion(merged, scope), ruleSet }
}

/** A version that is asked for by number is noted in the metadata, and is kept right once it is there. */
function withVersion(metadata: JsonObject | null, { askedVersion, nextVersion }: ContractScope): JsonObject | null {
  const hasVersion = asObject(metadata?.properties)?.[VERSION_PROPERTY] !== undefined
  if (askedVersion === 0 && !hasVersion) return metadata
  return mergeMetadata(metadata ?? {}, { properties: { [VERSION_PROPERTY]: String(nextVersion) } })
}

type Merge = (lower: JsonObject, upper: JsonObject) => JsonObject

function mergeAll(merge: Merge, ...layers: (JsonObject | null)[]): JsonObject | null {
  return layers.reduce((lower, upper) => (lower === null ? upper : upper === null ? lower : merge(lower, upper)), null)
}

function mergeMetadata(lower: JsonObject, upper: JsonObject): JsonObject {
  const merged: JsonObject = { ...lower, ...upper }
  for (const part of ['tags', 'properties']) {
    const [below, above] = [asObject(lower[part]), asObject(upper[part])]
    if (below && above) merged[part] = { ...below, ...above }
  }
  const [below, above] = [lower.sensitive, upper.sensitive]
  if (Array.isArray(below) && Array.isArray(above)) merged.sensitive = [...new Set([...below, ...above])].sort()
  return merged
}

/** Rules of the same name replace each other. */
function mergeRules(lower: JsonObject, upper: JsonObject): JsonObject {
  const merged: JsonObject = { ...lower, ...upper }
  for (const part of ['migrationRules', 'domainRules', 'encodingRules']) {
    const [below, above] = [lower[part], upper[part]]
    if (!Array.isArray(below) || !Array.isArray(above)) continue
    const replaced = new Set(above.map(nameOf))
    merged[part] = [...below.filter(rule => !replaced.has(nameOf(rule))), ...above]
  }
  return merged
}

function nameOf(rule: JsonValue): JsonValue | undefined {
  return asObject(rule)?.name
}

function asObject(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
}
