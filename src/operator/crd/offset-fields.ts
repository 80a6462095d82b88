import {
  any,
  checkRules,
  exactlyOne,
  type FieldRule,
  forbidden,
  has,
  is,
  not,
  on,
  required,
} from '../../config/field-rules.ts'
import { topicName } from '../../config/kafka-text-rules.ts'
import { isMap, type Problem } from '../../config/problem.ts'
import { backupId } from '../../config/text-leaves.ts'
import { parseTime } from '../../lib/point-in-time.ts'
import { formatRules } from './cel.ts'
import { type FieldGroup, type FieldSchema, nameRef, textOrNumberRule, textRule } from './field-schema.ts'
import type { AnyController, ResourceSpec } from './resource.ts'

/** The strategies of docs/offsets.md that need no file. */
const resetStrategies = ['earliest', 'latest', 'timestamp', 'offset', 'header_based'] as const

const rollbackOperations = ['rollback', 'snapshot', 'verify'] as const

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
  'x-kubernetes-validations': [textRule(backupId.pattern, backupId.allowed)],
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

const dryRun: FieldSchema = {
  type: 'boolean',
  description: 'Only shows what would be set, and changes nothing. The run fails where the real one would.',
  default: false,
}

const acceptPlainSnapshot: FieldSchema = {
  type: 'boolean',
  description:
    'Accepts an unencrypted snapshot although `encryption` is set, for example one taken before encryption was configured.',
  default: false,
}

/** Checked by the API server, and by `checkOffsetFields` for resources that are older than a rule. */
const resetRules: readonly FieldRule[] = [
  ...['timestamp', 'offset'].flatMap(name => [
    required(name, not(is('strategy', name)), `is required with strategy ${name}`),
    forbidden(name, is('strategy', name), `is for strategy ${name}`),
  ]),
  ...['backupId', 'fromSnapshot', 'topicMapping', 'since'].map(name =>
    forbidden(name, is('strategy', 'header_based'), 'is for strategy header_based'),
  ),
  forbidden('acceptPlainSnapshot', any(not(on('acceptPlainSnapshot')), has('fromSnapshot')), 'is for fromSnapshot'),
  exactlyOne(
    'fromSnapshot',
    'backupId',
    not(is('strategy', 'header_based')),
    'is required with strategy header_based, and not both',
  ),
]

const isOperation = (name: string) => is('operation', name)
const isNew = 'has no effect with operation snapshot, which takes a new one'
const isForAll = 'is for operation rollback and snapshot; verify compares the complete snapshot'
const isReading = any(not(on('acceptPlainSnapshot')), not(isOperation('snapshot')))

const rollbackRules: readonly FieldRule[] = [
  exactlyOne(
    'snapshotId',
    'resetRef',
    isOperation('snapshot'),
    'is required with operation rollback and verify, and not both',
  ),
  ...['snapshotId', 'resetRef'].map(name => forbidden(name, not(isOperation('snapshot')), isNew)),
  forbidden('groups', not(isOperation('verify')), isForAll),
  forbidden('acceptPlainSnapshot', isReading, 'is for operation rollback and verify'),
  forbidden('strict', any(not(on('strict')), isOperation('verify')), 'is for operation verify'),
  forbidden('dryRun', any(not(on('dryRun')), isOperation('rollback')), 'is for operation rollback'),
]

/** The options of `offsets reset` as fields of a KafkaOffsetReset. */
export const resetFields: FieldGroup = {
  required: ['groups', 'strategy'],
  properties: {
    groups: { ...groups, description: 'Names of consumer groups, or patterns with * and ?.' },
    topics: {
      type: 'array',
      description:
        'Only these topics: names, or patterns with * and ?. Default: all topics for which a group has a committed offset.',
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
    strategy: { type: 'string', enum: [...resetStrategies], description: 'How the new offsets are chosen.' },
    timestamp: {
      ...time,
      description: 'For `timestamp`: the first record of that time or later. ISO 8601 with a zone, or milliseconds.',
    },
    offset: {
      'x-kubernetes-int-or-string': true,
      description: 'For `offset`: the offset to set. Use a string for offsets beyond 2^53.',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      maxLength: 18,
      'x-kubernetes-validations': [textOrNumberRule('^\\d{1,18}$', 'an offset from 0')],
    },
    backupId: { ...id, description: 'For `header_based`: the backup with the consumer groups.' },
    fromSnapshot: { ...id, description: 'For `header_based`: the snapshot taken at the source.' },
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
    since: {
      ...time,
      description: 'For `header_based`: the reset is refused if an unread record is older.',
    },
    acceptPlainSnapshot,
    dryRun,
  },
  rules: formatRules(resetRules, name => [name]),
}

/** The options of `offsets rollback`, `snapshot` and `verify` as fields of a KafkaOffsetRollback. */
export const rollbackFields: FieldGroup = {
  required: [],
  properties: {
    operation: {
      type: 'string',
      enum: [...rollbackOperations],
      default: 'rollback',
      description: '`rollback` sets the offsets of a snapshot, `snapshot` takes one, `verify` compares with one.',
    },
    snapshotId: { ...id, description: 'The snapshot to roll back to or to compare with.' },
    resetRef: { ...nameRef, description: 'A KafkaOffsetReset of the namespace, whose snapshot is used.' },
    groups: { ...groups, description: 'Only these groups: names, or patterns with * and ?. Default: all groups.' },
    strict: {
      type: 'boolean',
      description: 'For `verify`: also reports committed offsets that have advanced since the snapshot.',
      default: false,
    },
    acceptPlainSnapshot,
    dryRun,
  },
  rules: formatRules(rollbackRules, name => [name]),
}

/** What the API server cannot check, and its rules once more for resources that are older than them. */
export function checkOffsetFields(controller: AnyController, spec: ResourceSpec): Problem[] {
  if (controller === 'offset_reset') return [...checkStructure(resetFields, spec), ...checkReset(spec)]
  return controller === 'offset_rollback' ? [...checkStructure(rollbackFields, spec), ...checkRollback(spec)] : []
}

function checkStructure({ properties, required }: FieldGroup, spec: ResourceSpec): Problem[] {
  const missing = required.filter(name => spec[name] === undefined).map(name => about(name, 'is required'))
  const empty = Object.entries(properties).filter(([name, { minItems = 0 }]) => {
    const value = spec[name]
    return Array.isArray(value) && value.length < minItems
  })
  return [...missing, ...empty.map(([name]) => about(name, 'is an empty list'))]
}

function checkReset(spec: ResourceSpec): Problem[] {
  return [
    ...(['timestamp', 'since'] as const).flatMap(name => checkTime(name, spec[name])),
    ...checkOffset(spec.offset),
    ...checkMapping(spec.topicMapping),
    ...checkRules(resetRules, spec, ['spec']),
  ]
}

function checkRollback(spec: ResourceSpec): Problem[] {
  return checkRules(rollbackRules, { operation: 'rollback', ...spec }, ['spec'])
}

function checkTime(name: string, value: unknown): Problem[] {
  const time = value === undefined ? undefined : parseTime(value)
  if (time === undefined || typeof time === 'bigint') return []
  return [{ path: ['spec', name], about: 'value', wrong: time.wrong }]
}

/** JSON rounds a larger number. */
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

function about(name: string, wrong: string): Problem {
  return { path: ['spec', name], about: 'field', wrong }
}
