import { topicName } from '../../config/kafka-text-rules.ts'
import { isMap, type Problem } from '../../config/problem.ts'
import { parseTime } from '../../config/time-leaf.ts'
import type { JobStep } from './job-pod.ts'
import type { Controller, ResourceSpec } from './resource.ts'

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
