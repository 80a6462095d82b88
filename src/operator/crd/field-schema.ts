import type { CelRule } from '../resource/open-api.ts'

/** What a definition says of a field: the part of OpenAPI 3 that the API server takes as structural. */
export interface FieldSchema {
  description?: string
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  format?: string
  enum?: readonly (string | number | boolean)[]
  default?: unknown
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minProperties?: number
  maxProperties?: number
  anyOf?: readonly FieldSchema[]
  oneOf?: readonly FieldSchema[]
  items?: FieldSchema
  properties?: Record<string, FieldSchema>
  additionalProperties?: FieldSchema
  required?: readonly string[]
  'x-kubernetes-int-or-string'?: true
  'x-kubernetes-preserve-unknown-fields'?: true
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: readonly string[]
  'x-kubernetes-map-type'?: 'atomic'
  'x-kubernetes-validations'?: readonly CelRule[]
}

/** The fields of a spec, those that must be there, and the rules between them. */
export interface FieldGroup {
  properties: Record<string, FieldSchema>
  required: readonly string[]
  rules: readonly CelRule[]
}

export function mergeGroups(groups: readonly FieldGroup[]): FieldGroup {
  return {
    properties: Object.assign({}, ...groups.map(({ properties }) => properties)),
    required: groups.flatMap(({ required }) => required),
    rules: groups.flatMap(({ rules }) => rules),
  }
}
