import { type FieldGroup, type FieldSchema, mergeGroups, textOrNumberRule } from './field-schema.ts'
import { podTemplateField } from './pod-template-fields.ts'
import type { Controller } from './resource.ts'
import { scheduleFields } from './schedule-fields.ts'
import { jobFieldSchema } from './section-schema.ts'

/** All fields of a spec: what a job file can say, what only a resource says, and what all say of their Jobs. */
export function specFields(controller: Controller): FieldGroup {
  const job = jobFieldSchema(controller)
  const kafkaCluster = { ...job.properties.kafkaCluster, description: 'The Kafka cluster, and how it is reached.' }
  const named = { ...job, properties: { ...job.properties, kafkaCluster } }
  return mergeGroups([named, ...ownFields(controller), jobFields])
}

function ownFields(controller: Controller): FieldGroup[] {
  if (controller === 'backup') return [scheduleFields]
  return controller === 'restore' ? [dryRunFields] : []
}

/** What all four kinds say of their Jobs and pods. */
const jobFields: FieldGroup = {
  properties: {
    suspend: {
      description:
        'Starts no run while it is true, and stops a continuous backup. Another run that is under way continues to its end.',
      type: 'boolean',
      default: false,
    },
    job: {
      description: 'Limits of the Jobs.',
      type: 'object',
      default: {},
      properties: {
        backoffLimit: {
          description:
            'How often a run is tried again after a pod failed of something that may pass. 6 without it; a continuous backup is tried for ever.',
          type: 'integer',
          format: 'int32',
          minimum: 0,
          maximum: 10_000,
        },
        activeDeadlineSeconds: limit(
          'How long a run may take, with all that is tried again. Without it: as long as it takes.',
          1,
        ),
        terminationGracePeriodSeconds: limit(
          'The time that a pod has to commit what is durable when it is stopped. 120 without it.',
          1,
          3600,
        ),
        successfulJobsHistoryLimit: {
          ...limit('Jobs that are kept after they succeeded, for their logs.', 0, 100),
          default: 3,
        },
        failedJobsHistoryLimit: {
          ...limit('Jobs that are kept after they failed, for their logs.', 0, 100),
          default: 3,
        },
      },
    },
    resources: {
      description: 'What a pod asks for and may take, as Kubernetes writes it.',
      type: 'object',
      properties: {
        requests: amounts('What a node must have free for the pod.'),
        limits: amounts('What the pod may take at most.'),
      },
    },
    podTemplate: podTemplateField,
  },
  required: [],
  rules: [],
}

/** Of a restore; the kinds about positions have theirs from their commands. */
const dryRunFields: FieldGroup = {
  properties: {
    dryRun: {
      description: 'Only plans and checks the restore, and changes nothing. The plan is in the log of the pod.',
      type: 'boolean',
      default: false,
    },
  },
  required: [],
  rules: [],
}

function limit(description: string, minimum: number, maximum = 31_536_000): FieldSchema {
  return { description, type: 'integer', format: 'int64', minimum, maximum }
}

function amounts(description: string): FieldSchema {
  return {
    description: `${description} Such as \`cpu: 500m\`, \`memory: 512Mi\`.`,
    type: 'object',
    maxProperties: 20,
    additionalProperties: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      'x-kubernetes-int-or-string': true,
      maxLength: 32,
      'x-kubernetes-validations': [
        textOrNumberRule(
          '^([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$',
          'an amount such as 500m, 1.5, 512Mi or 2Gi',
        ),
      ],
    },
  }
}
