import { mayHoldDeletedKeys } from '../../archive/record-warnings.ts'
import { schemaTotalsOf, totalsOf } from '../../archive/summary.ts'
import type { VerifyReport } from '../../archive/verify.ts'
import type { BackupReport } from '../../backup/run-backup.ts'
import type { ShardReport } from '../../backup/run-shard.ts'
import type { CheckReport } from '../../observe/finding.ts'
import type { CompareReport } from '../../restore/compare.ts'
import type { PreparedRestore } from '../../restore/prepare-restore.ts'
import type { ComparedEstimate } from '../../restore/recovery.ts'
import type { RestoreShardReport } from '../../restore/restore-shard.ts'
import type { DeleteReport } from '../../retention/delete-backup.ts'
import type { ShownDryRun, ShownRestore } from '../actions.ts'
import { plural } from '../text.ts'
import type { Facts } from './result-builder.ts'
import { problemOfPlan, problemOfSchemas, schemaTotals } from './schema-facts.ts'

/** `totals` is what the run copied, `totals.backup` the contents of the backup afterwards. */
export function backupFacts({ manifest, copied, newGaps, occupiedBytes }: BackupReport): Facts {
  const { topics, partitions, records, bytes, gaps } = totalsOf(manifest.topics)
  const schemas = schemaTotalsOf(manifest)
  const groups = manifest.consumer_groups?.state === 'taken' ? { groups: manifest.consumer_groups.groups } : {}
  const size = occupiedBytes === undefined ? {} : { stored_bytes: occupiedBytes }
  const suspects = manifest.topics.flatMap(topic => topic.partitions.filter(one => mayHoldDeletedKeys(topic, one)))
  const deleted = { may_hold_deleted_keys: suspects.length }
  const backup = {
    topics,
    partitions,
    records,
    bytes,
    ...size,
    gaps,
    ...deleted,
    ...groups,
    ...(schemas && { schemas }),
  }
  return { generation: manifest.generation, totals: { ...copied, backup }, gaps: newGaps.length }
}

export function shardFacts({ generation, shard, copied, newGaps }: ShardReport): Facts {
  return { generation, totals: { ...copied, shard: shard.index, shards: shard.count }, gaps: newGaps.length }
}

export function restoreFacts(report: ShownRestore): Facts {
  const { generation, totals, gaps, verification, schemas, consumerGroups } = report
  const { topics, partitions, records, bytes, found } = totals
  const problem = problemOfRestore(report)
  const estimate = report.recovery?.estimate
  return {
    generation,
    totals: {
      ...{ topics, partitions, records, bytes, already_there: found },
      groups: consumerGroups?.totals.groups ?? 0,
      groups_failed: consumerGroups?.totals.failed ?? 0,
      ...(schemas && { schemas: schemaTotals(schemas) }),
      ...(verification && { compared: comparedTotals(verification) }),
      ...(estimate && { estimate: { ...estimateTotals(estimate), actual_seconds: round(estimate.actualSeconds) } }),
    },
    gaps: gaps.length,
    ...(problem && { problem }),
  }
}

/** What a dry run has estimated, where it could, and why the restore would be refused or lose something. */
export function restoreDryRunFacts({ estimate, warnings, findings, schemas }: ShownDryRun): Facts {
  const problem = problemOfPlan(findings, schemas)
  const seconds = estimate?.seconds ?? null
  return {
    ...(estimate && seconds !== null && { totals: { estimate: estimateTotals({ ...estimate, seconds }) } }),
    warnings: warnings.length,
    ...(problem && { problem }),
  }
}

function estimateTotals({
  seconds,
  precision,
  limitedBy,
}: Pick<ComparedEstimate, 'seconds' | 'precision' | 'limitedBy'>) {
  return { seconds: round(seconds), precision, limited_by: limitedBy }
}

function round(seconds: number): number {
  return Number(seconds.toFixed(3))
}

export function preparedFacts({ generation, topics, shards }: PreparedRestore): Facts {
  const partitions = shards.reduce((sum, one) => sum + one.partitions, 0)
  return { generation, totals: { topics, partitions, shards: shards.length } }
}

export function restoreShardFacts({ generation, shard, totals, gaps }: RestoreShardReport): Facts {
  const { topics, partitions, records, bytes, found } = totals
  const written = { topics, partitions, records, bytes, already_there: found }
  return { generation, totals: { ...written, shard: shard.index, shards: shard.count }, gaps: gaps.length }
}

function problemOfRestore({ verification, schemas, consumerGroups, access }: ShownRestore): Facts['problem'] {
  if (verification?.ok === false) return problemOfComparison(verification)
  const failed = consumerGroups?.groups.filter(({ outcome }) => outcome === 'failed') ?? []
  const [first] = failed
  if (first) {
    const reason = `${first.group}: ${first.error ?? 'unknown'}`
    return { message: `${plural(failed.length, 'consumer group')} did not get all committed offsets; ${reason}` }
  }
  const refused = access?.totals.failed ?? 0
  if (refused > 0) return { message: `${plural(refused, 'access rule')} could not be restored; the report names each` }
  return problemOfSchemas(schemas)
}

export function compareFacts(report: CompareReport): Facts {
  const problem = report.ok ? undefined : problemOfComparison(report)
  return {
    generation: report.generation,
    totals: comparedTotals(report),
    warnings: report.warnings.length,
    ...(problem && { problem }),
  }
}

function comparedTotals({ totals }: CompareReport) {
  const { topics, partitions, records, removed, differences } = totals
  return { topics, partitions, records, removed, differences }
}

function problemOfComparison({ totals }: CompareReport): Facts['problem'] {
  return { message: `the target differs from the backup: ${plural(totals.differences, 'difference')}` }
}

export function verifyFacts({
  generation,
  objects,
  bytes,
  partitions,
  records,
  problems,
  ...rest
}: VerifyReport): Facts {
  const damaged = new Set(problems.map(({ key }) => key)).size
  const [first] = problems
  const message = `${plural(problems.length, 'problem')}; the first: ${first?.key}: ${first?.problem}`
  return {
    generation,
    totals: { objects, damaged, bytes, partitions, records },
    gaps: rest.gaps.length,
    warnings: rest.warnings.length,
    ...(first && { problem: { code: 'ARCHIVE_DAMAGED', message } }),
  }
}

export function deleteFacts(reports: readonly DeleteReport[]): Facts {
  const sum = (pick: (outcome: DeleteReport['outcome']) => number) =>
    reports.reduce((total, { outcome }) => total + pick(outcome), 0)
  const kept = sum(({ retained, waiting }) => retained.objects + waiting.objects)
  const message = `${plural(kept, 'object')} of the backup are protected by the retention of the store`
  const generations = sum(({ generationsRemoved }) => generationsRemoved)
  return {
    totals: {
      objects: sum(({ removed }) => removed.objects),
      bytes: sum(({ removed }) => removed.bytes),
      generations,
      retained: kept,
    },
    ...(kept > 0 && { problem: { code: 'STORAGE_RETAINED', message } }),
  }
}

export function checkFacts({ checks, warnings }: CheckReport): Facts {
  const failed = checks.filter(({ allowed }) => !allowed)
  const named = failed.map(({ subject, action, detail }) => `${subject}, ${action}: ${detail}`)
  return {
    totals: { checks: checks.length, failed: failed.length },
    warnings: warnings.length,
    ...(failed.length > 0 && { problem: { message: named.join('; ') } }),
  }
}
