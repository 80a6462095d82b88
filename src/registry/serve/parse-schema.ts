import { DEFAULT_CONTEXT, type SchemaReference, type SchemaType, splitSubject } from '../../archive/registry-model.ts'
import { AvroError, type AvroSchema } from '../avro/avro-schema.ts'
import { checkDefaults, parseAvro } from '../avro/parse-avro.ts'
import { faults } from './registry-fault.ts'
import { qualifySubject } from './subject-name.ts'
import type { StoredVersion, VersionIndex } from './version-index.ts'

export const schemaTypes = ['JSON', 'PROTOBUF', 'AVRO'] as const satisfies readonly SchemaType[]

/**
 * Checks that a text is a schema of its type, and throws 42201 otherwise. Avro is understood; of JSON Schema
 * only that it is JSON, of Protobuf only that there is something. `isNew` also checks the defaults of Avro fields, which
 * registries let pass long ago.
 */
export function parseSchema(
  { schemaType, schema }: { schemaType: SchemaType; schema: string },
  dependencies: readonly string[],
  isNew: boolean,
): AvroSchema | undefined {
  if (schema.trim() === '') throw faults.invalidSchema('it is empty')
  if (schemaType === 'AVRO') return parseAvroSchema(schema, dependencies, isNew)
  if (schemaType === 'JSON') checkJson(schema)
  return undefined
}

function parseAvroSchema(text: string, dependencies: readonly string[], isNew: boolean): AvroSchema {
  try {
    const schema = parseAvro(text, dependencies)
    if (isNew) checkDefaults(schema)
    return schema
  } catch (error) {
    if (error instanceof AvroError) throw faults.invalidSchema(error.message)
    throw error
  }
}

function checkJson(text: string): void {
  try {
    const schema: unknown = JSON.parse(text)
    if (typeof schema === 'boolean' || (typeof schema === 'object' && schema !== null && !Array.isArray(schema))) return
  } catch {
    // Thrown below, with the message of any other invalid text.
  }
  throw faults.invalidSchema('a JSON Schema is a JSON object, true or false')
}

const LATEST = -1

/**
 * With the number in place of -1, which is the newest live version. A number may be that of a version that is marked as
 * deleted. Throws 42201 for what is not there.
 */
export function pinReferences(
  references: readonly SchemaReference[],
  referrer: string,
  index: VersionIndex,
): SchemaReference[] {
  return references.map(reference => {
    const { version } = findReference(reference, referrer, index)
    return { ...reference, version }
  })
}

/** The texts that a schema needs, each after those that it needs itself and none twice. */
export function dependenciesOf(
  references: readonly SchemaReference[],
  referrer: string,
  index: VersionIndex,
): string[] {
  const found = new Set<StoredVersion>()
  const visit = (each: readonly SchemaReference[], from: string) => {
    for (const reference of each) {
      const version = findReference(reference, from, index)
      if (found.has(version)) continue
      visit(version.references, version.subject)
      found.add(version)
    }
  }
  visit(references, referrer)
  return [...found].map(({ schema }) => schema)
}

function findReference({ subject, version }: SchemaReference, referrer: string, index: VersionIndex): StoredVersion {
  // Out of another context the default one has no name: `:.:a` is read as a name of the referrer's context.
  const isLost = subject.startsWith(':.:') && splitSubject(referrer).context !== DEFAULT_CONTEXT
  if (isLost) throw faults.referenceNotFound(`:${splitSubject(referrer).context}:${subject}`, version)
  const qualified = qualifySubject(subject, referrer)
  const found = version === LATEST ? index.latest(qualified) : index.get(qualified, version)
  if (!found) throw faults.referenceNotFound(subject, version)
  return found
}
