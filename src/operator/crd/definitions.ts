import { stringify } from 'yaml'
import type { KubeObject } from '../kube/object.ts'
import type { FieldSchema } from './field-schema.ts'
import { kindRules } from './kind-rules.ts'
import { apiVersionName, type Controller, controllers, defaultApiGroup, resourceKinds } from './resource.ts'
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

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string
    scope: 'Namespaced'
    names: DefinitionNames
    versions: DefinitionVersion[]
  }
}

interface DefinitionNames {
  kind: string
  listKind: string
  plural: string
  singular: string
  shortNames: string[]
  categories: string[]
}

interface DefinitionVersion {
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

const kindDescriptions: Record<Controller, string> = {
  backup: 'Backs up topics of a Kafka cluster to a storage: once, on a schedule, or all the time.',
  restore: 'Restores a backup into a Kafka cluster, once. Run again, it continues where it stopped.',
  offset_reset: 'Sets consumer groups to other positions, once. It takes a snapshot of where they stood before.',
  offset_rollback: 'Leads consumer groups back to a snapshot of their positions, takes one, or compares with one.',
}

/** The text of deploy/crds/<plural>.yaml. */
export function formatDefinition(definition: CustomResourceDefinition): string {
  const text = stringify(definition, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false })
  return `# Made by \`make docs\` of src/operator/crd; changes are made there.\n${text}`
}

export interface PrintedDefinitions {
  /** Documents one after the other, for `kubectl apply -f -`. */
  yaml: string
  /** The same as one object, which kubectl takes as well. */
  list: object
}

export function printDefinitions(apiGroup: string): PrintedDefinitions {
  const items = buildDefinitions(apiGroup)
  return {
    yaml: items
      .map(definition => `---\n${formatDefinition(definition)}`)
      .join('')
      .trimEnd(),
    list: { apiVersion: 'v1', kind: 'List', items },
  }
}

const phase = column('Phase', 'string', '.status.phase')
const records = column('Records', 'integer', '.status.records')
const bytes = column('Bytes', 'integer', '.status.bytes')
const done = { ...column('Done %', 'integer', '.status.progress.percent'), description: 'Of the run under way.' }
const lastSuccess = column('Last Success', 'date', '.status.lastSuccessfulTime')
const age = column('Age', 'date', '.metadata.creationTimestamp')

const details: PrinterColumn[] = [
  wide(column('Reason', 'string', '.status.reason')),
  wide(column('Message', 'string', '.status.message')),
]

/** What `kubectl get` shows of each kind. Times to come are texts: a date is shown as an age. */
const printerColumns: Record<Controller, PrinterColumn[]> = {
  backup: [
    phase,
    column('Schedule', 'string', '.spec.schedule'),
    lastSuccess,
    records,
    bytes,
    age,
    wide(done),
    wide(column('Mode', 'string', '.spec.mode')),
    wide(column('Suspended', 'boolean', '.spec.suspend')),
    wide(column('Next', 'string', '.status.nextScheduleTime')),
    wide(column('Last Verify', 'date', '.status.lastVerifyTime')),
    wide(column('Backup ID', 'string', '.status.backupId')),
    ...details,
  ],
  restore: [
    phase,
    column('Backup ID', 'string', '.spec.backupId'),
    done,
    records,
    bytes,
    age,
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
  offset_reset: [
    phase,
    column('Strategy', 'string', '.spec.strategy'),
    column('Snapshot', 'string', '.status.snapshotId'),
    age,
    wide(column('Groups', 'string', '.spec.groups')),
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
  offset_rollback: [
    phase,
    column('Operation', 'string', '.spec.operation'),
    column('Snapshot', 'string', '.status.snapshotId'),
    age,
    wide(column('Of Reset', 'string', '.spec.resetRef.name')),
    wide(column('Dry Run', 'boolean', '.spec.dryRun')),
    wide(column('Completed', 'date', '.status.completionTime')),
    ...details,
  ],
}

function column(name: string, type: PrinterColumn['type'], jsonPath: string): PrinterColumn {
  return { name, type, jsonPath }
}

function wide(shown: PrinterColumn): PrinterColumn {
  return { ...shown, priority: 1 }
}
