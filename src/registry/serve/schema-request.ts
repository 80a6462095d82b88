import type { JsonObject, JsonValue, SchemaReference, SchemaType } from '../../archive/registry-model.ts'
import { schemaTypes } from './parse-schema.ts'
import type { RegisterRequest } from './register-schema.ts'
import { faults } from './registry-fault.ts'

/** Reads the body of a registration, a look-up or a check. Throws 42201 for what makes no schema. */
export function readSchemaRequest(body: JsonObject): RegisterRequest {
  const { schema, id, version } = body
  if (typeof schema !== 'string') throw faults.invalidSchema('it is empty')
  return {
    schema,
    schemaType: readType(body.schemaType),
    references: readReferences(body.references),
    metadata: readObject(body.metadata, 'metadata'),
    ruleSet: readObject(body.ruleSet ?? body.ruleset, 'ruleSet'),
    id: typeof id === 'number' && id >= 0 ? id : null,
    version: typeof version === 'number' ? version : 0,
  }
}

function readType(value: JsonValue | undefined): SchemaType {
  if (value === undefined || value === null) return 'AVRO'
  const type = schemaTypes.find(each => each === value)
  if (!type) throw faults.invalidSchema(`the type ${JSON.stringify(value)} is none of ${schemaTypes.join(', ')}`)
  return type
}

function readReferences(value: JsonValue | undefined): SchemaReference[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw faults.invalidSchema('the references are not a list')
  return value.map(item => {
    const reference = readObject(item, 'a reference')
    const { name, subject, version } = reference ?? {}
    if (typeof name !== 'string' || typeof subject !== 'string' || typeof version !== 'number')
      throw faults.invalidSchema('a reference needs a name, a subject and a version')
    return { name, subject, version }
  })
}

function readObject(value: JsonValue | undefined, what: string): JsonObject | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'object' || Array.isArray(value)) throw faults.invalidSchema(`${what} is not an object`)
  return value
}
