import type { Controller } from '../resource/resource.ts'
import type { FieldGroup } from './field-schema.ts'
export function jobFieldSchema(controller: Controller): FieldGroup {
  const open = { type: 'object', properties: { a: { type: 'string', maxLength: 10 } } } as const
  return {
    properties: {
      kafkaCluster: open,
      storage: open,
      encryption: open,
      ...(controller === 'backup'
        ? {
            topics: open,
            backupId: { type: 'string', maxLength: 200 },
            backup: {
              type: 'object',
              properties: { continuous: { type: 'boolean' } },
              'x-kubernetes-preserve-unknown-fields': true,
            },
            retention: open,
            enterprise: open,
          }
        : {}),
      ...(controller === 'restore'
        ? { backupId: { type: 'string', maxLength: 200 }, restore: open, enterprise: open }
        : {}),
    },
    required: ['kafkaCluster', 'storage'],
    rules: [],
  }
}
