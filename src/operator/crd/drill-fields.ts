import { type FieldGroup, type FieldSchema, keyRef, textRule } from './field-schema.ts'
import { scheduleField } from './schedule-fields.ts'
import { jobFieldSchema } from './section-schema.ts'

/** What of the section `restore` of a KafkaRestore applies to the scratch topics of a drill. */
export const drillRestoreFields = ['replicationFactor', 'topicConfig', 'memoryBudget', 'rateLimit']

/** The drills of a backup. */
export function drillFields(): FieldGroup {
  const { kafkaCluster = {}, restore = {} } = jobFieldSchema('restore').properties
  return { properties: { drill: drillSchema(kafkaCluster, restore) }, required: [], rules: [] }
}

function drillSchema(kafkaCluster: FieldSchema, restore: FieldSchema): FieldSchema {
  const chosen = drillRestoreFields.flatMap(name => {
    const field = restore.properties?.[name]
    return field ? [[name, field] as const] : []
  })
  return {
    description:
      'Proves on a schedule that the backup can be restored: restores a part of it to new topics of a cluster, compares every record, and deletes these topics. The evidence is stored in the folder of the backup.',
    type: 'object',
    required: ['schedule', 'kafkaCluster'],
    properties: {
      schedule: scheduleField('When to drill. A drill waits while a run of the backup is active.'),
      kafkaCluster: {
        ...kafkaCluster,
        description: 'The Kafka cluster that takes the scratch topics, and its connection settings.',
      },
      ...partFields(restore.properties?.topics?.properties?.include),
      ...proofFields,
      restore: {
        description: 'How the scratch topics are created and written, as in a KafkaRestore.',
        type: 'object',
        properties: Object.fromEntries(chosen),
      },
    },
    'x-kubernetes-validations': [
      {
        rule: '!(has(self.samplePercent) && has(self.newest))',
        message:
          'samplePercent cannot be combined with newest, because a random part of all offsets seldom has records of that time: remove one of the two',
        fieldPath: '.samplePercent',
      },
    ],
  }
}

/** What of the backup is restored. */
function partFields(include: FieldSchema | undefined): Record<string, FieldSchema> {
  return {
    topics: {
      ...withoutDefault(include),
      description: 'Topics to drill, by their names in the backup, or patterns. Default: all.',
    },
    samplePercent: {
      description:
        'Restores only this share of the offsets of every partition, at a random place. Default: all of them.',
      type: 'number',
      maximum: 100,
      // The API server compares a whole number with the whole part of a minimum.
      'x-kubernetes-validations': [{ rule: 'self >= 0.000001', message: 'must be above 0 and at most 100' }],
    },
    newest: {
      description: 'Restores only records of this time before the commit, such as `24h`. Default: all of them.',
      type: 'string',
      maxLength: 20,
      'x-kubernetes-validations': [textRule('^[1-9][0-9]{0,8}(ms|s|m|h|d)$', 'a duration such as 30m, 24h or 7d')],
    },
  }
}

const proofFields: Record<string, FieldSchema> = {
  schemas: {
    description: 'Whether the schemas of the backup are restored to a registry in memory, and IDs are rewritten.',
    type: 'boolean',
    default: true,
  },
  signingKeySecret: keyRef('From a secret: an ed25519 private key (PEM) that signs the evidence.'),
  scratchPrefix: {
    description: 'Prefix of the names of all topics that the drill creates. Default: `kafka-backup-drill.`.',
    type: 'string',
    minLength: 1,
    maxLength: 100,
    'x-kubernetes-validations': [textRule('^[A-Za-z0-9._-]+$', 'letters, digits, ., _ and -')],
  },
}

function withoutDefault({ default: _, ...schema }: FieldSchema = {}): FieldSchema {
  return schema
}
