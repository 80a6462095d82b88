import { usageError } from '../../errors.ts'
import type { CatQuery } from '../../inspect/cat.ts'
import { parseHeaderCondition } from '../../inspect/conditions.ts'
import { parsePathCondition } from '../../inspect/json-path.ts'
import { type Showing, showings } from '../../inspect/show-record.ts'
import type { CommandOptions } from '../option-specs.ts'
import { numberOption, offsetOption, timeOption } from './option-values.ts'

/** The records that `cat`, `search` and `export` are asked for. */
export function readQuery(options: CommandOptions): CatQuery {
  const { topic = '', key, header, context, withAborted } = options
  const offsets = {
    start: offsetOption('from-offset', options.fromOffset),
    end: offsetOption('to-offset', options.toOffset),
  }
  const times = { start: timeOption('since', options.since), end: timeOption('until', options.until) }
  if (offsets.start !== undefined && offsets.end !== undefined && offsets.end <= offsets.start) {
    throw usageError('--to-offset must be greater than --from-offset')
  }
  if (times.start !== undefined && times.end !== undefined && times.end <= times.start) {
    throw usageError('--until must be later than --since')
  }
  return {
    ...{ topic, key, context, keyPrefix: options.keyPrefix, text: options.text },
    paths: options.where.map(text => parsePathCondition(text)),
    partition: numberOption('partition', options.partition),
    extent: { offsets, times, withAborted },
    headers: header.map(parseHeaderCondition),
    newest: countOption('newest', options.newest),
    limit: countOption('limit', options.limit),
    keyAs: showingOf(options.keyAs),
    valueAs: showingOf(options.valueAs),
  }
}

/** The parser lets choices pass only. */
function showingOf(text: string | undefined): Showing {
  return showings.find(one => one === text) ?? 'auto'
}

/** They are held in memory. */
const MAX_NEWEST = 100_000

function countOption(name: 'newest' | 'limit', text: string | undefined): number | undefined {
  const count = numberOption(name, text)
  if (count === 0) throw usageError(`--${name} must be 1 or more`)
  if (name === 'newest' && count !== undefined && count > MAX_NEWEST)
    throw usageError(`--newest is at most ${MAX_NEWEST}`)
  return count
}
