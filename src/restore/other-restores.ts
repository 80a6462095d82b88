import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchOffsetsOfGroups } from '../kafka/group-offsets.ts'
import { listGroups } from '../kafka/groups.ts'
import { fetchBounds } from '../kafka/offsets.ts'
import { type Finding, topicError, topicWarning } from '../observe/finding.ts'
import { type EarlierRestore, findLost } from './lost-records.ts'
import { findOtherVersions } from './other-versions.ts'
import type { RestorePlan } from './plan.ts'
import { decodeNotes, type ProgressNote, restoreGroup, streamKey } from './progress.ts'
import { isReplaced } from './replaced-topics.ts'
import type { RestoreOptions } from './restore-options.ts'
import { listSome } from './shard-plan.ts'

/** What earlier runs have left on the target that this one must not continue with, or not write next to. */
export async function findEarlier(
  cluster: Cluster,
  plan: RestorePlan,
  earlier: EarlierRestore & { version: string },
  options: RestoreOptions,
  signal: AbortSignal,
): Promise<Finding[]> {
  const lost = await findLost(cluster, plan, earlier, options, signal)
  const unfit = [...lost, ...findOtherVersions(plan, earlier.progress, options, earlier.version)]
  if (options.existingTopics !== 'append' || earlier.progress) return unfit
  return [...unfit, ...(await findOtherRestores(cluster, plan, earlier, signal))]
}

/**
 * Other restores of the backup that have written to the partitions of this one. A job that was changed is another restore, and appends
 * what the earlier one has appended a second time: neither the records nor the settings of a topic that existed before show it.
 */
async function findOtherRestores(
  cluster: Cluster,
  { backupId, topics }: RestorePlan,
  { shown, restoreId }: EarlierRestore,
  signal: AbortSignal,
): Promise<Finding[]> {
  // One without a leader blocks this restore anyway.
  const partitions = new Set(
    shown.flatMap(({ name, partitions }) =>
      partitions.filter(({ leader }) => leader >= 0).map(({ partition }) => streamKey({ topic: name, partition })),
    ),
  )
  const planned = topics.flatMap(({ name, streams }) =>
    streams.map(({ partition }) => streamKey({ topic: name, partition })).filter(key => partitions.has(key)),
  )
  if (planned.length === 0) return []
  const { notes, findings } = await readOtherNotes(cluster, restoreId, signal)
  const wanted = new Set(planned)
  const isSameBackup = ({ mark }: ProgressNote) => mark.backupId === undefined || mark.backupId === backupId
  const byName = new Map(shown.map(topic => [topic.name, topic]))
  const isSameTopic = ({ stream: { topic, topicId } }: ProgressNote) => {
    const now = byName.get(topic)
    return now !== undefined && !isReplaced(topicId, now)
  }
  const matching = notes.filter(
    ({ note }) => wanted.has(streamKey(note.stream)) && isSameBackup(note) && isSameTopic(note),
  )
  const places = new Map(matching.map(({ note: { stream } }) => [streamKey(stream), stream]))
  const bounds = places.size === 0 ? new Map() : await fetchBounds(cluster, [...places.values()], signal, shown)
  const filled = matching.filter(({ note: { stream } }) => {
    const found = bounds.get(streamKey(stream))
    return found && found.highWatermark > found.logStart
  })
  const isWhole = ({ note: { stream } }: OtherNote) =>
    bounds.get(streamKey(stream)).highWatermark >= stream.targetOffset
  const written = Map.groupBy(filled.filter(isWhole), ({ note }) => note.stream.topic)
  const shorter = Map.groupBy(
    filled.filter(one => !isWhole(one)),
    ({ note }) => note.stream.topic,
  )
  return [
    ...findings,
    ...[...written].flatMap(([topic, some]) => judgeOthers(topic, some)),
    ...[...shorter].map(([topic, some]) => judgeShorter(topic, some)),
  ]
}

/** Pure. A topic that was created again has nothing of an earlier restore; one that has lost its newest records may. */
function judgeShorter(topic: string, some: readonly OtherNote[]): Finding {
  const ids = [...new Set(some.map(({ restoreId }) => restoreId))]
  const keys = listSome(some.map(({ note }) => streamKey(note.stream)))
  const problem = `restore ${ids.join(', ')} had written more to it than it has now (${keys}): it was created again, or has lost records. Records of that restore that are still there may be appended a second time`
  return topicWarning(topic, problem, 'set another name for it in restore.topic_mapping to avoid that')
}

interface OtherNote {
  restoreId: string
  note: ProgressNote
}

async function readOtherNotes(
  cluster: Cluster,
  restoreId: string,
  signal: AbortSignal,
): Promise<{ notes: OtherNote[]; findings: Finding[] }> {
  const prefix = restoreGroup('')
  const isOther = (group: string) => group.startsWith(prefix) && group !== restoreGroup(restoreId)
  try {
    const groups = (await listGroups(cluster, signal)).map(({ group }) => group).filter(isOther)
    const found = await fetchOffsetsOfGroups(cluster, groups, signal)
    const passing = [...found.values()].find(one => one instanceof KafkaBackupError && one.retryable)
    if (passing) throw passing
    const notes = [...found].flatMap(([group, offsets]) => {
      if (offsets instanceof KafkaBackupError) return []
      return decodeNotes(offsets).map(note => ({ restoreId: group.slice(prefix.length), note }))
    })
    const unread = [...found].flatMap(([group, error]) =>
      error instanceof KafkaBackupError ? [unreadable(`group ${group}`, error)] : [],
    )
    return { notes, findings: unread }
  } catch (error) {
    if (!hasCode(error, 'KAFKA_DENIED', 'KAFKA_UNSUPPORTED')) throw error
    return { notes: [], findings: [unreadable('consumer groups', error)] }
  }
}

function unreadable(subject: string, { code, message }: KafkaBackupError): Finding {
  const problem = `progress of other restores cannot be read: ${message}. Records that one of them appended would be appended a second time`
  const isDenied = code === 'KAFKA_DENIED'
  const remedy = isDenied ? `grant Read on groups with the prefix ${restoreGroup('')}` : ''
  return { severity: 'warning', subject, problem, remedy }
}

/** Pure. One that is not complete was most likely this job before it was changed. */
function judgeOthers(topic: string, written: readonly OtherNote[]): Finding[] {
  const byRestore = [...Map.groupBy(written, ({ restoreId }) => restoreId)]
  const isOpen = (some: readonly OtherNote[]) => some.some(({ note }) => !note.stream.isDone)
  const open = byRestore.filter(([, some]) => isOpen(some))
  const complete = byRestore.filter(([, some]) => !isOpen(some)).map(([id]) => id)
  const blockers = open.map(([id, some]) => {
    const keys = listSome(some.map(({ note }) => streamKey(note.stream)))
    const problem = `restore ${id} of ${backupOf(some)} is not complete and may have written records to it (${keys}); this job is another restore, and would append those that it selects as well a second time`
    const remedy =
      `undo the changes of the job to complete restore ${id} first; or, to append all records regardless, delete its progress with ` +
      `kafka-consumer-groups.sh --delete --group ${restoreGroup(id)} (that restore would then start again)`
    return topicError(topic, problem, remedy)
  })
  if (complete.length === 0) return blockers
  const which = complete.length === 1 ? `restore ${complete[0]} has` : `${complete.length} restores have`
  const problem = `${which} already appended records of ${backupOf(written)} to it; those that this job selects as well are appended a second time`
  return [...blockers, topicWarning(topic, problem, 'set another name for it in restore.topic_mapping to avoid that')]
}

/** Versions before this one did not store the backup. */
function backupOf(written: readonly OtherNote[]): string {
  return written.some(({ note }) => note.mark.backupId === undefined) ? 'this or another backup' : 'this backup'
}
