import type { FieldSchema } from './field-schema.ts'

export function nameList(description: string, minItems: number): FieldSchema {
  const items: FieldSchema = { type: 'string', minLength: 1, maxLength: 255 }
  return { description, type: 'array', minItems, maxItems: 1000, items, 'x-kubernetes-list-type': 'set' }
}

export function snapshotField(description: string): FieldSchema {
  return { description, type: 'string', maxLength: 64, pattern: '^[0-9]{8}t[0-9]{6}z-[0-9a-f]{8}$' }
}

export function nameField(description: string): FieldSchema {
  return { description, type: 'string', maxLength: 253, pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' }
}
