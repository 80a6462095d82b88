import { topicName } from '../../config/kafka-text-rules.ts'
import { isMap, type Problem } from '../../config/problem.ts'
import { parseTime } from '../../config/time-leaf.ts'
import { BACKUP_ID_PATTERN } from '../../lib/name-patterns.ts'
import type { JobStep } from '../job/job-pod.ts'
import type { FieldGroup } from './field-schema.ts'
import {
  type CelRule,
  type FieldSchema,
  forbidden,
  nameRef,
  needed,
  textOrNumberRule,
  textRule,
} from './field-schema.ts'
import type { Controller, ResourceSpec } from './resource.ts'

/** Those that docs/offsets.md explains and that need no file. */
export const resetStrategies = ['earliest', 'latest', 'timestamp', 'offset', 'header_based'] as const

export const rollbackOperations = ['rollback', 'snapshot', 'verify'] as const

const groups: FieldSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 1000,
  items: { type: 'string', minLength: 1, maxLength: 1024 },
}

const id: FieldSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  'x-kubernetes-validations': [textRule(BACKUP_ID_PATTERN, '1 to 200 of A-Z a-z 0-9 . _ -, not beginning with a dot')],
}

const time: FieldSchema = {
  'x-kubernetes-int-or-string': true,
  maxLength: 40,
  'x-kubernetes-validations': [
    textOrNumberRule(
      '^(\\d{12,15}|\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:?\\d{2}))$',
      'an ISO 8601 time with Z or an offset, such as 2026-01-31T08:00:00Z, or milliseconds since 1970',
    ),
  ],
}

const dryRun: FieldSchema = { type: 'boolean', description: 'Only shows what would be set.', default: false }

const acceptPlainSnapshot: FieldSchema = {
  type: 'boolean',
  description:
    'Accepts a snapshot that is not encrypted although `encryption` is given, such as one taken before encryption was set up.',
  default: false,
}

const onlyFor = (name: string, strategy: string): CelRule =>
  forbidden(name, `self.strategy == '${strategy}'`, `${name} is for strategy ${strategy}`)

const neededFor = (name: string, strategy: string): CelRule =>
  needed(name, `self.strategy != '${strategy}'`, `${name} is required with strategy ${strategy}`)

/** The options of `offsets reset` as fields of a KafkaOffsetReset. */
export const resetFields: FieldGroup = {
  required: ['groups', 'strategy'],
  properties: {
    groups: { ...groups, description: 'Names of consumer groups, or patterns with * and ?.' },
    topics: {
      type: 'array',
      description: 'Only these topics: names, or patterns with * and ?. Without it all that a group has a position on.',
      minItems: 1,
      maxItems: 1000,
      items: {
        type: 'string',
        minLength: 1,
        maxLength: 249,
        'x-kubernetes-validations': [textRule('^[A-Za-z0-9._*?-]+$', 'a topic name or a pattern with * and ?')],
      },
    },
    partitions: {
      type: 'array',
      description: 'Only these partitions.',
      minItems: 1,
      maxItems: 1000,
      items: { type: 'integer', format: 'int64', minimum: 0, maximum: 99_999 },
    },
    strategy: { type: 'string', enum: [...resetStrategies], description: 'Where the positions come from.' },
    timestamp: {
      ...time,
      description: 'For `timestamp`: the first record of that time or later. ISO 8601 with a zone, or milliseconds.',
    },
    offset: {
      'x-kubernetes-int-or-string': true,
      description: 'For `offset`: the position to set. A text where it is beyond 2^53.',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      maxLength: 18,
      'x-kubernetes-validations': [textOrNumberRule('^\\d{1,18}$', 'an offset from 0')],
    },
    backupId: { ...id, description: 'For `header_based`: the backup whose groups are meant.' },
    fromSnapshot: { ...id, description: 'For `header_based`: the snapshot that was taken at the source.' },
    topicMapping: {
      type: 'object',
      description: 'For `header_based`: topics that were restored under another name, source topic to target topic.',
      maxProperties: 1000,
      additionalProperties: {
        type: 'string',
        minLength: 1,
        maxLength: 249,
        'x-kubernetes-validations': [textRule('^[A-Za-z0-9._-]+$', 'a topic name')],
      },
    },
    since: { ...time, description: 'For `header_based`: no unread record is older; the search begins there.' },
    acceptPlainSnapshot,
    dryRun,
  },
  rules: [
    neededFor('timestamp', 'timestamp'),
    onlyFor('timestamp', 'timestamp'),
    neededFor('offset', 'offset'),
    onlyFor('offset', 'offset'),
    ...['backupId', 'fromSnapshot', 'topicMapping', 'since'].map(name => onlyFor(name, 'header_based')),
    forbidden(
      'acceptPlainSnapshot',
      '!self.acceptPlainSnapshot || has(self.fromSnapshot)',
      'acceptPlainSnapshot is for fromSnapshot',
    ),
    {
      rule: "self.strategy != 'header_based' || has(self.backupId) != has(self.fromSnapshot)",
      message: 'strategy header_based needs backupId or fromSnapshot, and not both',
    },
  ],
}

/** The options of `offsets rollback`, `snapshot` and `verify` as fields of a KafkaOffsetRollback. */
export const rollbackFields: FieldGroup = {
  required: [],
  properties: {
    operation: {
      type: 'string',
      enum: [...rollbackOperations],
      default: 'rollback',
      description: '`rollback` sets what a snapshot says, `snapshot` takes one, `verify` compares with one.',
    },
    snapshotId: { ...id, description: 'The snapshot to roll back to or to compare with.' },
    resetRef: { ...nameRef, description: 'A KafkaOffsetReset of the namespace: the snapshot that it took is meant.' },
    groups: { ...groups, description: 'Only these groups: names, or patterns with * and ?. Without it all of them.' },
    strict: {
      type: 'boolean',
      description: 'For `verify`: a position that has gone on is a difference, too.',
      default: false,
    },
    acceptPlainSnapshot,
    dryRun,
  },
  rules: [
    {
      rule: "self.operation == 'snapshot' || has(self.snapshotId) != has(self.resetRef)",
      message: 'operation rollback and verify need snapshotId or resetRef, and not both',
    },
    ...['snapshotId', 'resetRef'].map(name =>
      forbidden(
        name,
        "self.operation != 'snapshot'",
        `${name} means nothing to operation snapshot, which takes a new one`,
      ),
    ),
    forbidden(
      'groups',
      "self.operation != 'verify'",
      'groups is for operation rollback and snapshot; verify compares all of the snapshot',
    ),
    forbidden(
      'acceptPlainSnapshot',
      "!self.acceptPlainSnapshot || self.operation != 'snapshot'",
      'acceptPlainSnapshot is for operation rollback and verify',
    ),
    forbidden('strict', "!self.strict || self.operation == 'verify'", 'strict is for operation verify'),
    forbidden('dryRun', "!self.dryRun || self.operation == 'rollback'", 'dryRun is for operation rollback'),
  ],
}

/** What of the options of `offsets` the API server cannot check, or did not where a resource is older than a rule. */
export function checkOffsetFields(controller: Controller, spec: ResourceSpec, step: JobStep): Problem[] {
  if (controller === 'offset_reset') return checkReset(spec)
  return controller === 'offset_rollback' ? checkRollback(spec, step) : []
}

const neededBy: Readonly<Record<string, string>> = { timestamp: 'timestamp', offset: 'offset' }

function checkReset(spec: ResourceSpec): Problem[] {
  const strategy = spec.strategy ?? ''
  const needed = neededBy[strategy]
  const problems = [
    ...(['timestamp', 'since'] as const).flatMap(name => checkTime(name, spec[name])),
    ...checkOffset(spec.offset),
    ...checkMapping(spec.topicMapping),
  ]
  if (strategy === '') problems.push(about('strategy', 'is required'))
  if (!Array.isArray(spec.groups) || spec.groups.length === 0) problems.push(about('groups', 'is required'))
  if (needed !== undefined && spec[needed] === undefined) {
    problems.push(about(needed, `is required with strategy ${strategy}`))
  }
  if (strategy === 'header_based' && (spec.backupId === undefined) === (spec.fromSnapshot === undefined)) {
    problems.push(about('fromSnapshot', 'or backupId is required with strategy header_based, and not both'))
  }
  return problems
}

function checkTime(name: string, value: unknown): Problem[] {
  const time = value === undefined ? undefined : parseTime(value)
  if (time === undefined || typeof time === 'bigint') return []
  return [{ path: ['spec', name], about: 'value', wrong: time.wrong }]
}

/** What JSON has made of a larger number is another one. */
function checkOffset(value: unknown): Problem[] {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return []
  const wrong = 'is too large to be read exactly as a number: put quotes around it'
  return [{ path: ['spec', 'offset'], about: 'value', wrong }]
}

function checkMapping(mapping: unknown): Problem[] {
  return Object.keys(isMap(mapping) ? mapping : {}).flatMap(name => {
    const wrong = topicName.wrong(name)
    const path = ['spec', 'topicMapping', name]
    return wrong === undefined ? [] : [{ path, about: 'field', wrong, allowed: topicName.allowed }]
  })
}

function checkRollback(spec: ResourceSpec, { snapshotId }: JobStep): Problem[] {
  // None at all would be taken for all of them.
  const isNone = Array.isArray(spec.groups) && spec.groups.length === 0
  const problems = isNone ? [about('groups', 'is an empty list; leave it out for all groups')] : []
  if (spec.operation === 'snapshot' || (snapshotId ?? spec.snapshotId ?? spec.resetRef) !== undefined) return problems
  return [...problems, about('snapshotId', 'or resetRef is required with operation rollback and verify')]
}

function about(name: string, wrong: string): Problem {
  return { path: ['spec', name], about: 'field', wrong }
}
