import type { JsonObject, SchemaReference } from '../../archive/registry-model.ts'
import type { StoredVersion } from './version-index.ts'

/** A version as `/schemas` and `/subjects/…/versions/…` show it. */
export function renderVersion(version: StoredVersion): JsonObject {
  return {
    subject: version.subject,
    version: version.version,
    id: version.id,
    ...renderSchema(version),
    deleted: version.isDeleted,
  }
}

/** What an id stands for. Empty parts are left out. */
export function renderSchema({ guid, schemaType, references, metadata, ruleSet, schema }: StoredVersion): JsonObject {
  return {
    guid,
    schemaType,
    ...(references.length > 0 ? { references: references.map(renderReference) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(ruleSet ? { ruleSet } : {}),
    schema,
  }
}

function renderReference({ name, subject, version }: SchemaReference): JsonObject {
  return { name, subject, version }
}
