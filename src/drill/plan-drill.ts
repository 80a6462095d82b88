import { createHash } from 'node:crypto'
import type { Manifest } from '../archive/manifest.ts'
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
    description: describeScope(scope, { ...wanted, timeWindow: options.timeWindow }),
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

/** Pure. Names of topics have at most 249 characters; a longer one ends with a hash in place of its end. */
export function scratchName({ prefix, run }: DrillNames, label: string): string {
  const name = `${prefix}${run}.${label.replaceAll(/[^\w.-]/g, '_')}`
  if (name.length <= MAX_NAME) return name
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
function describeScope({ newestMs, samplePercent }: DrillScope, options: RestoreOptions): string {
  const { include, exclude } = options.topics
  const all = include.length === 1 && include[0] === '*' && exclude.length === 0
  const without = exclude.length > 0 ? ` without ${exclude.join(', ')}` : ''
  const topics = all ? 'all topics' : `topics ${include.join(', ')}${without}`
  const { start, end } = options.timeWindow
  const isCut = options.partitions.size + options.offsetRanges.size > 0 || start !== undefined || end !== undefined
  const sampled = samplePercent === undefined ? '' : ', and of these offsets only records'
  return [
    ...(samplePercent === undefined ? [] : [`${samplePercent}% of every partition of`]),
    newestMs === undefined ? topics : `${topics}${sampled}`,
    ...(newestMs === undefined ? [] : [`in the last ${formatDuration(newestMs)} before the commit`]),
    ...(isCut || options.filter ? ['as the job selects'] : []),
  ].join(' ')
}
