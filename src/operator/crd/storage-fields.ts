import { parseDurationMs } from '../../lib/units.ts'
import type { CelRule, FieldGroup } from './field-schema.ts'
import { nameRef, textRule } from './field-schema.ts'
import type { ResourceSpec } from './resource.ts'

const DEFAULT_INTERVAL = '1h'
const MIN_INTERVAL_MS = 5 * 60_000

/** What a KafkaBackupStorage has next to its location. */
export const storageFields: FieldGroup = {
  properties: {
    validationInterval: {
      description: 'How often the location is read and written to. At least `5m`. After a failure, every two minutes.',
      type: 'string',
      maxLength: 8,
      default: DEFAULT_INTERVAL,
      'x-kubernetes-validations': [
        textRule(
          '^(([5-9]|[1-9][0-9]{1,3})m|[1-9][0-9]{0,2}[hd])$',
          'a number of minutes, hours or days, at least 5m, such as 30m, 1h or 1d',
        ),
      ],
    },
    suspend: {
      description: 'While true, the location is not validated; the last result stays.',
      type: 'boolean',
      default: false,
    },
    job: {
      description: 'Limits of the Jobs that validate the location.',
      type: 'object',
      default: {},
      properties: {
        activeDeadlineSeconds: {
          description: 'Maximum duration of a validation.',
          type: 'integer',
          format: 'int64',
          minimum: 10,
          maximum: 3600,
          default: 300,
        },
      },
    },
  },
  required: [],
  rules: [],
}

/** Tolerates what a definition of another version accepted. */
export function validationIntervalMs({ validationInterval = DEFAULT_INTERVAL }: ResourceSpec): number {
  const ms = parseDurationMs(String(validationInterval)) ?? parseDurationMs(DEFAULT_INTERVAL) ?? 0
  return Math.max(ms, MIN_INTERVAL_MS)
}

/** The fields of a kind that uses a location: it is in the spec, or in a KafkaBackupStorage. */
export function withStorageRef({ properties, required, rules }: FieldGroup): FieldGroup {
  const { storage, ...others } = properties
  const storageRef = {
    ...nameRef,
    description: 'A KafkaBackupStorage of the namespace, instead of `storage`. Runs start only while it is available.',
  }
  return {
    properties: { ...others, ...(storage && { storage }), storageRef },
    required: required.filter(name => name !== 'storage'),
    rules: [...rules, oneStorage],
  }
}

const oneStorage: CelRule = {
  rule: 'has(self.storage) != has(self.storageRef)',
  message: 'exactly one of storage and storageRef is required',
  fieldPath: '.storage',
  reason: 'FieldValueRequired',
}
