import type { AvroSchema } from '../avro/avro-schema.ts'
import { type CompatibilityLevel, checkCompatibility, compatibilityLevels } from '../avro/compatibility.ts'
import { getVersion } from './find-versions.ts'
import { dependenciesOf, parseSchema, pinReferences } from './parse-schema.ts'
import { RegistryFault } from './registry-fault.ts'
import type { RegistryState } from './registry-state.ts'
import type { SchemaContent } from './schema-identity.ts'
import type { StoredVersion } from './version-index.ts'

/** Why a schema could not follow a version, or the live ones where none is named; empty where it could. */
export function judgeContent(
  state: RegistryState,
  subject: string,
  content: SchemaContent,
  version: number | undefined,
): string[] {
  const { versions } = state
  const earlier =
    version === undefined ? versions.versions(subject, 'live') : [getVersion(state, subject, version, 'live')]
  const references = pinReferences(content.references, subject, versions)
  const avro = parseSchema(content, dependenciesOf(references, subject, versions), true)
  return judgeCompatibility(state, subject, { schemaType: content.schemaType, avro }, earlier)
}

/** A parsed schema: `avro` is undefined for the other types, whose compatibility is not checked. */
interface JudgedSchema {
  schemaType: string
  avro: AvroSchema | undefined
}

/** Why a schema does not get along with earlier versions, oldest first, at the level that governs the subject. */
export function judgeCompatibility(
  state: RegistryState,
  subject: string,
  candidate: JudgedSchema,
  earlier: readonly StoredVersion[],
): string[] {
  const level = levelOf(state, subject)
  if (level === 'NONE') return []
  const judged = level.endsWith('_TRANSITIVE') ? earlier : earlier.slice(-1)
  return judged.flatMap(version => judgeOne(state, level, candidate, version))
}

function levelOf({ settings }: RegistryState, subject: string): CompatibilityLevel {
  const { compatibilityLevel } = settings.configInScope(subject)
  return compatibilityLevels.find(level => level === compatibilityLevel) ?? 'BACKWARD'
}

function judgeOne(
  state: RegistryState,
  level: CompatibilityLevel,
  { schemaType, avro }: JudgedSchema,
  earlier: StoredVersion,
): string[] {
  if (schemaType !== earlier.schemaType)
    return [`version ${earlier.version} is of the type ${earlier.schemaType}, the new schema of ${schemaType}`]
  if (!avro) return []
  const schema = parseEarlier(state, earlier)
  if (typeof schema === 'string') return [schema]
  const found = checkCompatibility(level, avro, [{ version: earlier.version, schema }])
  return found.map(({ kind, path, message, reader, version }) => {
    const who = reader === 'new' ? `the new schema cannot read version ${version}` : `version ${version} cannot read it`
    return `${kind} at ${path || '/'}: ${who}: ${message}`
  })
}

/** An imported version may be one that a new registration would not be. */
function parseEarlier({ versions }: RegistryState, earlier: StoredVersion): AvroSchema | string {
  const unreadable = `version ${earlier.version} cannot be read`
  try {
    const dependencies = dependenciesOf(earlier.references, earlier.subject, versions)
    return parseSchema(earlier, dependencies, false) ?? unreadable
  } catch (error) {
    if (error instanceof RegistryFault) return `${unreadable}: ${error.message}`
    throw error
  }
}
