import { apiVersionName, type Controller, controllers, defaultApiGroup, resourceKinds } from '../resource/resource.ts'
import type { CustomResourceDefinition } from './definition.ts'
import type { FieldSchema } from './field-schema.ts'
import { kindDescriptions } from './kind-descriptions.ts'
import { kindRules } from './kind-rules.ts'
import { printerColumns } from './printer-columns.ts'
import { specFields } from './spec-fields.ts'
import { statusSchema } from './status-schema.ts'

/** Strimzi has `kb` and `kr` already, for its bridges and rebalances. */
const shortNames: Record<Controller, string> = {
  backup: 'kbk',
  restore: 'krs',
  offset_reset: 'kor',
  offset_rollback: 'korb',
}

/** The definitions of the four kinds, as `kubectl apply --server-side` takes them. */
export function buildDefinitions(apiGroup: string = defaultApiGroup): CustomResourceDefinition[] {
  return controllers.map(controller => buildDefinition(controller, apiGroup))
}

function buildDefinition(controller: Controller, apiGroup: string): CustomResourceDefinition {
  const { kind, plural } = resourceKinds(apiGroup)[controller]
  const singular = kind.toLowerCase()
  const names = { kind, listKind: `${kind}List`, plural, singular }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: { ...names, shortNames: [shortNames[controller]], categories: ['kafka-backup'] },
      versions: [
        {
          name: apiVersionName,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns[controller],
          schema: { openAPIV3Schema: resourceSchema(controller, apiGroup) },
        },
      ],
    },
  }
}

function resourceSchema(controller: Controller, apiGroup: string): FieldSchema {
  const fields = specFields(controller)
  const { properties, required, rules } = fields
  return {
    description: kindDescriptions[controller],
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: {
        description: 'What is wanted.',
        type: 'object',
        required,
        properties,
        'x-kubernetes-validations': rules,
      },
      status: statusSchema,
    },
    'x-kubernetes-validations': kindRules(controller, apiGroup, fields),
  }
}
