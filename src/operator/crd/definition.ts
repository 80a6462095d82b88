import type { KubeObject } from '../kube/object.ts'
import type { FieldSchema } from './field-schema.ts'

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string
    scope: 'Namespaced'
    names: DefinitionNames
    versions: DefinitionVersion[]
  }
}

export interface DefinitionNames {
  kind: string
  listKind: string
  plural: string
  singular: string
  shortNames: string[]
  categories: string[]
}

export interface DefinitionVersion {
  name: string
  served: boolean
  storage: boolean
  subresources: { status: Record<string, never> }
  additionalPrinterColumns: PrinterColumn[]
  schema: { openAPIV3Schema: FieldSchema }
}

/** A column of `kubectl get`; those of priority 1 show with `-o wide`. */
export interface PrinterColumn {
  name: string
  type: 'string' | 'integer' | 'date' | 'boolean'
  jsonPath: string
  description?: string
  priority?: 1
}
