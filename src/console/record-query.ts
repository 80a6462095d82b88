import type { ManifestPartition } from '../archive/manifest.ts'
import { parseHeaderCondition } from '../inspect/conditions.ts'
import { parsePathCondition } from '../inspect/json-path.ts'
import type { RecordQuery } from './find-records.ts'
import { type FoundTopic, findPartition } from './find-topic.ts'
import { bigIn, contextIn, numberIn, textIn, timeIn } from './page-request.ts'

const PAGE_RECORDS = 50

/** Pure. Refuses what is not a number, a time or a condition. */
export function readRecordQuery(found: FoundTopic, query: URLSearchParams): RecordQuery {
  const number = numberIn(query, 'partition')
  const conditions = readConditions(query)
  const [since, until] = [timeIn(query, 'since'), timeIn(query, 'until')]
  const times = {
    start: since === undefined ? undefined : BigInt(since),
    end: until === undefined ? undefined : BigInt(until),
  }
  const [from, before, at] = [bigIn(query, 'from'), bigIn(query, 'before'), bigIn(query, 'at')]
  const startsAt = numberIn(query, 'resume')
  const hasTimes = times.start !== undefined || times.end !== undefined
  const isSearch = hasConditions(conditions) || hasTimes || from !== undefined || startsAt !== undefined
  const partitions = partitionsOf(found, { number, isSearch, startsAt })
  // A link that an earlier version made has the place to resume at in `from`.
  const place = startsAt !== undefined && at === undefined ? { resumeAt: from } : { from, resumeAt: at }
  // The newest ones, unless something else is asked for.
  const isNewest = !isSearch && from === undefined && before === undefined
  const first = partitions[0]
  return {
    ...{ partitions, ...place, times, withAborted: query.get('aborted') === '1', count: PAGE_RECORDS, ...conditions },
    before: before ?? (isNewest ? first?.end_offset : undefined),
    context: contextIn(query),
  }
}

/** One where it is named, or the newest records are shown: that with the most records, as far as it is not named. */
function partitionsOf(
  found: FoundTopic,
  { number, isSearch, startsAt = 0 }: { number: number | undefined; isSearch: boolean; startsAt: number | undefined },
): readonly ManifestPartition[] {
  if (number !== undefined) return [findPartition(found, number)]
  const { partitions } = found.topic
  if (isSearch) return partitions.filter(({ partition, records }) => partition >= startsAt && records > 0)
  return partitions.toSorted((a, b) => b.records - a.records || a.partition - b.partition).slice(0, 1)
}

function readConditions(query: URLSearchParams): Pick<RecordQuery, 'key' | 'keyPrefix' | 'text' | 'paths' | 'headers'> {
  const [key, text, where, header] = ['key', 'text', 'where', 'header'].map(name => textIn(query, name))
  const isPrefix = query.get('prefix') === '1'
  return {
    ...(isPrefix ? { keyPrefix: key } : { key }),
    text,
    paths: where === undefined ? [] : [parsePathCondition(where, 'The condition')],
    headers: header === undefined ? [] : [parseHeaderCondition(header)],
  }
}

export function hasConditions({
  key,
  keyPrefix,
  text,
  paths = [],
  headers,
}: Pick<RecordQuery, 'key' | 'keyPrefix' | 'text' | 'paths' | 'headers'>): boolean {
  return [key, keyPrefix, text].some(one => one !== undefined) || paths.length + headers.length > 0
}
