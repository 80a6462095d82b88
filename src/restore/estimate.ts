import type { Workload } from './workload.ts'

/** What a restore may be waiting for most of its time. */
export type Limit =
  /** Reading the backup from the store. */
  | 'store_read'
  /** Unpacking, checking and, where needed, rebuilding batches. */
  | 'cpu'
  /** The same with schema IDs that are rewritten. */
  | 'id_rewriting'
  | 'target_write'
  /** The largest partition, which one request at a time is written to. */
  | 'one_partition'
  | 'rate_limit'
  | 'registry'
  /** All of writing records, as an earlier restore measured it. */
  | 'records'

/** Rates that were measured, each as far as it was. */
export interface Rates {
  source: RateSource
  /** Stored bytes a second that the store gives to as many readers as the restore has. */
  storeRead?: number
  /** Stored bytes a second that this machine prepares for the target. */
  prepare?: number
  /** Bytes a second that the target takes in as many partitions as the restore fills at a time, while they are prepared. */
  targetWrite?: number
  /** The same in one partition. */
  onePartition?: number
  /** Bytes a second of a whole restore of records. */
  records?: number
  /** Requests a second that the registry answers. */
  registry?: number
  /** That a probe has created. */
  probeTopic?: ProbeTopic
  /** What could not be measured, in words. */
  problems: string[]
}

export interface ProbeTopic {
  name: string
  isDeleted: boolean
}

export type RateSource =
  | { kind: 'probe'; at: string }
  /** The report of another restore of the same backup; `isSameTarget` where it was into this cluster. */
  | { kind: 'earlier_restore'; at: string; report: string; isSameTarget: boolean; limitedBy: string | null }
  /** The first seconds of the restore itself. */
  | { kind: 'first_seconds'; at: string }

/** What a restore does besides records. */
export interface OtherWork {
  /** Requests that change the registry. */
  registrySteps: number
  verifies: boolean
  groups: number
  rewritesIds: boolean
  /** `restore.rate_limit`. */
  bytesPerSecond?: number
}

export interface EstimateStep {
  name: Limit
  amount: number
  unit: 'bytes' | 'requests'
  perSecond: number
  seconds: number
}

export interface Estimate {
  /** Null where nothing that decides it was measured. */
  seconds: number | null
  precision: 'about' | 'at_least' | 'at_most'
  /** Null where there is nothing to do, or where nothing was measured. */
  limitedBy: Limit | null
  /** The partition that `one_partition` is about. */
  partition?: string
  bytes: number
  records: number
  storeBytes: number
  /** Those of records happen at the same time, so that the slowest counts; the registry comes before. */
  steps: EstimateStep[]
  /** Work whose time is not in the estimate. */
  notIncluded: ('target_write' | 'registry' | 'verification' | 'consumer_groups')[]
  source: RateSource | null
  probeTopic?: ProbeTopic
  /** Why there is no estimate, or what it lacks. */
  problems: string[]
}

export const NOTHING_MEASURED =
  'nothing is known of the rates of this store and target: `--probe` measures the store, and `--probe-target` also the target'

/** Pure. How long a restore takes at these rates, and what limits it. */
export function estimateRestore(work: Workload, others: OtherWork, rates: Rates | undefined): Estimate {
  const { bytes, records, storeBytes } = work
  const amounts = { bytes, records, storeBytes }
  const notIncluded = listUnmeasured(work, others, rates)
  const after = [
    ...(others.verifies && bytes > 0 ? ['verification' as const] : []),
    ...(others.groups > 0 ? ['consumer_groups' as const] : []),
  ]
  if (bytes === 0 && others.registrySteps === 0) {
    const nothing = { seconds: 0, precision: 'about' as const, limitedBy: null, steps: [], problems: [] }
    return { ...nothing, ...amounts, notIncluded: after, source: null }
  }
  const steps = rates ? listSteps(work, others, rates) : []
  const ofRecords = slowest(steps.filter(({ name }) => name !== 'registry'))
  const ofRegistry = steps.find(({ name }) => name === 'registry')
  // A rate limit alone is the job's own, and not a measurement.
  const isMeasured = steps.some(({ name }) => name !== 'rate_limit')
  const base = {
    ...{ ...amounts, steps, notIncluded: [...notIncluded, ...after], source: rates?.source ?? null },
    ...(rates?.probeTopic && { probeTopic: rates.probeTopic }),
  }
  if (!isMeasured) {
    const problems = rates ? rates.problems : [NOTHING_MEASURED]
    return { ...base, seconds: null, precision: 'about', limitedBy: null, problems }
  }
  const limit = slowest([limitOf(steps, ofRecords), ofRegistry].flatMap(one => one ?? []))
  return {
    ...base,
    seconds: (ofRecords?.seconds ?? 0) + (ofRegistry?.seconds ?? 0),
    precision: notIncluded.length > 0 ? (work.isMost ? 'about' : 'at_least') : work.isMost ? 'at_most' : 'about',
    limitedBy: limit?.name ?? null,
    ...(limit?.name === 'one_partition' && work.largest && { partition: work.largest.name }),
    problems: rates?.problems ?? [],
  }
}

function listSteps(work: Workload, others: OtherWork, rates: Rates): EstimateStep[] {
  const { bytes, storeBytes, largest } = work
  const cpu = others.rewritesIds ? 'id_rewriting' : 'cpu'
  const wanted: [Limit, number, number | undefined, EstimateStep['unit']][] = [
    ['registry', others.registrySteps, rates.registry, 'requests'],
    ['records', bytes, rates.records, 'bytes'],
    ['store_read', storeBytes, rates.storeRead, 'bytes'],
    [cpu, storeBytes, rates.prepare, 'bytes'],
    ['target_write', bytes, rates.targetWrite, 'bytes'],
    ['one_partition', largest?.bytes ?? 0, rates.onePartition, 'bytes'],
    ['rate_limit', bytes, others.bytesPerSecond, 'bytes'],
  ]
  return wanted.flatMap(([name, amount, perSecond, unit]) =>
    amount > 0 && perSecond !== undefined && perSecond > 0
      ? [{ name, amount, unit, perSecond, seconds: amount / perSecond }]
      : [],
  )
}

function listUnmeasured({ bytes }: Workload, { registrySteps }: OtherWork, rates: Rates | undefined) {
  const hasWrite = rates?.targetWrite !== undefined || rates?.records !== undefined
  return [
    ...(bytes > 0 && !hasWrite ? ['target_write' as const] : []),
    ...(registrySteps > 0 && rates?.registry === undefined ? ['registry' as const] : []),
  ]
}

/** The target is written to while batches are prepared: where that alone takes nearly as long, it is what limits both. */
function limitOf(steps: readonly EstimateStep[], ofRecords: EstimateStep | undefined): EstimateStep | undefined {
  const cpu = steps.find(({ name }) => name === 'cpu' || name === 'id_rewriting')
  const isCpu = ofRecords?.name === 'target_write' && cpu && cpu.seconds >= ofRecords.seconds * NEARLY
  return isCpu ? cpu : ofRecords
}

const NEARLY = 0.8

function slowest(steps: readonly EstimateStep[]): EstimateStep | undefined {
  return steps.toSorted((a, b) => b.seconds - a.seconds)[0]
}
