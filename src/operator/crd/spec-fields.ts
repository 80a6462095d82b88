import { withClusterRef } from './cluster-fields.ts'
import { drillFields } from './drill-fields.ts'
import { type FieldGroup, type FieldSchema, mergeGroups, textOrNumberRule } from './field-schema.ts'
import { podTemplateField } from './pod-template-fields.ts'
import type { AnyController, Controller } from './resource.ts'
import { parallelismField, scheduleFields } from './schedule-fields.ts'
import { jobFieldSchema } from './section-schema.ts'
import { storageFields, withStorageRef } from './storage-fields.ts'

/** All fields of a spec: those of a job file, those of the kind, and those of all Jobs. */
export function specFields(controller: AnyController): FieldGroup {
  if (controller === 'storage') return mergeGroups([jobFieldSchema(controller), storageFields, podFields])
  const job = withClusterRef(withStorageRef(jobFieldSchema(controller)))
  return mergeGroups([job, ...ownFields(controller), jobFields, podFields])
}

function ownFields(controller: Controller): FieldGroup[] {
  if (controller === 'backup') return [scheduleFields, drillFields()]
  return controller === 'restore' ? [restoreFields] : []
}

/** Fields of the four kinds that run something, about their Jobs. */
const jobFields: FieldGroup = {
  properties: {
    suspend: {
      description: 'While true, no run starts and a continuous backup stops. Other active runs continue to their end.',
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
            'How often a run is retried after a pod failed with a temporary error. Default: 6; a continuous backup is retried without limit.',
          type: 'integer',
          format: 'int32',
          minimum: 0,
          maximum: 10_000,
        },
        activeDeadlineSeconds: limit('Maximum duration of a run, with its retries. Default: no limit.', 1),
        terminationGracePeriodSeconds: limit(
          'How long a pod may take to commit its data when it is stopped. Default: 120.',
          1,
          3600,
        ),
        successfulJobsHistoryLimit: {
          ...limit('How many successful Jobs to keep, for their logs.', 0, 100),
          default: 3,
        },
        failedJobsHistoryLimit: {
          ...limit('How many failed Jobs to keep, for their logs.', 0, 100),
          default: 3,
        },
      },
    },
  },
  required: [],
  rules: [],
}

/** Fields of all kinds about pods. */
const podFields: FieldGroup = {
  properties: {
    resources: {
      description: 'Resource requests and limits of the pods, as in Kubernetes.',
      type: 'object',
      properties: {
        requests: amounts('Requested resources.'),
        limits: amounts('Maximum resources.'),
      },
    },
    podTemplate: podTemplateField,
  },
  required: [],
  rules: [],
}

/** For a restore; the offset kinds have `dryRun` from their commands. */
const restoreFields: FieldGroup = {
  properties: {
    parallelism: parallelismField(
      'Number of pods that share the records of the restore. With more than one, the first creates topics and schemas, and a last pod completes the restore: settings, committed offsets, access rules, comparison. A dry run has one pod.',
    ),
    dryRun: {
      description:
        'Only plans and checks the restore; changes nothing. The plan is in the log of the pod. The run fails where the real one would be refused.',
      type: 'boolean',
      default: false,
    },
    probe: {
      description:
        'What is measured before the restore, or by a dry run, to estimate its time: `store` reads up to 64 MiB of the backup for up to 5 s; `target` also writes up to 64 MiB to a topic `__kafka-backup.probe.*`, which it creates and deletes. `status.estimate` has the result.',
      type: 'string',
      enum: ['store', 'target'],
    },
  },
  required: [],
  rules: [
    {
      rule: '!(has(self.probe) && self.parallelism > 1 && !self.dryRun)',
      message:
        'a restore with several pods is not probed: set parallelism to 1, or probe with another KafkaRestore that has dryRun true',
      fieldPath: '.probe',
    },
  ],
}

function limit(description: string, minimum: number, maximum = 31_536_000): FieldSchema {
  return { description, type: 'integer', format: 'int64', minimum, maximum }
}

function amounts(description: string): FieldSchema {
  return {
    description: `${description} For example \`cpu: 500m\`, \`memory: 512Mi\`.`,
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
