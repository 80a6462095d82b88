import * as z from 'zod'
import { count, int64 } from '../archive/scalars.ts'
import { KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'

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
  z.object({ runs: z.array(run).min(1) }),
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
  if (result.success) return withoutDoubles(result.data, path)
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

const HELP =
  'Give the output of `kafka-backup offset-map --format json`, or {"positions": [{"group", "topic", "partition", "offset"}]}; docs/offsets.md shows both.'

/** Where a position leads on the target. */
interface Translated {
  topic: string
  partition: number
  to: bigint
  /** Records between this and the end of the partition may have been read already. */
  isApproximate: boolean
}

/**
 * Where the positions of one topic at the source lead: for each partition of the target that has records of them, to the
 * first one that is unread; behind the last one where all are read. A partition of the target that has records of several
 * of the source is reported as approximate, unless all of them or none are unread; there, one without a position is unread.
 */
export function translateByRuns(
  positions: readonly { topic: string; partition: number; offset: bigint }[],
  runs: readonly MappingRun[],
): Translated[] {
  const read = new Map(positions.map(one => [`${one.topic}/${one.partition}`, one.offset]))
  const topics = new Set(positions.map(({ topic }) => topic))
  const meant = runs.filter(({ topic }) => topics.has(topic))
  const targets = [...Map.groupBy(meant, one => `${one.target_topic}/${one.target_partition}`).values()]
  const known = targets.filter(each => each.some(one => read.has(`${one.topic}/${one.partition}`)))
  return known.map(each => {
    const ordered = each.toSorted((a, b) => (a.target_offset < b.target_offset ? -1 : 1))
    const [{ target_topic: topic, target_partition: partition }] = ordered as [MappingRun]
    const unread = ordered.map(one => firstUnread(one, read.get(`${one.topic}/${one.partition}`) ?? 0n))
    const at = unread.findIndex(offset => offset !== undefined)
    const last = ordered.at(-1) as MappingRun
    if (at < 0) return { topic, partition, to: last.target_offset + last.count, isApproximate: false }
    const isApproximate = ordered.some((one, i) => i > at && unread[i] !== one.target_offset)
    return { topic, partition, to: unread[at] ?? 0n, isApproximate }
  })
}

function firstUnread(one: MappingRun, position: bigint): bigint | undefined {
  if (position <= one.offset) return one.target_offset
  return position >= one.offset + one.count ? undefined : one.target_offset + position - one.offset
}
