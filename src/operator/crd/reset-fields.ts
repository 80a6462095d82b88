import type { FieldGroup, FieldRule, FieldSchema } from './field-schema.ts'
import { nameList, snapshotField } from './offset-leaves.ts'

/** As the label `strategy` of the metrics has them. */
export const resetStrategies = ['earliest', 'latest', 'timestamp', 'offset', 'header_based'] as const

/** Where consumer groups are set to. */
export const resetFields: FieldGroup = {
  properties: {
    groups: nameList(
      'Consumer groups, by their names or patterns with `*` and `?`. Groups with active members are refused.',
      1,
    ),
    topics: nameList(
      'Topics, by their names or patterns. Without it: all that a group has positions on. A name sets all partitions of the topic, also those without a position.',
      1,
    ),
    partitions: {
      description: 'The only partitions that are set.',
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: { type: 'integer', format: 'int32', minimum: 0 },
      'x-kubernetes-list-type': 'set',
    },
    strategy: {
      description:
        'Where to: `earliest` the first offset, `latest` the end, `timestamp` the first record of that time, `offset` that offset, `header_based` the first record that was not read at the source of a restore.',
      type: 'string',
      enum: resetStrategies,
    },
    timestamp: time('The time for `strategy: timestamp`.'),
    offset: {
      description: 'The offset for `strategy: offset`, an integer or its digits.',
      'x-kubernetes-int-or-string': true,
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      minimum: 0,
      maxLength: 19,
      pattern: '^[0-9]+$',
    },
    backupId: {
      description: 'The backup that has the positions at the source, for `strategy: header_based`.',
      type: 'string',
      maxLength: 200,
      pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*$',
    },
    fromSnapshot: snapshotField('The snapshot that has the positions at the source, for `strategy: header_based`.'),
    topicMapping: {
      description:
        'The names that topics got by the restore, for `strategy: header_based`: source topic to target topic.',
      type: 'object',
      maxProperties: 1000,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 249 },
    },
    since: time('No unread record is older than this time, for `strategy: header_based`: the search begins there.'),
  },
  required: ['groups', 'strategy'],
  rules: [
    need('timestamp', 'timestamp', 'give the time, such as 2026-01-31T08:00:00Z'),
    need('offset', 'offset', 'give the offset'),
    only('timestamp', 'timestamp'),
    only('offset', 'offset'),
    only('backupId', 'header_based'),
    only('fromSnapshot', 'header_based'),
    only('topicMapping', 'header_based'),
    only('since', 'header_based'),
    {
      rule: "self.strategy != 'header_based' || has(self.backupId) != has(self.fromSnapshot)",
      message: 'header_based needs the positions at the source: give either backupId or fromSnapshot',
      fieldPath: '.strategy',
    },
  ],
}

function time(description: string): FieldSchema {
  return {
    description: `${description} ISO 8601 with Z or an offset, or milliseconds since 1970.`,
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    minimum: 0,
    maxLength: 40,
    pattern:
      '^([0-9]{1,16}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2}))$',
  }
}

function need(strategy: string, field: string, help: string): FieldRule {
  return {
    rule: `self.strategy != '${strategy}' || has(self.${field})`,
    message: `strategy ${strategy} needs it: ${help}`,
    fieldPath: `.${field}`,
    reason: 'FieldValueRequired',
  }
}

function only(field: string, strategy: string): FieldRule {
  return {
    rule: `!has(self.${field}) || self.strategy == '${strategy}'`,
    message: `means nothing to another strategy than ${strategy}: remove it, or set strategy to ${strategy}`,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  }
}
