import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import { mustWrite } from '../registry/restore/restore-schemas.ts'
import type { Storage } from '../storage/storage.ts'
import { type RateTraits, readEarlierRates } from './earlier-rates.ts'
import { type Estimate, estimateRestore, type OtherWork, type Rates } from './estimate.ts'
import { type ProbeScope, probeRates } from './probe.ts'
import type { SchemaTarget } from './schema-step.ts'
import type { RestoreSurvey } from './survey-restore.ts'
import { readWorkload, type Workload } from './workload.ts'

/** A request to measure before anything is estimated. */
export interface ProbeRequest {
  scope: ProbeScope
  requestTimeoutMs: number
  /** Called with each step before it is done. */
  onStep: (message: string) => void
}

interface EstimateParts {
  cluster: Cluster
  storage: Storage
  clock: Clock
  schemas?: SchemaTarget
  probe?: ProbeRequest
}

/** How long the restore of a survey takes, by a probe if one is asked for, else by the report of an earlier restore. */
export async function estimateSurvey(
  survey: RestoreSurvey,
  parts: EstimateParts,
  signal: AbortSignal,
): Promise<Estimate> {
  const work = await readWorkload(survey.records, parts.storage, signal)
  const others = otherWork(survey)
  const rates = await findRates(survey, work, others, parts, signal)
  return estimateRestore(work, others, rates)
}

async function findRates(
  survey: RestoreSurvey,
  work: Workload,
  { registrySteps }: OtherWork,
  { cluster, storage, clock, schemas, probe }: EstimateParts,
  signal: AbortSignal,
): Promise<Rates | undefined> {
  if (work.bytes === 0 && registrySteps === 0) return undefined
  if (!probe) return readEarlierRates(storage, survey.records.plan.backupId, traitsOf(survey), signal)
  const registry = registrySteps > 0 && schemas && { registry: schemas.client }
  return probeRates(survey.records, work, probe.scope, { ...probe, cluster, storage, clock, ...registry }, signal)
}

/** Pure. */
export function traitsOf({ records }: Pick<RestoreSurvey, 'records'>): RateTraits {
  const { options, plan, targetCluster } = records
  return { targetCluster, rewritesIds: (plan.rewrites?.size ?? 0) > 0, repartition: options.repartition }
}

function otherWork(survey: RestoreSurvey): OtherWork {
  const { records, schemas, groups } = survey
  const { bytesPerSecond, verify } = records.options
  return {
    registrySteps: countSteps(schemas, records.isComplete),
    verifies: verify,
    // Groups of a complete restore have their offsets.
    groups: records.isComplete ? 0 : groups.plan.groups.length,
    rewritesIds: traitsOf(survey).rewritesIds,
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
  }
}

/** Where the records are complete, the registry is left as it is, unless a run has left something unfinished there. */
function countSteps(schemas: RestoreSurvey['schemas'], isComplete: boolean): number {
  if (!schemas || (isComplete && !mustWrite(schemas.survey))) return 0
  return schemas.survey.plan.steps.length
}
