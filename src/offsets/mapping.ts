import * as z from 'zod'
import { count, int64 } from '../archive/scalars.ts'
import { KafkaBackupError } from '../errors.ts'
import { partitionKey } from '../kafka/offsets.ts'
import { parseJson } from '../lib/json.ts'
import { mixedProblem } from './mixed-partition.ts'

const run = z.object({
  topic: z.string(),
  partition: count,
  offset: int64,
  target_topic: z.string(),
  target_partition: count,
  target_offset: int64,
  count: int64,
})

const position = z.strictObject({
  /** Every group that is reset, where it is not given. */
  group: z.string().exactOptional(),
  topic: z.string(),
  partition: count,
  offset: int64,
})

/** `runs` is what `offset-map --format json` prints; `positions` are offsets of this cluster, ready to be set. */
const mappingSchema = z.union([
  z.object({
    runs: z.array(run).min(1),
    partition: count.exactOptional(),
    /** The IDs that topics of the target had; absent where they had none, and in maps of versions that did not write them. */
    target_topics: z.array(z.object({ topic: z.string(), id: z.string() })).exactOptional(),
  }),
  z.strictObject({ positions: z.array(position).min(1) }),
])

export type OffsetMapping = z.output<typeof mappingSchema>
export type MappingRun = z.output<typeof run>

export function parseMapping(text: string, path: string): OffsetMapping {
  let data: unknown
  try {
    data = parseJson(text)
  } catch (cause) {
    throw new KafkaBackupError('CONFIG_INVALID', `${path} is not JSON`, { cause, help: HELP })
  }
  const result = mappingSchema.safeParse(data)
  if (result.success) return wholeMap(withoutDoubles(result.data, path), path)
  const [issue] = result.error.issues
  const where = issue?.path.join('.') ?? ''
  throw new KafkaBackupError('CONFIG_INVALID', `${path} is not a mapping of offsets: ${where} ${issue?.message}`, {
    details: { field: issue?.path.join('.') },
    help: HELP,
  })
}

/** Which of two would be committed last is up to the broker. */
function withoutDoubles(mapping: OffsetMapping, path: string): OffsetMapping {
  const seen = new Set<string>()
  for (const { group, topic, partition } of 'positions' in mapping ? mapping.positions : []) {
    const key = JSON.stringify([group, topic, partition])
    const whose = group === undefined ? 'all groups' : `group ${group}`
    const message = `${path} has a position of ${whose} on ${topic}/${partition} twice`
    if (seen.has(key)) throw new KafkaBackupError('CONFIG_INVALID', message, { help: 'Leave one of them out.' })
    seen.add(key)
  }
  return mapping
}

/** In a map of one partition, those that records of others are mixed into look as if they had its records alone. */
function wholeMap(mapping: OffsetMapping, path: string): OffsetMapping {
  if (!('runs' in mapping) || mapping.partition === undefined) return mapping
  const message = `${path} maps partition ${mapping.partition} alone, so it does not show where records of others are mixed with it`
  throw new KafkaBackupError('CONFIG_INVALID', message, { help: 'Run `offset-map` again without `--partition`.' })
}

const HELP =
  'Give the output of `kafka-backup offset-map --format json`, or {"positions": [{"group", "topic", "partition", "offset"}]}; docs/offsets.md shows both.'

/** Where positions lead in one partition of the target. */
interface Translated {
  topic: string
  partition: number
  to: bigint | { problem: string }
}

/**
 * Where the positions of one group at the source lead: for each partition of the target that has records of them, to the
 * first one that is unread; behind the last one where all are read. A partition of the target that has records of several
 * of the source is a problem, and so is one that does not have them in their order.
 */
export function translateByRuns(
  positions: readonly { topic: string; partition: number; offset: bigint }[],
  runs: readonly MappingRun[],
): Translated[] {
  const read = new Map(positions.map(one => [partitionKey(one), one.offset]))
  const targets = [...Map.groupBy(runs, one => `${one.target_topic}/${one.target_partition}`).values()]
  return targets.flatMap((each): Translated[] => {
    const ordered = each.toSorted((a, b) => (a.target_offset < b.target_offset ? -1 : 1))
    const [first] = ordered as [MappingRun]
    const place = { topic: first.target_topic, partition: first.target_partition }
    const known = each.map(one => read.get(partitionKey(one))).find(offset => offset !== undefined)
    if (known === undefined) return []
    const problem = findDisorder(ordered)
    return [{ ...place, to: problem === undefined ? nextUnread(ordered, known) : { problem } }]
  })
}

function findDisorder(ordered: readonly MappingRun[]): string | undefined {
  const sources = ordered.map(partitionKey)
  if (new Set(sources).size > 1) return mixedProblem(sources)
  const isAscending = ordered.every((one, i) => {
    const before = ordered[i - 1]
    return !before || (one.offset >= endOf(before) && one.target_offset >= before.target_offset + before.count)
  })
  return isAscending ? undefined : `the mapping does not have the records of ${sources[0]} in their order here`
}

function nextUnread(ordered: readonly MappingRun[], position: bigint): bigint {
  const next = ordered.find(one => position < endOf(one))
  const last = ordered.at(-1) as MappingRun
  if (!next) return last.target_offset + last.count
  return position <= next.offset ? next.target_offset : next.target_offset + position - next.offset
}

function endOf({ offset, count }: MappingRun): bigint {
  return offset + count
}
