import type { FieldSchema } from './field-schema.ts'
import { podSpecFields } from './pod-spec-fields.ts'

export const podTemplateField: FieldSchema = {
  description: 'What is put on the pods beyond what the operator sets: the fields of a pod that a user may say.',
  type: 'object',
  properties: {
    metadata: {
      description: 'Labels and annotations of the pods, for meshes and monitoring for example.',
      type: 'object',
      properties: { labels: notes('Labels of the pods.', 100), annotations: notes('Annotations of the pods.', 4096) },
    },
    spec: { description: 'Fields of the pods, as Kubernetes has them.', type: 'object', properties: podSpecFields },
  },
}

function notes(description: string, maxLength: number): FieldSchema {
  return { description, type: 'object', maxProperties: 50, additionalProperties: { type: 'string', maxLength } }
}
