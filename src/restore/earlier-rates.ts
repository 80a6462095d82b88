import { isReportKey, reportsPrefix } from '../archive/layout.ts'
import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { Rates } from './estimate.ts'

/** What a restore has to have in common with an earlier one to take as long for a byte. */
export interface RateTraits {
  targetCluster: string | null
  rewritesIds: boolean
  repartition: string
}

/** Newer reports count more; older ones are not read. */
const READ_REPORTS = 20
/** A report names every topic, so that it may be long; the figures of one that is longer are not worth it. */
const MAX_REPORT_BYTES = 16 << 20
/** What was shorter measured little else than its beginning. */
const LEAST_SECONDS = 1
const LEAST_BYTES = 1 << 20

/**
 * The rates that the newest report of an earlier restore of the backup has, as `restore --report` stores it: of one into the same
 * cluster if there is such a report. Undefined without any, and where the store does not let reports be read.
 */
export async function readEarlierRates(
  storage: Storage,
  backupId: string,
  traits: RateTraits,
  signal: AbortSignal,
): Promise<Rates | undefined> {
  try {
    const found: { key: string; size: number }[] = []
    for await (const { key, size } of storage.list(reportsPrefix(backupId), signal)) {
      if (isReportKey(backupId, key)) found.push({ key, size })
    }
    const newest = found.toSorted((a, b) => (a.key < b.key ? 1 : -1)).slice(0, READ_REPORTS)
    let other: Rates | undefined
    for (const { key, size } of newest) {
      if (size > MAX_REPORT_BYTES) continue
      const rates = parseRates((await storage.read(key, signal)).toString('utf8'), key, traits)
      if (rates?.source.kind === 'earlier_restore' && rates.source.isSameTarget) return rates
      other ??= rates
    }
    return other
  } catch (error) {
    signal.throwIfAborted()
    // The estimate is an extra: a store that hides reports, or has removed one meanwhile, has none.
    if (hasCode(error, 'STORAGE_DENIED', 'STORAGE_NOT_FOUND', 'ARCHIVE_DAMAGED')) return undefined
    throw error
  }
}

/** Pure. Undefined for anything but the report of a comparable restore: others may write to the store. */
export function parseRates(text: string, key: string, traits: RateTraits): Rates | undefined {
  let report: Record<string, unknown>
  try {
    report = objectOf(JSON.parse(text))
  } catch {
    return undefined
  }
  const recovery = objectOf(report.recovery)
  const { records_seconds: seconds, bytes, measured_at: at, limited_by: limitedBy } = recovery
  if (!isPositive(seconds) || !isPositive(bytes) || seconds < LEAST_SECONDS || bytes < LEAST_BYTES) return undefined
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return undefined
  if (recovery.rewrites_ids !== traits.rewritesIds || recovery.repartition !== traits.repartition) return undefined
  const isSameTarget = traits.targetCluster !== null && recovery.target_cluster_id === traits.targetCluster
  const { registry_requests: requests, schemas_seconds: schemas } = recovery
  return {
    source: {
      kind: 'earlier_restore',
      at: new Date(at).toISOString(),
      report: key,
      isSameTarget,
      limitedBy: typeof limitedBy === 'string' ? limitedBy.slice(0, 32) : null,
    },
    records: bytes / seconds,
    ...(isPositive(requests) && isPositive(schemas) && { registry: requests / schemas }),
    problems: [],
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}
