/** The schema of a field: the part of OpenAPI 3 that the API server accepts as structural. */
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

/** Fields of a spec, which of them are required, and the rules between them. */
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

/** A CEL rule; `self` is the value of the schema node that has the rule. */
export interface CelRule {
  rule: string
  message: string
  /** The field that the API server reports, relative to that node: `.sasl`. */
  fieldPath?: string
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'
}

/** Instead of a `pattern`, for which the API server would report only the expression. */
export function textRule(pattern: string, allowed: string): CelRule {
  return { rule: `self.matches(${JSON.stringify(pattern)})`, message: `must be ${allowed}` }
}

/** The same for a field that may also be a number. */
export function textOrNumberRule(pattern: string, allowed: string): CelRule {
  const { rule, message } = textRule(pattern, allowed)
  return { rule: `type(self) != string || ${rule}`, message }
}

/** The name of an object of the namespace. */
export const refName: FieldSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 253,
  'x-kubernetes-validations': [textRule('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', 'a name of a-z 0-9 - and .')],
}

/** A key of a Secret or a ConfigMap. */
export const secretKey: FieldSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 253,
  'x-kubernetes-validations': [textRule('^[-._a-zA-Z0-9]+$', 'a key of A-Z a-z 0-9 . _ -')],
}

export const nameRef: FieldSchema = { type: 'object', required: ['name'], properties: { name: refName } }

/** One key of a Secret or a ConfigMap of the namespace. */
export function keyRef(description: string): FieldSchema {
  return { type: 'object', description, required: ['name', 'key'], properties: { name: refName, key: secretKey } }
}
