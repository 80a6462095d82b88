import { usageError } from '../../errors.ts'
import type { OffsetMapRun, OffsetPlace } from '../../restore/offset-map.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable } from '../table.ts'
import { numberOption, offsetOption } from './option-values.ts'

const NOT_FOUND = 1

export async function run(session: Session): Promise<number> {
  const { topic, partition, offset } = readRequest(session.options)
  const job = await session.loadRestoreJob(session.options.config ?? '')
  if (topic !== undefined && partition !== undefined && offset !== undefined) {
    const asked = { topic, partition, offset }
    const place = await session.actions.findOffsetJob(job, asked, session, session.signal)
    session.print(
      () => [formatPlace(asked, place)],
      () => ({ ...asked, ...placeDocument(place) }),
    )
    return place ? 0 : NOT_FOUND
  }
  const filter = { ...(topic !== undefined && { topic }), ...(partition !== undefined && { partition }) }
  const runs = await session.actions.offsetMapJob(job, filter, session, session.signal)
  session.print(
    () => formatRuns(runs, session.style),
    () => ({ backup_id: job.backupId, ...filter, ...targetTopics(runs), runs: runs.map(runDocument) }),
  )
  return 0
}

interface RequestedOffset {
  topic?: string | undefined
  partition?: number
  offset?: bigint
}

function readRequest(options: CommandOptions): RequestedOffset {
  const { topic } = options
  const partition = numberOption('partition', options.partition)
  const offset = offsetOption('offset', options.offset)
  if (partition !== undefined && topic === undefined) throw usageError('--partition needs --topic')
  if (offset !== undefined && partition === undefined) throw usageError('--offset needs --topic and --partition')
  return { topic, ...(partition !== undefined && { partition }), ...(offset !== undefined && { offset }) }
}

function formatPlace({ topic, partition, offset }: Required<RequestedOffset>, place: OffsetPlace | undefined): string {
  const asked = `${topic}/${partition} offset ${offset}`
  if (!place) return `${asked}: neither this record nor a later one is on the target`
  const where = `${place.targetTopic}/${place.targetPartition} offset ${place.targetOffset}`
  return place.isExact
    ? `${asked} is ${where}`
    : `${asked}: no record was restored from this offset; the next one, from offset ${place.sourceOffset}, is ${where}`
}

function formatRuns(runs: readonly OffsetMapRun[], style: OutputStyle): string[] {
  if (runs.length === 0) return ['No records of this restore are on the target.']
  return formatTable<OffsetMapRun>(
    [
      { title: 'SOURCE', cell: run => `${run.topic}/${run.partition}`, shrinks: true },
      { title: 'FROM', align: 'right', cell: run => String(run.sourceOffset) },
      { title: 'TO', dropAs: 1, align: 'right', cell: run => String(run.sourceOffset + run.count - 1n) },
      { title: 'TARGET', cell: run => `${run.targetTopic}/${run.targetPartition}`, shrinks: true },
      { title: 'FROM', align: 'right', cell: run => String(run.targetOffset) },
      { title: 'RECORDS', align: 'right', cell: run => String(run.count) },
    ],
    runs,
    style,
  )
}

/** What tells that a topic was created again since the map was made. */
function targetTopics(runs: readonly OffsetMapRun[]) {
  const ids = new Map(runs.map(({ targetTopic, targetTopicId }) => [targetTopic, targetTopicId]))
  const topics = [...ids].flatMap(([topic, id]) => (id === undefined ? [] : [{ topic, id }]))
  return topics.length > 0 && { target_topics: topics }
}

function runDocument(run: OffsetMapRun) {
  return {
    topic: run.topic,
    partition: run.partition,
    offset: run.sourceOffset,
    target_topic: run.targetTopic,
    target_partition: run.targetPartition,
    target_offset: run.targetOffset,
    count: run.count,
  }
}

function placeDocument(place: OffsetPlace | undefined) {
  if (!place) return { found: 'nothing' }
  return {
    found: place.isExact ? 'exact' : 'next',
    source_offset: place.sourceOffset,
    target_topic: place.targetTopic,
    target_partition: place.targetPartition,
    target_offset: place.targetOffset,
  }
}
