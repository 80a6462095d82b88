import { createHash } from 'node:crypto'
import type { KafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { PartitionComparison } from '../restore/compare.ts'
import type { BackupRestoreReport } from '../restore/restore-backup.ts'
import type { DrillPlan } from './plan-drill.ts'
import type { CleanUp } from './scratch-topics.ts'

export const EVIDENCE_FORMAT = 'kafka-backup-drill-evidence'

/** What a drill proved. The documents of one format version have the same fields. */
export interface Evidence {
  format: typeof EVIDENCE_FORMAT
  format_version: 1
  run: string
  result: 'proven' | 'failed'
  /** Why it is not proven; null where it is. */
  failure: { code: string; message: string } | null
  backup: { id: string; location: string; generation: number; committed_at: string; source_cluster_id: string | null }
  target: { cluster_id: string | null }
  scope: string
  started_at: string
  finished_at: string
  recovery: EvidenceRecovery | null
  totals: EvidenceTotals
  topics: EvidenceTopic[]
  /** Offsets of the restored part that the backup itself lacks. */
  gaps: { topic: string; partition: number; from: bigint; to: bigint | null; reason: string }[]
  /** Null where no schemas were restored. */
  schemas: { registry: 'embedded'; versions: number } | null
  warnings: string[]
  clean_up: CleanUp
  tool: { name: 'kafka-backup'; version: string; node: string }
  host: string
  /** Null where the evidence is not signed. */
  signer: { algorithm: 'ed25519'; key_id: string; public_key: string } | null
}

/** In seconds. */
export interface EvidenceRecovery {
  /** From the begin of the restore until all records were written, without the comparison. */
  total: number
  schemas: number
  records: number
  comparison: number
  bytes_per_second: number
}

export interface EvidenceTotals {
  topics: number
  partitions: number
  records: number
  bytes: number
  compared: number
  differences: number
}

export interface EvidenceTopic {
  source: string
  scratch: string
  /** Under which the target created it; null where it was not created. */
  id: string | null
  records: number
  bytes: number
  /** Of the source. */
  partitions: EvidencePartition[]
  /** Partitions of the target whose records come from several of the source (`repartition: by_key`); empty otherwise. */
  mixed_partitions: EvidenceComparison[]
}

interface EvidencePartition extends Omit<EvidenceComparison, 'compared'> {
  /** Offsets of the source in [from, to). */
  from: bigint
  to: bigint
  /** Null where the records were compared by partitions of the target: see `mixed_partitions`. */
  compared: number | null
}

export interface EvidenceComparison {
  partition: number
  /** Records that were read back from the target and are equal. */
  compared: number
  differences: EvidenceDifference[]
}

interface EvidenceDifference {
  kind: string
  source_partition?: number
  source_offset?: bigint
  target_offset?: bigint
  fields: string[]
}

/** The document with the hashes of the reports that are made of it. */
export type SealedEvidence = Evidence & { reports: { text_sha256: string; html_sha256: string } }

export interface DrillOutcome {
  plan: DrillPlan
  /** Under which the target created the scratch topics, by their names. */
  ids: ReadonlyMap<string, string>
  report?: BackupRestoreReport | undefined
  error?: KafkaBackupError | undefined
}

type OutcomeFields = 'result' | 'failure' | 'scope' | 'recovery' | 'totals' | 'topics' | 'gaps' | 'schemas' | 'warnings'

/** Pure. */
export function describeOutcome({ plan, ids, report, error }: DrillOutcome): Pick<Evidence, OutcomeFields> {
  const topics = plan.topics.map(topic => describeTopic(topic, ids, report))
  const { verification } = report ?? {}
  const totals = {
    topics: topics.length,
    partitions: topics.reduce((sum, { partitions }) => sum + partitions.length, 0),
    records: report?.totals.records ?? 0,
    bytes: report?.totals.bytes ?? 0,
    compared: verification?.totals.records ?? 0,
    differences: verification?.totals.differences ?? 0,
  }
  const failure = findFailure({ report, error }, totals)
  return {
    result: failure ? 'failed' : 'proven',
    failure: failure ?? null,
    scope: plan.description,
    recovery: report ? describeRecovery(report) : null,
    totals,
    topics,
    gaps: report?.gaps ?? [],
    schemas: report?.schemas ? { registry: 'embedded', versions: report.schemas.versions.register } : null,
    warnings: report?.warnings ?? [],
  }
}

/** Pure. A drill proves something only if every record was written by it, read back and found equal. */
function findFailure(
  { report, error }: Pick<DrillOutcome, 'report' | 'error'>,
  { records, compared, differences }: EvidenceTotals,
): Evidence['failure'] | undefined {
  if (error) return { code: error.code, message: error.message }
  if (differences > 0 || report?.verification?.ok === false) {
    return { code: 'DIFFERENT', message: `${differences} differences between the backup and the restored topics` }
  }
  if (records === 0) return { code: 'EMPTY', message: 'the selected part holds no records: nothing was proven' }
  if (compared !== records) {
    return { code: 'NOT_COMPARED', message: `${records} records were restored, and ${compared} were compared` }
  }
  return undefined
}

function describeRecovery(report: BackupRestoreReport): EvidenceRecovery {
  const { durationMs, recovery, writing } = report
  const comparisonMs = recovery?.comparisonMs ?? report.verification?.durationMs ?? 0
  const recordsMs = writing?.ms ?? 0
  return {
    total: seconds(Math.max(0, durationMs - comparisonMs)),
    schemas: seconds(recovery?.schemasMs ?? 0),
    records: seconds(recordsMs),
    comparison: seconds(comparisonMs),
    bytes_per_second: recordsMs > 0 ? Math.round(((writing?.bytes ?? 0) / recordsMs) * 1000) : 0,
  }
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}

function describeTopic(
  { source, scratch, partitions }: DrillPlan['topics'][number],
  ids: DrillOutcome['ids'],
  report: BackupRestoreReport | undefined,
): EvidenceTopic {
  const written = report?.topics.find(({ target }) => target === scratch)
  const compared = report?.verification?.topics.find(({ target }) => target === scratch)?.partitions ?? []
  const mixed = compared.filter(({ sourcePartition }) => sourcePartition === null)
  return {
    source,
    scratch,
    id: ids.get(scratch) ?? null,
    records: written?.records ?? 0,
    bytes: written?.bytes ?? 0,
    partitions: partitions.map(({ partition, from, to }) => {
      const found = compared.filter(one => one.sourcePartition === partition)
      return {
        ...{ partition, from, to },
        compared: mixed.length > 0 ? null : found.reduce((sum, { records }) => sum + records, 0),
        differences: found.flatMap(describeDifferences),
      }
    }),
    mixed_partitions: mixed.map(one => ({
      ...{ partition: one.partition, compared: one.records, differences: describeDifferences(one) },
    })),
  }
}

/** Where they are, and not what is in them: evidence is shown to others. */
function describeDifferences({ sourcePartition, differences }: PartitionComparison): EvidenceDifference[] {
  return differences.map(one => ({
    kind: one.kind,
    ...(sourcePartition === null && one.sourcePartition !== undefined && { source_partition: one.sourcePartition }),
    ...(one.sourceOffset !== undefined && { source_offset: one.sourceOffset }),
    ...(one.targetOffset !== undefined && { target_offset: one.targetOffset }),
    fields: one.fields,
  }))
}

/** Pure. The bytes that are signed. */
export function encodeEvidence(evidence: Evidence, reports: { text: string; html: string }): Buffer {
  const sealed: SealedEvidence = {
    ...evidence,
    reports: { text_sha256: sha256(reports.text), html_sha256: sha256(reports.html) },
  }
  return Buffer.from(`${formatJson(sealed, 2)}\n`)
}

export function sha256(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}
