import type { SchemaType } from '../../archive/registry-model.ts'
import { checkDefaults } from '../avro/avro-default.ts'
import { AvroError, type AvroSchema } from '../avro/avro-schema.ts'
import { parseAvro } from '../avro/parse-avro.ts'
import { faults } from './registry-fault.ts'

export const schemaTypes = ['JSON', 'PROTOBUF', 'AVRO'] as const satisfies readonly SchemaType[]

/**
 * Looks whether a text is a schema of its type, and throws 42201 where it is none. Avro is understood; of JSON Schema
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
    // Told below, in the same words as any other text that is no schema.
  }
  throw faults.invalidSchema('a JSON Schema is a JSON object, true or false')
}
