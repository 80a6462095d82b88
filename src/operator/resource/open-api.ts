/** A part of a structural schema, as custom resource definitions have them. */
export interface OpenApi {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  description?: string
  properties?: Record<string, OpenApi>
  required?: string[]
  additionalProperties?: OpenApi
  items?: OpenApi
  enum?: string[]
  default?: unknown
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  minProperties?: number
  maxProperties?: number
  'x-kubernetes-int-or-string'?: true
  'x-kubernetes-map-type'?: 'atomic'
  'x-kubernetes-validations'?: CelRule[]
}

/** A rule in CEL, in which `self` is the value that it stands at. */
export interface CelRule {
  rule: string
  message: string
  /** The field that is shown as wrong, from where the rule stands: `.sasl`. */
  fieldPath?: string
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
}
