import { textOf } from '../lib/json.ts'
import { type Complain, reference } from './leaf.ts'
import type { Item } from './map-leaves.ts'
import { nearMatch } from './near-match.ts'
import { isMap } from './problem.ts'

/** Offsets from `start` up to but without `end`; an end that is not given is that of the backup. */
export interface OffsetRange {
  readonly start?: bigint
  readonly end?: bigint
}

const LAST = 2n ** 63n - 1n
const allowed = 'an offset from 0, as a whole number'
const json = { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'string', pattern: '^\\d+$' }, reference] }

/** As a program may write it: a large offset is a bigint or a text. */
export interface WrittenRange {
  readonly start?: Offset
  readonly end?: Offset
}

type Offset = number | bigint | string

export const offsetRange: Item<OffsetRange, WrittenRange> = {
  allowed: '{start: offset, end: offset}, the end itself left out; one of the two may be missing',
  json: { type: 'object', properties: { start: json, end: json }, additionalProperties: false, minProperties: 1 },
  read: (value, complain) => {
    if (!isMap(value)) {
      complain({ wrong: 'is not a map' })
      return undefined
    }
    for (const name of Object.keys(value).filter(key => key !== 'start' && key !== 'end')) {
      const near = nearMatch(name, ['start', 'end'])
      complain({ at: [name], about: 'field', wrong: 'is not a known key', allowed: 'start, end', near })
    }
    const start = readBound(value, 'start', complain)
    const end = readBound(value, 'end', complain)
    if (Object.keys(value).length === 0) complain({ about: 'field', wrong: 'has neither start nor end' })
    if (start !== undefined && end !== undefined && start >= end) {
      complain({ about: 'field', wrong: 'selects nothing: its start is not below its end', allowed: undefined })
    }
    return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) }
  },
}

function readBound(range: Record<string, unknown>, name: 'start' | 'end', complain: Complain): bigint | undefined {
  if (!Object.hasOwn(range, name)) return undefined
  const refuse = (wrong: string, about: 'field' | 'value' = 'value') => {
    complain({ at: [name], about, wrong, allowed })
    return undefined
  }
  const value = range[name]
  if (value === null) return refuse('has no value', 'field')
  if (typeof value === 'number' && value > Number.MAX_SAFE_INTEGER) {
    return refuse('is too large to be read exactly as a number: put quotes around it')
  }
  if (!/^\d+$/.test(textOf(value))) return refuse('is not an offset')
  const offset = BigInt(textOf(value))
  return offset > LAST ? refuse('is beyond the last offset that Kafka has') : offset
}
