import { createHash } from 'node:crypto'
import type { Manifest } from '../archive/manifest.ts'
import { usageError } from '../errors.ts'
import { formatDuration } from '../lib/units.ts'
import { planRestore } from '../restore/plan.ts'
import type { RegistryStores } from '../restore/registry-topics.ts'
import type { RestoreOptions } from '../restore/restore-options.ts'

/** The part of a backup that a drill restores; the selection of the restore job applies as well. */
export interface DrillScope {
  /** Names or patterns instead of those of the job; empty for those of the job. */
  topics: readonly string[]
  /** Only records of this time before the generation was committed. */
  newestMs?: number
  /** Of the offsets of every partition, in one stretch at a random place. */
  samplePercent?: number
}

export interface DrillPlan {
  generation: number
  /** For people: `5% of every partition of all topics`. */
  description: string
  /** The topics of it. */
  selection: string
  /** Not all records of these topics. */
  isLimited: boolean
  topics: DrilledTopic[]
  /** What a restore of this plan is asked instead of what the job says. */
  options: Pick<RestoreOptions, 'topics' | 'topicMapping' | 'offsetRanges' | 'timeWindow'>
}

export interface DrilledTopic {
  /** As in the backup. */
  source: string
  /** On the target. */
  scratch: string
  /** Offsets in [from, to). */
  partitions: { partition: number; from: bigint; to: bigint }[]
}

export interface DrillNames {
  /** Of all scratch topics. */
  prefix: string
  /** Random: no other topic has it in its name. */
  run: string
}

/**
 * Pure. Throws USAGE for a sample of a time window: a random stretch of all offsets seldom has records of it, and a drill without
 * records proves nothing.
 */
export function assertScope({ samplePercent, newestMs }: DrillScope, window: RestoreOptions['timeWindow']): void {
  if (samplePercent === undefined) return
  const other =
    newestMs !== undefined
      ? '--newest'
      : window.start !== undefined || window.end !== undefined
        ? 'a time window of the job'
        : undefined
  if (other === undefined) return
  throw usageError(
    `--sample cannot be combined with ${other}: a random part of all offsets seldom has records of that time. Use one of the two`,
  )
}

/** Pure. What of which topics is restored under which names. Throws RESTORE_REFUSED where the selection does not fit the backup. */
export function planDrill(
  manifest: Manifest,
  options: RestoreOptions,
  scope: DrillScope,
  { names, random, stores }: { names: DrillNames; random: () => number; stores?: RegistryStores },
): DrillPlan {
  const include = scope.topics.length > 0 ? scope.topics : options.topics.include
  const start = scope.newestMs === undefined ? undefined : BigInt(Date.parse(manifest.created_at) - scope.newestMs)
  const timeWindow = {
    ...options.timeWindow,
    ...(start !== undefined && { start: laterOf(start, options.timeWindow) }),
  }
  const wanted = { ...options, topics: { ...options.topics, include }, topicMapping: new Map(), timeWindow }
  const planned = planRestore(manifest, wanted, stores).topics.map(({ label, legs }) => ({
    source: label,
    scratch: scratchName(names, label),
    partitions: legs.map(leg => ({
      partition: leg.source.partition,
      ...sampleOf({ from: leg.start, to: leg.end }, scope.samplePercent, random),
    })),
  }))
  const ranges = planned.flatMap(({ source, partitions }) =>
    partitions
      .filter(({ from, to }) => from < to)
      .map(({ partition, from, to }) => [`${source}/${partition}`, { start: from, end: to }] as const),
  )
  return {
    generation: manifest.generation,
    ...describeScope(scope, { ...wanted, timeWindow: options.timeWindow }),
    topics: planned,
    options: {
      topics: wanted.topics,
      topicMapping: new Map(planned.map(({ source, scratch }) => [source, scratch])),
      offsetRanges: scope.samplePercent === undefined ? options.offsetRanges : new Map(ranges),
      timeWindow,
    },
  }
}

function laterOf(start: bigint, { start: own }: RestoreOptions['timeWindow']): bigint {
  return own !== undefined && own > start ? own : start
}

const MAX_NAME = 249

/**
 * Pure. A name that a topic cannot have, such as that of an older incarnation (`orders@ID`), and one that is too long end with a hash
 * of it: two topics of a backup never share a scratch topic.
 */
export function scratchName({ prefix, run }: DrillNames, label: string): string {
  const plain = label.replaceAll(/[^\w.-]/g, '_')
  const name = `${prefix}${run}.${plain}`
  if (plain === label && name.length <= MAX_NAME) return name
  const hash = createHash('sha256').update(label).digest('hex').slice(0, 16)
  return `${name.slice(0, MAX_NAME - hash.length - 1)}-${hash}`
}

/** Pure. At least one offset of a partition that is not empty. */
function sampleOf(
  { from, to }: { from: bigint; to: bigint },
  percent: number | undefined,
  random: () => number,
): { from: bigint; to: bigint } {
  if (percent === undefined || percent >= 100 || to <= from) return { from, to }
  const length = to - from
  const wanted = BigInt(Math.ceil((Number(length) * percent) / 100))
  const taken = wanted < 1n ? 1n : wanted > length ? length : wanted
  const begin = from + BigInt(Math.floor(random() * Number(length - taken + 1n)))
  return { from: begin, to: begin + taken }
}

/** Pure. */
function describeScope(
  { newestMs, samplePercent }: DrillScope,
  options: RestoreOptions,
): Pick<DrillPlan, 'description' | 'selection' | 'isLimited'> {
  const { include, exclude } = options.topics
  const all = include.length === 1 && include[0] === '*' && exclude.length === 0
  const without = exclude.length > 0 ? ` without ${exclude.join(', ')}` : ''
  const selection = all ? 'all topics' : `topics ${include.join(', ')}${without}`
  const { start, end } = options.timeWindow
  const isWindowed = start !== undefined || end !== undefined
  const isCut = options.partitions.size + options.offsetRanges.size > 0 || isWindowed || options.filter !== undefined
  const limits = [samplePercent, newestMs].filter(limit => limit !== undefined)
  const description = [
    ...(samplePercent === undefined ? [] : [`${samplePercent}% of every partition of`]),
    selection,
    ...(newestMs === undefined ? [] : [`in the last ${formatDuration(newestMs)} before the commit`]),
    ...(isCut ? ['as the job selects'] : []),
  ].join(' ')
  return { description, selection, isLimited: isCut || limits.length > 0 }
}
