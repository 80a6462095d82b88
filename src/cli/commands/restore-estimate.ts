import type { Probe } from '../../jobs/restore.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { Estimate, EstimateStep, Limit, RateSource } from '../../restore/estimate.ts'
import type { ComparedEstimate, Recovery } from '../../restore/recovery.ts'
import type { Session } from '../session.ts'
import { formatInstant, printable } from '../text.ts'

/** What the options ask to measure. Prints each step on standard error before it is done. */
export function probeOf(session: Session): Probe | undefined {
  const { probe, probeTarget } = session.options
  if (!probe && !probeTarget) return undefined
  const onStep = (message: string) => {
    if (!session.tell(() => [`probe: ${message}`])) session.log.write('info', `probe: ${message}`)
  }
  return { scope: probeTarget ? 'target' : 'store', onStep }
}

type Field = [label: string, value: string | undefined]

const limits: Record<Limit, string> = {
  store_read: 'reading from the store',
  cpu: 'the CPU that unpacks and checks records',
  id_rewriting: 'the CPU that rewrites schema IDs',
  target_write: 'writing to the target',
  one_partition: 'writing to one partition',
  rate_limit: 'restore.rate_limit',
  registry: 'requests to the schema registry',
  records: 'writing records',
}

const labels: Record<Limit, string> = {
  store_read: 'store',
  cpu: 'CPU',
  id_rewriting: 'CPU with schema IDs',
  target_write: 'target',
  one_partition: 'one partition',
  rate_limit: 'restore.rate_limit',
  registry: 'registry',
  records: 'records',
}

const left: Record<Estimate['notIncluded'][number], string> = {
  target_write: 'writing to the target (--probe-target measures it)',
  registry: 'schemas',
  verification: 'the comparison (restore.verify)',
  consumer_groups: 'committed offsets',
}

const precisions: Record<Estimate['precision'], string> = { about: 'about', at_least: 'at least', at_most: 'at most' }

/** The estimate of a dry run as text. */
export function estimateFields(estimate: Estimate): Field[] {
  const { seconds, steps, notIncluded, source, problems } = estimate
  const told = problems.map(printable).join('; ')
  if (seconds === null) return [['  Time', `unknown: ${told}`]]
  const rates = `${steps.map(formatRate).join(', ')}${source ? `; ${formatSource(source)}` : ''}`
  return [
    ['  Time', formatTime(estimate, seconds)],
    ['  Steps', steps.length === 0 ? undefined : rates],
    ['  Without', notIncluded.length === 0 ? undefined : notIncluded.map(one => left[one]).join(', ')],
    ['  Probe', told === '' ? undefined : told],
  ]
}

function formatTime({ precision, limitedBy: limit, partition, source }: Estimate, seconds: number): string {
  if (limit === null) return 'none: nothing is left to write'
  const of = limit === 'records' ? (earlierLimit(source) ?? limits[limit]) : limits[limit]
  const what = partition === undefined ? of : `${of}, ${printable(partition)}`
  return `${precisions[precision]} ${formatSeconds(seconds)}, limited by ${what}`
}

/** What the earlier restore waited for, as far as its report names it. */
function earlierLimit(source: RateSource | null): string | undefined {
  const name = source?.kind === 'earlier_restore' ? source.limitedBy : null
  return Object.entries(limitedBy).find(([known]) => known === name)?.[1]
}

function formatRate({ name, unit, perSecond, seconds }: EstimateStep): string {
  const rate =
    unit === 'bytes' ? `${formatBytes(Math.round(perSecond))}/s` : `${formatCount(Math.round(perSecond))} requests/s`
  return `${labels[name]} ${formatSeconds(seconds)} at ${rate}`
}

function formatSource(source: RateSource): string {
  if (source.kind === 'probe') return 'measured now'
  if (source.kind === 'first_seconds') return 'measured in the first seconds'
  const where = source.isSameTarget ? '' : ' into another cluster'
  return `of the restore${where} that ended ${formatInstant(source.at)}`
}

function formatSeconds(seconds: number): string {
  return formatDuration(Math.round(seconds * 1000))
}

export function estimateDocument(estimate: Estimate) {
  return {
    seconds: estimate.seconds === null ? null : round(estimate.seconds),
    precision: estimate.precision,
    limited_by: estimate.limitedBy,
    partition: estimate.partition ?? null,
    bytes: estimate.bytes,
    records: estimate.records,
    store_bytes: estimate.storeBytes,
    steps: estimate.steps.map(({ name, amount, unit, perSecond, seconds }) => ({
      name,
      amount,
      unit,
      per_second: round(perSecond),
      seconds: round(seconds),
    })),
    not_included: estimate.notIncluded,
    source: estimate.source && sourceDocument(estimate.source),
    probe_topic: estimate.probeTopic
      ? { name: estimate.probeTopic.name, deleted: estimate.probeTopic.isDeleted }
      : null,
    problems: estimate.problems,
  }
}

function sourceDocument(source: RateSource) {
  if (source.kind !== 'earlier_restore') return source
  const { kind, at, report, isSameTarget: same_target, limitedBy: limited_by } = source
  return { kind, at, report, same_target, limited_by }
}

const limitedBy: Record<NonNullable<Recovery['limitedBy']>, string> = {
  backup: 'reading and preparing the backup',
  target: 'writing to the target',
  rate_limit: 'restore.rate_limit',
}

/** What a restore waited for, and how good its estimate was. */
export function recoveryFields(recovery: Recovery): Field[] {
  const { estimate } = recovery
  return [
    ['  Limited by', recovery.limitedBy === null ? undefined : limitedBy[recovery.limitedBy]],
    ['  Estimate', estimate && formatCompared(estimate)],
  ]
}

function formatCompared({ seconds, precision, source, actualSeconds }: ComparedEstimate): string {
  const when = source.kind === 'first_seconds' ? 'after the first seconds' : 'before the restore'
  return `${precisions[precision]} ${formatSeconds(seconds)} ${when}; it took ${formatSeconds(actualSeconds)}`
}

export function recoveryDocument(recovery: Recovery) {
  const { estimate } = recovery
  const seconds = (ms: number) => round(ms / 1000)
  return {
    measured_at: recovery.measuredAt,
    target_cluster_id: recovery.targetCluster,
    rewrites_ids: recovery.rewritesIds,
    repartition: recovery.repartition,
    schemas_seconds: seconds(recovery.schemasMs),
    registry_requests: recovery.registryRequests,
    records_seconds: seconds(recovery.recordsMs),
    bytes: recovery.bytes,
    comparison_seconds: seconds(recovery.comparisonMs),
    groups_seconds: seconds(recovery.groupsMs),
    limited_by: recovery.limitedBy,
    estimate: estimate
      ? {
          seconds: round(estimate.seconds),
          precision: estimate.precision,
          limited_by: estimate.limitedBy,
          source: sourceDocument(estimate.source),
          actual_seconds: round(estimate.actualSeconds),
        }
      : null,
  }
}

function round(value: number): number {
  return Number(value.toFixed(3))
}
