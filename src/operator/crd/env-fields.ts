import type { FieldSchema } from './field-schema.ts'

const text: FieldSchema = { type: 'string', maxLength: 253 }
const optional: FieldSchema = { type: 'boolean' }
const keyOf: FieldSchema = {
  type: 'object',
  required: ['name', 'key'],
  properties: { name: text, key: text, optional },
}
const allOf: FieldSchema = { type: 'object', required: ['name'], properties: { name: text, optional } }

/** Names that the operator gives values itself. */
export const reservedVariables = ['KAFKA_BACKUP_RESULT_FILE', 'POD_IP', 'JOB_COMPLETION_INDEX']

/** Variables of the container. */
export const envFields: Record<string, FieldSchema> = {
  env: {
    description: 'Variables beyond those of the operator, such as `HTTPS_PROXY` and `NODE_OPTIONS`.',
    type: 'array',
    maxItems: 50,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: {
      type: 'object',
      required: ['name'],
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 253,
          'x-kubernetes-validations': [
            {
              rule: `!(self in [${reservedVariables.map(name => `'${name}'`).join(', ')}])`,
              message: `this is a variable of the operator: ${reservedVariables.join(', ')} cannot be set here`,
            },
          ],
        },
        value: { type: 'string', maxLength: 32_768 },
        valueFrom: {
          type: 'object',
          properties: {
            secretKeyRef: keyOf,
            configMapKeyRef: keyOf,
            fieldRef: {
              type: 'object',
              required: ['fieldPath'],
              properties: { fieldPath: text, apiVersion: text },
            },
          },
        },
      },
    },
  },
  envFrom: {
    description: 'Secrets and ConfigMaps whose entries all become variables.',
    type: 'array',
    maxItems: 50,
    'x-kubernetes-list-type': 'atomic',
    items: { type: 'object', properties: { prefix: text, secretRef: allOf, configMapRef: allOf } },
  },
}
