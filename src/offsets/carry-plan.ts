import type { GroupsSection, StoredGroup, StoredPosition } from '../archive/groups-section.ts'
import { compileGlobs, isPattern } from '../lib/glob.ts'
import type { Finding } from '../observe/finding.ts'
import { OWN_GROUPS } from './model.ts'

export interface CarryOptions {
  /** All where it is not given, unless the target is the cluster that was backed up. */
  include?: readonly string[]
  exclude: readonly string[]
  /** Names on the target by names in the backup; others keep theirs. */
  mapping: ReadonlyMap<string, string>
  /** When groups get their offsets: all at the end, which is the default, or each when its topics are restored. */
  release?: 'end' | 'per_topic'
}

/** One partition of the target, and what of the source goes into it. */
export interface CarriedStream {
  topic: string
  /** Of the source, with the offset behind the last one that is restored, and behind the last one in the backup. */
  partitions: readonly { partition: number; start: bigint; end: bigint; sourceEnd: bigint }[]
  targetTopic: string
  targetPartition: number
}

export interface CarriedGroup {
  group: string
  /** On the source. */
  type: StoredGroup['type']
  /** Its name on the target. */
  target: string
  positions: StoredPosition[]
  /** The partitions of the target that get a position. */
  streams: CarriedStream[]
  /** Positions on topics and partitions that are not restored. */
  leftOut: number
  /** Restored partitions on which a share group had no start offset, and gets none; absent where there are none. */
  unset?: number
  /** The same, where the records go into partitions of the target that get one because of other partitions. */
  mergedUnset?: number
  /** Restored partitions with records on which any other group had no committed offset, of topics on which it had some. */
  unread?: number
}

export interface CarryPlan {
  groups: CarriedGroup[]
  findings: Finding[]
  /** Why there are none, in words; absent where there are some. */
  reason?: string
  /** Each group gets its offsets as soon as all its topics are restored; without it all groups do at the end. */
  release?: 'per_topic'
}

export interface CarrySource {
  section: GroupsSection | undefined
  /** Of the object that the section names. */
  groups: readonly StoredGroup[]
  generation: number
  streams: readonly CarriedStream[]
  isSameCluster: boolean
}

/** Pure: which groups of the backup get which partitions of the target, and what of the desired cannot be met. */
export function planCarry(options: CarryOptions, source: CarrySource): CarryPlan {
  const { section, groups, generation, isSameCluster } = source
  const include = options.include ?? (isSameCluster ? [] : ['*'])
  if (include.length === 0) {
    const reason = options.include
      ? 'restore.consumer_groups.include is empty'
      : 'the target is the cluster that was backed up; set restore.consumer_groups.include to restore groups anyway'
    return { groups: [], findings: options.include ? [] : [...options.mapping.keys()].map(notAsked), reason }
  }
  if (section?.state !== 'taken') return planWithout(section, generation, options.include !== undefined)
  const [isIncluded, isExcluded] = [compileGlobs(include), compileGlobs(options.exclude)]
  const selected = groups.filter(({ group }) => isIncluded(group) && !isExcluded(group))
  const planned = selected
    .filter(({ error, positions }) => error === null || positions.length > 0)
    .map(group => planGroup(group, options, source.streams))
  const carried = planned.filter(({ streams }) => streams.length > 0)
  const findings = [
    ...findUnknown(options, groups, selected),
    ...findIdle(options, planned),
    ...findShared(carried),
    ...findUnread(carried),
    ...selected.flatMap(group => tellError(group)),
  ]
  const none = carried.length === 0 && {
    reason: 'no group of the backup has a committed offset on the restored partitions',
  }
  const release = options.release === 'per_topic' && { release: options.release }
  return { groups: carried, findings, ...none, ...release }
}

function planWithout(section: GroupsSection | undefined, generation: number, isAsked: boolean): CarryPlan {
  const what = `generation ${generation} of the backup has no committed offsets of consumer groups`
  const why =
    section?.state === 'failed'
      ? `they could not be listed: ${section.error}`
      : section?.state === 'off'
        ? 'backup.consumer_groups.include was empty'
        : 'it is of a version that did not take them'
  const remedy = 'restore another generation with restore.generation, or set restore.consumer_groups.include to []'
  const finding: Finding = {
    severity: isAsked ? 'error' : 'warning',
    subject: 'consumer groups',
    problem: `${what}: ${why}`,
    remedy,
  }
  const isReported = isAsked || section?.state === 'failed'
  return { groups: [], findings: isReported ? [finding] : [], reason: `${what}: ${why}` }
}

function planGroup(
  { group, type, positions, unset = [] }: StoredGroup,
  { mapping }: CarryOptions,
  streams: readonly CarriedStream[],
): CarriedGroup {
  const own = positions.filter(position => streams.some(stream => feeds(stream, position)))
  const fed = streams.filter(stream => own.some(position => feeds(stream, position)))
  const unread = type === 'share' ? 0 : countUnread(streams, fed)
  const restored = unset.filter(place => streams.some(stream => feeds(stream, place)))
  const merged = restored.filter(place => streams.every(stream => !feeds(stream, place) || fed.includes(stream))).length
  const without = restored.length - merged
  return {
    group,
    type,
    target: mapping.get(group) ?? group,
    positions: own,
    streams: fed,
    leftOut: positions.length - own.length,
    ...(without > 0 && { unset: without }),
    ...(merged > 0 && { mergedUnset: merged }),
    ...(unread > 0 && { unread }),
  }
}

/** Other streams with records, of the same topics. */
function countUnread(streams: readonly CarriedStream[], fed: readonly CarriedStream[]): number {
  const [known, topics] = [new Set(fed), new Set(fed.map(({ topic }) => topic))]
  const others = streams.filter(stream => topics.has(stream.topic) && !known.has(stream))
  return others.filter(({ partitions }) => partitions.some(({ start, end }) => end > start)).length
}

/** Whether records behind the position go into the stream. */
function feeds(stream: CarriedStream, { topic, partition }: Pick<StoredPosition, 'topic' | 'partition'>): boolean {
  return stream.topic === topic && stream.partitions.some(one => one.partition === partition)
}

/** Names that would be ignored. */
function findUnknown(
  { include = [], mapping }: CarryOptions,
  groups: readonly StoredGroup[],
  selected: readonly StoredGroup[],
): Finding[] {
  const [known, taken] = [groups, selected].map(some => new Set(some.map(({ group }) => group)))
  const named = include
    .filter(name => !isPattern(name) && !known?.has(name))
    .map(name => groupError(name, 'is not in the backup', 'correct restore.consumer_groups.include'))
  const mapped = [...mapping.keys()]
    .filter(name => !taken?.has(name))
    .map(name => groupError(name, 'is not carried over', 'correct restore.consumer_groups.mapping'))
  const own = [...mapping.values()]
    .filter(name => name.startsWith(OWN_GROUPS))
    .map(name =>
      groupError(name, 'is a name of kafka-backup itself', 'give it another in restore.consumer_groups.mapping'),
    )
  const idle = include
    .filter(name => isPattern(name) && !groups.some(({ group }) => compileGlobs([name])(group)))
    .map((name): Finding => {
      const problem = `no group of the backup matches ${name} of restore.consumer_groups.include`
      return { severity: 'warning', subject: 'consumer groups', problem, remedy: '' }
    })
  return [...named, ...mapped, ...own, ...idle]
}

function notAsked(group: string): Finding {
  return groupError(group, 'is not carried over', 'name it in restore.consumer_groups.include, too')
}

/** Groups that the job names and that get no offsets. */
function findIdle({ include = [], mapping }: CarryOptions, planned: readonly CarriedGroup[]): Finding[] {
  return planned
    .filter(({ group, streams }) => streams.length === 0 && (include.includes(group) || mapping.has(group)))
    .map(({ group }) => {
      const problem = 'has no committed offset on the restored partitions, and is not restored'
      return { severity: 'warning', subject: `group ${group}`, problem, remedy: '', details: { group } }
    })
}

function findShared(groups: readonly CarriedGroup[]): Finding[] {
  return [...Map.groupBy(groups, ({ target }) => target)]
    .filter(([, some]) => some.length > 1)
    .map(([target, some]) => {
      const names = some.map(({ group }) => group).join(', ')
      return groupError(target, `several groups would become it: ${names}`, 'correct restore.consumer_groups.mapping')
    })
}

/** A consumer commits nothing for a partition of which it has processed nothing. */
function findUnread(groups: readonly CarriedGroup[]): Finding[] {
  const some = groups.filter(({ unread = 0 }) => unread > 0)
  if (some.length === 0) return []
  const named = some.slice(0, SHOWN).map(({ target, unread = 0 }) => `${target} (${unread})`)
  const names = [...named, ...(some.length > SHOWN ? [`and ${some.length - SHOWN} more`] : [])].join(', ')
  const problem =
    'groups had no committed offset on some partitions of topics that they read, and get none there: ' +
    `${names}. Consumers begin there where auto.offset.reset says`
  const remedy =
    'with `latest` they skip the restored records: set it to `earliest`, or commit an offset with `offsets reset`'
  return [{ severity: 'warning', subject: 'consumer groups', problem, remedy }]
}

const SHOWN = 5

/** Of several incarnations those of one may have been read. */
function tellError({ group, error, positions }: StoredGroup): Finding[] {
  if (error === null) return []
  const what = positions.length > 0 ? 'some of its committed offsets' : 'its committed offsets'
  const problem = `${what} are not in the backup, and not restored: ${error}`
  return [{ severity: 'warning', subject: `group ${group}`, problem, remedy: '', details: { group } }]
}

export function groupError(group: string, problem: string, remedy: string): Finding {
  return { severity: 'error', subject: `group ${group}`, problem, remedy, details: { group } }
}
