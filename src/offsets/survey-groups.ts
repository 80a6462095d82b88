import { carriedNotice } from '../archive/carried-notice.ts'
import { readGroups } from '../archive/groups.ts'
import type { GroupsSection, StoredGroup, TakenGroups } from '../archive/groups-section.ts'
import type { Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { ByGroup } from '../kafka/at-coordinators.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { GroupOffset } from '../kafka/group-offsets.ts'
import { fetchStableProgress } from '../kafka/group-progress.ts'
import { describeGroupStates, type GroupState } from '../kafka/groups.ts'
import { runPool } from '../lib/pool.ts'
import type { Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { groupWarning, LEAVE_OUT, tellType, unsupportedShare } from './carried-type.ts'
import {
  type CarriedGroup,
  type CarriedStream,
  type CarryOptions,
  type CarryPlan,
  type CarrySource,
  groupError,
  planCarry,
} from './carry-plan.ts'
import { type IsGiven, missingOf, unnotedOf } from './given-offsets.ts'
import {
  type CountNoted,
  judgeMetadata,
  judgePermission,
  judgeRoom,
  OTHER_WAYS,
  readMetadataRoom,
} from './judge-commits.ts'

/** A topic of the backup on its way to the target. */
interface RestoredTopic {
  source: Pick<ManifestTopic, 'name' | 'consumer_groups'>
  /** How the source is named in reports: `name`, or `name@id` for an older incarnation. */
  label: string
  /** On the target. */
  name: string
  streams: readonly {
    partition: number
    legs: readonly { source: Pick<ManifestPartition, 'partition' | 'end_offset'>; start: bigint; end: bigint }[]
  }[]
}

/** What a restore knows before it restores consumer groups. */
interface GroupSource {
  manifest: Pick<Manifest, 'generation' | 'created_at' | 'consumer_groups' | 'carried_sections'>
  topics: readonly RestoredTopic[]
  isSameCluster: boolean
  /** What earlier runs of this restore have noted; absent where none has begun. */
  isGiven?: IsGiven | undefined
  countNoted: CountNoted
}

/** The consumer groups of a backup on their way to the target. */
export interface GroupSurvey {
  plan: CarryPlan
  /** Of the plan and of the target: errors are blockers. */
  findings: Finding[]
}

/** Reads the groups of the backup and of the target, and writes nothing. */
export async function surveyGroups(
  options: CarryOptions,
  { manifest, topics, isSameCluster, isGiven, countNoted }: GroupSource,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<GroupSurvey> {
  const source = { generation: manifest.generation, streams: streamsOf(topics), isSameCluster }
  const stored = options.include?.length === 0 ? nothingStored : await readStored(manifest, topics, storage, signal)
  const plan = planCarry(options, { ...source, ...stored })
  const metadataLimit = await readMetadataRoom(cluster, plan.groups, signal)
  const onTarget = await surveyCarry(cluster, plan, { isGiven, metadataLimit }, signal)
  const notice = plan.groups.length === 0 ? undefined : carriedNotice(manifest, 'consumer_groups')
  const crowded = judgeRoom(plan.groups, countNoted, metadataLimit)
  return { plan, findings: [...plan.findings, ...onTarget, ...crowded, ...warnOf(notice)] }
}

function warnOf(notice: string | undefined): Finding[] {
  if (notice === undefined) return []
  return [{ severity: 'warning', subject: 'consumer groups', problem: notice, remedy: '' }]
}

const nothingStored = { section: undefined, groups: [] }

/**
 * The committed offsets on restored topics. Those on a topic that is not current in the generation are in an object of
 * their own, which was written while it was; they are given under the label of the topic.
 */
async function readStored(
  { consumer_groups: section }: GroupSource['manifest'],
  topics: readonly RestoredTopic[],
  storage: Storage,
  signal: AbortSignal,
): Promise<Pick<CarrySource, 'section' | 'groups'>> {
  const isOlder = topics.length > 0 && topics.every(({ source }) => source.consumer_groups !== undefined)
  const taken = section?.state === 'taken' ? (await readGroups(storage, section, signal)).groups : []
  // Where no current topic is restored, it does not matter that a group could not be read lately.
  const current = isOlder ? taken.map(group => ({ ...group, error: null })) : taken
  const kept: StoredGroup[][] = []
  for (const { source, label } of topics) {
    if (!source.consumer_groups) continue
    const { groups } = await readGroups(storage, source.consumer_groups, signal)
    kept.push(positionsOf(groups, source.name, label))
  }
  const own = topics.map(({ source }) => source.consumer_groups)
  return { section: sectionFor(section, own), groups: mergeGroups([current, ...kept]) }
}

function streamsOf(topics: readonly RestoredTopic[]): CarriedStream[] {
  return topics.flatMap(({ name, label, streams }) =>
    streams.map(({ partition, legs }) => ({
      topic: label,
      partitions: legs.map(({ source, start, end }) => ({
        partition: source.partition,
        start,
        end,
        sourceEnd: source.end_offset,
      })),
      targetTopic: name,
      targetPartition: partition,
    })),
  )
}

const CONCURRENCY = 8

/**
 * What blocks the groups on the target. A group that an earlier run has given all its offsets is not examined: its consumers may be
 * running again. After such a run a group that something else uses is a warning: it fails alone, and must not hold up the records.
 */
export async function surveyCarry(
  cluster: Cluster,
  { groups }: CarryPlan,
  { isGiven, metadataLimit }: Pick<GroupSource, 'isGiven'> & { metadataLimit?: number | undefined },
  signal: AbortSignal,
): Promise<Finding[]> {
  const names = groups.map(({ target }) => target)
  const typed = groups.map(({ target, type }) => ({ group: target, type }))
  const [states, offsets] = await Promise.all([
    describeGroupStates(cluster, names, signal),
    fetchStableProgress(cluster, typed, signal),
  ])
  const judged = await runPool(groups, CONCURRENCY, async one => {
    const present = offsets.get(one.target)
    const findings = [
      ...judgeGroup(one, { states, offsets }, isGiven),
      ...(Array.isArray(present)
        ? judgeMetadata(one, { present, limit: metadataLimit, hasBegun: isGiven !== undefined })
        : []),
    ]
    const isBlocked = findings.some(({ severity }) => severity === 'error')
    return isBlocked ? findings : [...findings, ...(await judgePermission(cluster, one, present, signal))]
  })
  return judged.flat()
}

function judgeGroup(
  one: CarriedGroup,
  { states, offsets }: { states: ByGroup<GroupState>; offsets: ByGroup<GroupOffset[]> },
  isGiven: IsGiven | undefined,
): Finding[] {
  const [state, present] = [states.get(one.target), offsets.get(one.target)]
  if (!state || !present || state instanceof KafkaBackupError || present instanceof KafkaBackupError) {
    const error = [state, present].find(each => each instanceof KafkaBackupError)
    const problem = error?.message ?? 'no broker reports it'
    if (one.type === 'share' && hasCode(error, 'KAFKA_UNSUPPORTED')) return [unsupportedShare(one)]
    // A coordinator that is loading or restarts must not end the run of a Job for good.
    if (error?.retryable)
      return [
        { ...groupError(one.target, problem, `run the same command again, ${OTHER_WAYS}`), code: 'KAFKA_NOT_READY' },
      ]
    if (!hasCode(error, 'KAFKA_DENIED')) return [groupError(one.target, problem, OTHER_WAYS)]
    return [{ ...groupError(one.target, problem, `grant Read on the group, ${OTHER_WAYS}`), code: 'KAFKA_DENIED' }]
  }
  if (state.type !== 'absent' && (state.type === 'share') !== (one.type === 'share')) {
    const problem = `it is a ${one.type} group in the backup, and the target has a ${state.type} group of this name`
    return [groupError(one.target, problem, `delete that group, ${OTHER_WAYS}`)]
  }
  const missing = missingOf(one, present)
  const unnoted = unnotedOf(one, present, isGiven ?? (() => false))
  if (missing.length === 0 && unnoted.length === 0) return isGiven ? judgeUncertain(one, present, isGiven) : []
  if (missing.length > 0 && state.members > 0) {
    const members = `it has ${state.members} active ${state.members === 1 ? 'member' : 'members'} on the target`
    if (isGiven) return [groupWarning(one, `${members}, and gets no offsets while it has any`, 'stop its consumers')]
    return [groupError(one.target, members, `stop its consumers, ${OTHER_WAYS}`)]
  }
  if (unnoted.length === 0) return tellType(one, state)
  const problem = `it already has committed offsets on ${unnoted.length} of the partitions`
  if (!isGiven) return [groupError(one.target, problem, `delete them, ${OTHER_WAYS}`)]
  const foreign = `${problem}, which this restore has not noted as its own. Where the restore would write others, the group fails`
  return [groupWarning(one, foreign, `if another program wrote them, delete them, or ${LEAVE_OUT}`)]
}

function judgeUncertain(one: CarriedGroup, present: readonly GroupOffset[], isGiven: IsGiven): Finding[] {
  const { length } = unnotedOf(one, present, isGiven, 'unknown')
  if (length === 0) return []
  const problem = `the progress of this restore has no room to name it: its committed offsets on ${length} of the partitions are kept, whether or not this restore has written them`
  return [groupWarning(one, problem, '')]
}

/** Pure. The groups with their committed offsets on one topic only, under another name of it. */
export function positionsOf(groups: readonly StoredGroup[], topic: string, label: string): StoredGroup[] {
  const relabel = <T extends { topic: string }>(places: readonly T[]): T[] =>
    places.filter(one => one.topic === topic).map(one => ({ ...one, topic: label }))
  return groups.map(({ unset, ...group }) => ({
    ...group,
    positions: relabel(group.positions),
    ...(unset && { unset: relabel(unset) }),
  }))
}

/** Pure. Each group once, with the committed offsets of all lists; its error says that one of them lacks some. */
export function mergeGroups(lists: readonly (readonly StoredGroup[])[]): StoredGroup[] {
  const merged = new Map<string, StoredGroup>()
  for (const group of lists.flat()) {
    const known = merged.get(group.group)
    if (known) {
      const positions = [...known.positions, ...group.positions]
      const unset = [...(known.unset ?? []), ...(group.unset ?? [])]
      const error = known.error ?? group.error
      merged.set(group.group, { ...known, error, positions, ...(unset.length > 0 && { unset }) })
    } else if (group.positions.length > 0 || group.error !== null || lists[0]?.includes(group)) {
      merged.set(group.group, group)
    }
  }
  return [...merged.values()]
}

/**
 * Pure. What says whether there are committed offsets of the topics of a restore: the section of the generation, or those of
 * the topics that are not current in it. If the job of the generation selected none, the others still count.
 */
export function sectionFor(
  current: GroupsSection | undefined,
  own: readonly (TakenGroups | undefined)[],
): GroupsSection | undefined {
  const first = own.find(one => one !== undefined)
  const isCurrentNeeded = own.includes(undefined) && current !== undefined && current.state !== 'off'
  return first && !isCurrentNeeded ? first : current
}
